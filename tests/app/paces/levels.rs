//! Levels: what ends with a state.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ArenasOf, FrameArenaPacePlugin, FrameArenaSettings, FrameArenas, FrameHandle, LeasedHandle,
};
use bevy_state::app::StatesPlugin;
use bevy_state::prelude::*;

#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Game {
    #[default]
    Menu,
    Playing,
}

/// The pace. The state's own type would do as well.
struct Level;

const LEVELS: usize = if cfg!(miri) { 5 } else { 1000 };
const TILES: usize = 2000;

/// What a level has to drop.
struct Tile {
    level: usize,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Tile {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Relaxed);
    }
}

#[derive(Resource, Default)]
struct Map {
    level: usize,
    tiles: FrameHandle<[Tile]>,
    old: Vec<FrameHandle<[Tile]>>,
}

#[derive(Resource, Default)]
struct Dropped(Arc<AtomicUsize>);

#[derive(Resource)]
struct SlowTask(SyncSender<(LeasedHandle<[Tile]>, usize)>);

fn load(arenas: Res<ArenasOf<Level>>, mut map: ResMut<Map>, dropped: Res<Dropped>) {
    assert_eq!(arenas.used_bytes_so_far(), 0, "the last level is gone");
    map.level += 1;
    let level = map.level;
    let last = map.tiles;
    map.old.push(last);
    map.tiles = arenas.local().share_iter((0..TILES).map(|_| Tile {
        level,
        dropped: Arc::clone(&dropped.0),
    }));
}

fn play(arenas: Res<ArenasOf<Level>>, map: Res<Map>) {
    assert!(arenas[map.tiles].iter().all(|tile| tile.level == map.level));
    for &old in map.old.iter().rev().take(10) {
        assert!(arenas.get(old).is_none());
    }
}

fn hand_to_the_task(arenas: Res<ArenasOf<Level>>, map: Res<Map>, task: Res<SlowTask>) {
    let tiles = arenas.lease_handle(map.tiles).expect("it was just made");
    task.0.send((tiles, map.level)).expect("the task listens");
}

fn app(keeps_memory: bool) -> App {
    let plugin = FrameArenaPacePlugin::<Level>::ending_with(OnExit(Game::Playing));
    let mut settings = FrameArenaSettings {
        block_bytes: 64 << 10,
        ..plugin.settings.clone()
    };
    if keeps_memory {
        settings.trim_after_periods = None;
    }
    let mut app = App::new();
    app.add_plugins((StatesPlugin, FrameArenaPacePlugin { settings, ..plugin }))
        .init_state::<Game>()
        .init_resource::<Map>()
        .init_resource::<Dropped>()
        .add_systems(OnEnter(Game::Playing), load)
        .add_systems(Update, play.run_if(in_state(Game::Playing)));
    app
}

fn go_to(app: &mut App, state: Game) {
    let mut next = app.world_mut().resource_mut::<NextState<Game>>();
    next.set(state);
    app.update();
}

fn arenas(app: &App) -> &FrameArenas {
    app.world().resource::<ArenasOf<Level>>()
}

fn dropped(app: &App) -> usize {
    app.world().resource::<Dropped>().0.load(Relaxed)
}

#[test]
fn a_level_is_freed_at_once_when_it_ends_and_its_memory_goes_back() {
    let mut app = app(false);
    for level in 1..=3 {
        go_to(&mut app, Game::Playing);
        app.update();
        assert!(arenas(&app).used_bytes_so_far() > 0);
        assert_eq!(dropped(&app), (level - 1) * TILES);
        go_to(&mut app, Game::Menu);
        assert_eq!(dropped(&app), level * TILES);
        let usage = arenas(&app).usage();
        assert_eq!((usage.reserved_bytes, usage.generations), (0, 1));
    }
}

#[test]
fn the_memory_of_a_level_can_be_kept_for_the_next() {
    let mut app = app(true);
    let reserved = |app: &App| arenas(app).usage().reserved_bytes;
    go_to(&mut app, Game::Playing);
    go_to(&mut app, Game::Menu);
    let after_one = reserved(&app);
    assert!(after_one > 0);
    for _ in 0..20 {
        go_to(&mut app, Game::Playing);
        go_to(&mut app, Game::Menu);
        // The system that loads may run on another thread, which then has memory of its own.
        assert!(reserved(&app) >= after_one);
        assert_eq!(arenas(&app).usage().generations, 1);
    }
}

#[test]
fn a_level_that_restarts_has_its_old_data_in_exit_and_not_in_enter() {
    fn read(arenas: Res<ArenasOf<Level>>, map: Res<Map>) {
        assert_eq!(arenas[map.tiles].len(), TILES);
    }
    let mut app = app(false);
    // After the plugin, and without a word about it.
    app.add_systems(OnExit(Game::Playing), read);
    for restarts in 0..3 {
        // Exit and enter are in one transition, and `load` asserts that nothing is left.
        go_to(&mut app, Game::Playing);
        assert_eq!(arenas(&app).period(), restarts);
        assert_eq!(dropped(&app), restarts as usize * TILES);
    }
}

#[test]
fn a_task_that_was_done_late_gives_the_level_back_within_a_frame() {
    let mut app = app(false);
    go_to(&mut app, Game::Playing);
    let lease = arenas(&app).lease();
    go_to(&mut app, Game::Menu);
    assert_eq!((dropped(&app), arenas(&app).usage().parked), (0, 1));
    app.update();
    assert_eq!((dropped(&app), arenas(&app).usage().parked), (0, 1));
    drop(lease);
    app.update();
    let usage = arenas(&app).usage();
    assert_eq!(
        (dropped(&app), usage.parked, usage.reserved_bytes),
        (TILES, 0, 0)
    );
}

#[test]
fn a_thousand_levels_with_a_slow_task_on_the_last_one_take_no_more_memory_than_three() {
    for keeps_memory in [false, true] {
        // Takes a level when it ends, and reads it until the next one has ended.
        let (sender, receiver) = sync_channel::<(LeasedHandle<[Tile]>, usize)>(0);
        let task = thread::spawn(move || {
            let mut read = 0;
            let mut last = None;
            while let Ok(next) = receiver.recv() {
                if let Some((tiles, level)) = last.replace(next) {
                    let tiles: LeasedHandle<[Tile]> = tiles;
                    assert!(tiles.iter().all(|tile| tile.level == level));
                    read += 1;
                }
            }
            read
        });
        let mut app = app(keeps_memory);
        app.insert_resource(SlowTask(sender))
            .add_systems(OnExit(Game::Playing), hand_to_the_task);
        let mut reserved = Vec::new();
        for level in 1..=LEVELS {
            go_to(&mut app, Game::Playing);
            go_to(&mut app, Game::Menu);
            let usage = arenas(&app).usage();
            // That of the ring, the one the task reads, and the one it is about to let go.
            assert!(usage.generations <= 3, "{usage:?}");
            reserved.push(usage.reserved_bytes);
            // The last is being read, and the one before perhaps.
            let gone = dropped(&app) / TILES;
            assert!((level.saturating_sub(2)..level).contains(&gone));
        }
        drop(app.world_mut().remove_resource::<SlowTask>());
        assert_eq!(task.join().unwrap(), LEVELS - 1);
        // Each worker that ever loaded a level has at most one block in each generation.
        let workers = arenas(&app).usage().workers.len().max(1);
        let most = reserved.iter().max().unwrap();
        assert!(
            *most <= 3 * workers * (256 << 10),
            "{most} bytes, {workers} workers"
        );

        app.update();
        assert_eq!(dropped(&app), LEVELS * TILES);
        let counter = Arc::clone(&app.world().resource::<Dropped>().0);
        drop(app);
        assert_eq!(counter.load(Relaxed), LEVELS * TILES);
    }
}

#[test]
fn a_refusal_names_the_pace() {
    let arenas = ArenasOf::<Level>::new(FrameArenaSettings {
        block_bytes: 1 << 10,
        budget_bytes: Some(5000),
        ..Default::default()
    });
    for arena in [arenas.local(), &arenas.scratch()] {
        let error = arena.try_alloc_slice_fill_copy(1 << 20, 0_u8).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("arena budget of `ArenasOf<Level>` exhausted: 1 MiB requested"),
            "{error}"
        );
        assert!(
            error.contains("generations hold 0 bytes of 5000 bytes (4.9 KiB); raise"),
            "{error}"
        );
    }
    let arenas = ArenasOf::<Level>::new(FrameArenaSettings {
        worker_limit_bytes: Some(1 << 10),
        ..arenas.settings().clone()
    });
    let error = arenas.local().try_alloc_slice_fill_copy(1 << 20, 0_u8);
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("arena of `ArenasOf<Level>` exhausted: 1 MiB requested"),
        "{text}"
    );
}
