//! Which types may cross threads, and which may not.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use bevy_frame_arena::{
    ArenaError, FrameArena, FrameArenaSettings, FrameArenas, FrameBox, FrameHandle, FrameLease,
    FrameString, FrameUsage, FrameVec, HandleError, LeasedHandle, Pool, PoolKey, TaskArena,
    TaskArenas, TaskMemory, TaskResult,
};
use static_assertions::{assert_impl_all, assert_not_impl_any};

// A worker's arena may move to another thread, but two threads never use it at once.
assert_impl_all!(FrameArena: Send, UnwindSafe, RefUnwindSafe);
assert_not_impl_any!(FrameArena: Sync);
assert_not_impl_any!(&FrameArena: Send, Sync);
assert_not_impl_any!(FrameVec<'static, u8>: Send, Sync);
assert_not_impl_any!(FrameBox<'static, u8>: Send, Sync);
assert_not_impl_any!(FrameString<'static>: Send, Sync);

// The resource, and everything that leaves a system.
assert_impl_all!(FrameArenas: Send, Sync);
assert_impl_all!(FrameLease: Send, Sync, Clone);
assert_impl_all!(FrameHandle<[u8]>: Send, Sync, Copy, Default, std::hash::Hash, std::fmt::Debug);
assert_impl_all!(FrameHandle<str>: Send, Sync);
assert_impl_all!(LeasedHandle<str>: Send, Sync, Clone);
assert_impl_all!(FrameUsage: Send, Sync);
assert_impl_all!(FrameArenaSettings: Send, Sync);
assert_impl_all!(ArenaError: Send, Sync, std::error::Error);
assert_impl_all!(HandleError: Send, Sync, std::error::Error);

// A task's arena moves with its task, and its result goes anywhere: but not its arena.
assert_impl_all!(TaskArena: Send, UnwindSafe);
assert_not_impl_any!(TaskArena: Sync, Clone, std::ops::DerefMut);
assert_not_impl_any!(&TaskArena: Send);
assert_impl_all!(TaskArenas: Send, Sync, Clone, UnwindSafe);
assert_impl_all!(TaskMemory: Send, Sync);
assert_not_impl_any!(TaskMemory: Clone, std::ops::Deref, AsRef<FrameArena>);
assert_impl_all!(TaskResult<[u8]>: Send, Sync);
assert_not_impl_any!(TaskResult<Rc<u8>>: Send, Sync);
assert_not_impl_any!(TaskResult<Cell<u8>>: Send, Sync);

// A pool is like a `Vec` of its values.
assert_impl_all!(Pool<u8>: Send, Sync, UnwindSafe, Default);
assert_impl_all!(Pool<Cell<u8>>: Send);
assert_not_impl_any!(Pool<Cell<u8>>: Sync);
assert_not_impl_any!(Pool<Rc<u8>>: Send, Sync);
// A key reaches nothing without its pool.
assert_impl_all!(PoolKey<Rc<u8>>: Send, Sync, Copy, Default, std::hash::Hash, std::fmt::Debug);
const _: () = assert!(size_of::<PoolKey<Rc<u8>>>() == 16);
const _: () = assert!(size_of::<Option<PoolKey<u8>>>() == 16);

#[cfg(feature = "free_list")]
assert_not_impl_any!(bevy_frame_arena::FreeList<'static>: Send, Sync, Clone);

// A handle is no way around the traits of what it names.
assert_not_impl_any!(FrameHandle<Rc<u8>>: Send, Sync);
assert_not_impl_any!(FrameHandle<Cell<u8>>: Send, Sync);
assert_not_impl_any!(LeasedHandle<Rc<u8>>: Send, Sync);
assert_not_impl_any!(LeasedHandle<Cell<u8>>: Send, Sync);

// A handle is a pointer and a stamp; in debug builds it also remembers the line that made it.
#[cfg(debug_assertions)]
type Origin = usize;
#[cfg(not(debug_assertions))]
type Origin = ();
const _: () = assert!(size_of::<FrameHandle<u64>>() == size_of::<(usize, u64, Origin)>());
const _: () = assert!(size_of::<FrameHandle<str>>() == size_of::<([usize; 2], u64, Origin)>());
const _: () = assert!(size_of::<Option<FrameHandle<[u64]>>>() == size_of::<FrameHandle<[u64]>>());

#[test]
fn arenas_of_neighbours_share_no_cache_line() {
    assert_eq!(align_of::<FrameArena>(), 128);
}
