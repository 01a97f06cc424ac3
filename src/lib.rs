//! Temporary lists, strings and values for Bevy systems: allocated on any thread without calling the global
//! allocator, and passed on as `Copy` handles.
//!
//! [`FrameArenas`] is a resource that hands each worker thread its own bump arena, a [`FrameArena`], in two
//! generations that swap at the start of each frame. Allocating moves a pointer. Freeing takes the same few
//! steps for each worker, however many allocations a frame had; only shared values with a destructor are
//! visited.
//!
//! All workers, generations, scratch and tasks take blocks from one store, and return them when their
//! data is no longer readable. Memory therefore depends on the use of all workers together, and little on their
//! number. Once warm, a frame does not call the global allocator.
//!
//! # How long things live
//!
//! ```text
//! frame      N                     N+1                   N+2
//! gen A   | written by systems  | readable (previous)  | recycled, written again
//! gen B   | readable (previous) | written by systems   | readable (previous)
//!         ^ swap                ^ swap                 ^ swap
//! ```
//!
//! - A *reference* borrows the resource, so it lives within the system that allocated.
//! - A [`FrameHandle`] lives in components, resources, messages and other worlds. It resolves in its own
//!   frame and the next. After that it is stale and resolves to nothing, in release builds too.
//! - Data for fixed steps or levels lives at that pace: `ArenasOf<FixedStep>` and `ArenasOf<Level>` are the
//!   same arenas, swapped when a step begins and when a level ends.
//! - A [`FrameLease`] keeps the data of its frame for as long as it lives, on any thread.
//!
//! Shared data cannot be changed. To change last frame's list, make a new one.
//!
//! # Start here
//!
//! | you want | look at |
//! |---|---|
//! | the line to add to your app | [`FrameArenaPlugin`] |
//! | memory for the rest of this system | [`FrameArenas::local`], [`FrameArena`], [`FrameVec`] |
//! | temporary memory, used again at once | [`Scratch`] |
//! | one list out of a `par_iter` | [`FrameArenas::collector`], [`FrameCollector`] |
//! | the cells of a grid, one list for each key | [`FrameCollector::share_cells`], [`FrameCollector::share_cell_map`] |
//! | what was added and removed since the last frame | [`TwoFrames`], [`changes`] |
//! | data for other systems, or the next frame | [`FrameVec::share`], [`FrameArena::share`], [`FrameHandle`] |
//! | data for a task | [`FrameArenas::lease_handle`], [`FrameLease`] |
//! | a task's own memory, and its result | [`FrameArenas::task_arena`], [`TaskArena`], [`TaskResult`] |
//! | text | [`share_format!`], [`FrameString`] |
//! | a large list that is replaced now and then | [`TaskResult`] |
//! | data for the render world | [`FrameArenaSubAppPlugin`], [`ExtractedFrame`] |
//! | data for `FixedUpdate`, or a level | [`ArenasOf`], [`FrameArenaPacePlugin`] |
//! | objects that come and go one by one | [`Pool`] |
//! | limits and budgets | [`FrameArenaSettings`] |
//! | figures | [`FrameArenas::usage`], [`FrameArenaDiagnosticsPlugin`], [`FrameArenaLogPlugin`], [`FrameArenaRecorderPlugin`], the overlay (feature `overlay`) |
//!
//! # Examples
//!
//! ```
//! use bevy_app::prelude::*;
//! use bevy_ecs::prelude::*;
//! use bevy_frame_arena::prelude::*;
//!
//! #[derive(Resource, Default)]
//! struct Visible(FrameHandle<[u32]>);
//!
//! fn cull(arenas: Res<FrameArenas>, mut visible: ResMut<Visible>) {
//!     let mut list = arenas.local().vec();
//!     list.extend((0..100).filter(|n| n % 7 == 0));
//!     visible.0 = list.share();
//! }
//!
//! fn draw(arenas: Res<FrameArenas>, visible: Res<Visible>) {
//!     // Resolves if `cull` ran in this frame or in the one before.
//!     assert_eq!(arenas[visible.0].len(), 15);
//! }
//!
//! let mut app = App::new();
//! app.add_plugins(FrameArenaPlugin::default())
//!     .init_resource::<Visible>()
//!     .add_systems(Update, cull)
//!     .add_systems(Last, draw);
//! for _ in 0..3 {
//!     app.update();
//! }
//! ```
//!
//! The compiler ensures that references do not outlive the frame:
//!
//! ```compile_fail,E0502
//! # use bevy_frame_arena::FrameArenas;
//! # let mut arenas = FrameArenas::default();
//! let value = arenas.local().alloc(1);
//! arenas.swap();
//! *value = 2;
//! ```
//!
//! and do not leave the system:
//!
//! ```compile_fail,E0277
//! # use bevy_ecs::prelude::*;
//! # use bevy_frame_arena::prelude::*;
//! #[derive(Component)]
//! struct Visible(FrameVec<'static, u32>);
//! ```
//!
//! # Soundness
//!
//! *Promised:* a safe program that uses this crate does not reach undefined behaviour. That includes programs
//! with panics, re-entrancy, threads that end, leaked guards, and arenas that are moved or swapped. In
//! particular
//!
//! - no method that takes `&self` frees, reuses or moves memory that is in use; references borrow the arenas,
//!   so `swap(&mut self)` does not compile while one lives;
//! - a handle resolves only in the generation whose stamp it carries, and stamps are unique in a process
//!   and never reused by another frame, task, world or app;
//! - a generation is recycled only when `Arc::get_mut` proves that no lease is left;
//! - a thread uses only the arena it has claimed, and a claim ends when the generation is recycled, not when
//!   its thread ends: destructors of thread locals may still use the arena;
//! - shared data is immutable, `Send` and `Sync`, and a handle reaches another thread only in ways that also
//!   make the data visible there; values with a destructor are dropped once.
//!
//! *Checked* by the compiler (`tests/compile_fail`), by tests of each behaviour and each attack (`tests`),
//! by a model of random programs, and by sanitizers and valgrind over them. `.ci/guards` removes each check
//! that memory safety rests on, and expects a test to fail: `docs/PROOF.md`.
//!
//! *Not promised:* that destructors run (a lease that is never dropped keeps its frame for ever),
//! or that memory is wiped.
#![cfg_attr(docsrs, feature(doc_cfg))]

// For maintainers: CONTRIBUTING.md describes the rooms of `src`, and five walks through the code.

extern crate alloc;

/// The page on which memory to use, as doctests.
#[cfg(all(doctest, feature = "bevy"))]
#[doc = include_str!("../docs/WHICH_MEMORY.md")]
struct WhichMemory;

#[cfg(feature = "bevy")]
mod app;
mod arena;
mod arenas;
mod containers;
mod error;
mod figures;
#[cfg(feature = "free_list")]
mod free_list;
mod handles;
#[cfg(feature = "overlay")]
mod overlay;
mod panics;
mod pool;
mod settings;
mod sites;
mod stamp;

#[cfg(feature = "bevy")]
pub use app::{
    ArenaReport, ArenasOf, ExtractedFrame, FixedStep, FrameArenaDiagnosticsPlugin,
    FrameArenaLogPlugin, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaRecorder,
    FrameArenaRecorderPlugin, FrameArenaReport, FrameArenaSchedule, FrameArenaSubAppPlugin,
};
pub use arena::FrameArena;
pub use arenas::{
    Batch, CellMap, Cells, Change, FrameArenas, FrameCollector, FrameLease, FrameUsage, GatherInto,
    LeasedHandle, RunningTask, Scratch, StaleLookup, TaskArena, TaskArenas, TaskMemory, TaskResult,
    TwoFrames, WorkerUsage, changes,
};
pub use containers::{
    CollectIn, FrameBox, FrameIntoIter, FrameMap, FrameSet, FrameString, FrameVec, TableMemory,
};
pub use error::{ArenaError, ArenaLimit};
pub use figures::Figures;
#[cfg(feature = "free_list")]
pub use free_list::FreeList;
pub use handles::{FrameHandle, HandleError, Shareable};
#[cfg(feature = "overlay")]
pub use overlay::{FrameArenaOverlay, FrameArenaOverlayConfig, FrameArenaOverlayPlugin};
pub use pool::{Pool, PoolKey};
pub use settings::{FrameArenaSettings, LivesFor};
pub use sites::{Site, SiteUsage};

/// The names that most games need.
pub mod prelude {
    #[cfg(feature = "bevy")]
    pub use crate::{
        ArenasOf, ExtractedFrame, FixedStep, FrameArenaLogPlugin, FrameArenaPacePlugin,
        FrameArenaPlugin, FrameArenaRecorderPlugin, FrameArenaSubAppPlugin,
    };
    pub use crate::{
        CellMap, Cells, Change, CollectIn, FrameArena, FrameArenaSettings, FrameArenas, FrameBox,
        FrameHandle, FrameLease, FrameMap, FrameSet, FrameString, FrameVec, LeasedHandle, LivesFor,
        Pool, PoolKey, Scratch, TaskArena, TaskArenas, TaskResult, TwoFrames, share_format,
    };
}
