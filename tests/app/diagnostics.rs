//! The figures in Bevy's diagnostics.

use std::alloc::Layout;
use std::thread;

use bevy_app::{App, Last, Update};
use bevy_diagnostic::{DiagnosticPath, DiagnosticsPlugin, DiagnosticsStore};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ArenasOf, FrameArenaDiagnosticsPlugin, FrameArenaPacePlugin, FrameArenaPlugin,
    FrameArenaSettings, FrameArenas, FrameLease,
};

const MIB: usize = 1 << 20;

fn value(app: &App, path: &DiagnosticPath) -> Option<f64> {
    let store = app.world().resource::<DiagnosticsStore>();
    store.get(path)?.value()
}

fn local_alloc(app: &App, bytes: usize) {
    let arenas = app.world().resource::<FrameArenas>();
    let layout = Layout::array::<u8>(bytes).expect("it is a size that exists");
    arenas.local().alloc_layout(layout);
}

#[test]
fn figures_are_those_of_the_frame_that_just_ended() {
    type Paths = FrameArenaDiagnosticsPlugin;
    let mut app = App::new();
    app.add_plugins((DiagnosticsPlugin, FrameArenaPlugin::default()));
    local_alloc(&app, 3 * MIB);
    app.update();
    assert_eq!(value(&app, &Paths::USED), Some(3.0));
    assert_eq!(value(&app, &Paths::PEAK), Some(3.0));
    assert_eq!(value(&app, &Paths::HIGH_WATERMARK), Some(3.0));
    assert_eq!(value(&app, &Paths::SCRATCH), Some(0.0));
    assert_eq!(value(&app, &Paths::RESERVED), Some(4.0));
    assert_eq!(value(&app, &Paths::WORKERS), Some(1.0));
    assert_eq!(value(&app, &Paths::HELD), Some(4.0));
    assert_eq!(value(&app, &Paths::REFUSALS), Some(0.0));
    assert_eq!(value(&app, &Paths::PARKED), Some(0.0));
    assert_eq!(value(&app, &Paths::STALE), Some(0.0));

    local_alloc(&app, MIB);
    app.update();
    assert_eq!(value(&app, &Paths::USED), Some(1.0));
    assert_eq!(value(&app, &Paths::HIGH_WATERMARK), Some(3.0));
    assert_eq!(value(&app, &Paths::RESERVED), Some(4.0));

    app.update();
    assert_eq!(value(&app, &Paths::USED), Some(0.0));
    assert_eq!(value(&app, &Paths::WORKERS), Some(0.0));
}

#[test]
fn a_level_is_measured_in_each_frame_while_it_runs() {
    struct Level;
    let mut app = App::new();
    app.add_plugins(FrameArenaPacePlugin::<Level> {
        settings: FrameArenaSettings {
            worker_limit_bytes: Some(4 * MIB),
            ..Default::default()
        },
        ..FrameArenaPacePlugin::ending_with(Update)
    });
    let histories = |app: &App| {
        [
            "used",
            "peak",
            "high_watermark",
            "reserved",
            "workers",
            "refusals",
        ]
        .map(|name| {
            let path = DiagnosticPath::new(format!("level_arena/{name}"));
            let store = app.world().resource::<DiagnosticsStore>();
            let values = store.get(&path).expect("it is there").values();
            values.copied().collect::<Vec<_>>()
        })
    };
    let frame = |app: &mut App| app.world_mut().run_schedule(Last);
    frame(&mut app);
    assert_eq!(histories(&app), [[]; 6], "nothing is used");

    let arena = app.world().resource::<ArenasOf<Level>>().local();
    arena.alloc_slice_fill_copy(MIB, 0_u8);
    drop(arena.vec_with_capacity::<u8>(MIB));
    assert!(arena.try_alloc_slice_fill_copy(8 * MIB, 0_u8).is_err());
    (0..2).for_each(|_| frame(&mut app));
    let so_far = [[1.0; 2], [2.0; 2], [2.0; 2], [4.0; 2], [1.0; 2], [1.0, 0.0]];
    assert_eq!(histories(&app), so_far);

    app.world_mut().run_schedule(Update);
    let ended = so_far.map(|[first, second]| vec![first, second, second]);
    assert_eq!(histories(&app), ended, "measured once more");
    (0..2).for_each(|_| frame(&mut app));
    assert_eq!(histories(&app), ended, "no level, no measurement");
}

#[test]
fn memory_is_given_in_mebibytes_and_counts_are_plain() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default());
    local_alloc(&app, 1);
    app.update();
    let store = app.world().resource::<DiagnosticsStore>();
    for diagnostic in store.iter() {
        let name = diagnostic.path().as_str();
        let is_count = ["workers", "refusals", "parked", "stale"]
            .iter()
            .any(|count| name == format!("frame_arena/{count}"));
        assert_eq!(
            diagnostic.suffix,
            if is_count { "" } else { " MiB" },
            "{name}"
        );
    }
    assert_eq!(store.iter().count(), 11 + 1);
}

#[test]
fn leases_and_stale_handles_show() {
    #[derive(Resource)]
    struct Held(#[expect(dead_code, reason = "held, not read")] FrameLease);
    type Paths = FrameArenaDiagnosticsPlugin;
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin {
        settings: FrameArenaSettings {
            block_bytes: MIB,
            ..Default::default()
        },
        ..Default::default()
    });
    let arenas = app.world().resource::<FrameArenas>();
    let (handle, lease) = (arenas.local().share(1), arenas.lease());
    app.insert_resource(Held(lease));
    app.add_systems(Update, move |arenas: Res<FrameArenas>| {
        arenas.get(handle);
        for _ in 0..3 {
            arenas.local().alloc_layout(Layout::new::<[u8; MIB]>());
        }
    });
    for _ in 0..4 {
        app.update();
    }
    // A value as large as a block needs a larger one.
    assert_eq!(value(&app, &Paths::HELD), Some(6.0));
    assert_eq!(value(&app, &Paths::PARKED), Some(1.0));
    assert_eq!(value(&app, &Paths::STALE), Some(1.0));
    // Right also though the current frame is leased while it is measured.
    assert_eq!(value(&app, &Paths::USED), Some(3.0));
    app.world_mut().remove_resource::<Held>();
    app.update();
    assert_eq!(value(&app, &Paths::PARKED), Some(0.0));
}

#[test]
fn every_worker_has_a_diagnostic_with_the_name_of_its_thread() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default());
    // A path has rules for its components; a thread may have any name.
    for name in ["loader", "a//b/", "", "%"] {
        let arenas = app.world().resource::<FrameArenas>();
        thread::scope(|scope| {
            thread::Builder::new()
                .name(name.into())
                .spawn_scoped(scope, || {
                    arenas.local().alloc_layout(Layout::new::<[u8; MIB / 2]>());
                })
                .unwrap();
        });
        app.update();
        let path = FrameArenaDiagnosticsPlugin::worker(name);
        assert_eq!(value(&app, &path), Some(0.5), "{name:?}");
    }
    assert_eq!(
        FrameArenaDiagnosticsPlugin::worker("loader").as_str(),
        "frame_arena/worker/loader"
    );
}

#[test]
fn two_names_of_threads_never_share_a_diagnostic() {
    let names = ["a/b", "a|b", "a%2Fb", "a%252Fb", "", "%", "unnamed"];
    for (index, name) in names.iter().enumerate() {
        for other in &names[..index] {
            assert_ne!(
                FrameArenaDiagnosticsPlugin::worker(name),
                FrameArenaDiagnosticsPlugin::worker(other),
                "{name:?} and {other:?}"
            );
        }
    }
}

#[test]
fn many_workers_are_measured_in_turns_and_few_in_each_frame() {
    let measurements_of = |workers: usize, frames: usize| {
        let mut app = App::new();
        app.add_plugins(FrameArenaPlugin::default());
        for _ in 0..frames {
            let arenas = app.world().resource::<FrameArenas>();
            thread::scope(|scope| {
                for number in 0..workers {
                    thread::Builder::new()
                        .name(format!("worker {number}"))
                        .spawn_scoped(scope, || *arenas.local().alloc(1))
                        .unwrap();
                }
            });
            app.update();
        }
        let store = app.world().resource::<DiagnosticsStore>();
        let history = |number| {
            let path = FrameArenaDiagnosticsPlugin::worker(&format!("worker {number}"));
            store.get(&path).map_or(0, |it| it.history_len())
        };
        let mut counts: Vec<usize> = (0..workers).map(history).collect();
        counts.sort();
        counts
    };
    assert_eq!(measurements_of(16, 3), [3; 16]);
    assert_eq!(
        measurements_of(20, 1),
        [[0; 4].as_slice(), &[1; 16]].concat()
    );
    assert_eq!(measurements_of(20, 5), [4; 20]);
}

#[test]
fn workers_with_ever_new_names_do_not_fill_the_store() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default());
    for n in 0..if cfg!(miri) { 66 } else { 200 } {
        let arenas = app.world().resource::<FrameArenas>();
        thread::scope(|scope| {
            thread::Builder::new()
                .name(format!("job {n}"))
                .spawn_scoped(scope, || *arenas.local().alloc(1))
                .unwrap();
        });
        app.update();
    }
    let store = app.world().resource::<DiagnosticsStore>();
    assert_eq!(store.iter().count(), 11 + 64);
}

#[test]
fn the_plugins_may_come_in_either_order() {
    let history = FrameArenaDiagnosticsPlugin {
        max_history_length: 3,
    };
    let mut app = App::new();
    app.add_plugins((history, FrameArenaPlugin::default()));
    (0..9).for_each(|_| app.update());
    let store = app.world().resource::<DiagnosticsStore>();
    let used = store
        .get(&FrameArenaDiagnosticsPlugin::USED)
        .expect("it is there");
    assert_eq!(used.history_len(), 3);
}

#[test]
fn diagnostics_can_be_switched_off() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin {
        diagnostics: false,
        ..Default::default()
    });
    local_alloc(&app, 1);
    app.update();
    assert!(app.world().get_resource::<DiagnosticsStore>().is_none());
    assert_eq!(app.world().resource::<FrameArenas>().usage().used_bytes, 8);

    // One alone, by the user, at run time.
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default());
    let mut store = app.world_mut().resource_mut::<DiagnosticsStore>();
    let used = store.get_mut(&FrameArenaDiagnosticsPlugin::USED).unwrap();
    used.is_enabled = false;
    app.update();
    assert_eq!(value(&app, &FrameArenaDiagnosticsPlugin::USED), None);
    assert!(value(&app, &FrameArenaDiagnosticsPlugin::RESERVED).is_some());
}

#[test]
fn a_missing_store_or_missing_arenas_are_no_error() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default());
    app.world_mut().remove_resource::<DiagnosticsStore>();
    app.update();
    app.init_resource::<DiagnosticsStore>();
    app.update();
    app.world_mut().remove_resource::<FrameArenas>();
    app.update();
}

#[test]
fn a_history_without_end_is_bounded() {
    let mut app = App::new();
    app.add_plugins((
        FrameArenaDiagnosticsPlugin {
            max_history_length: usize::MAX,
        },
        FrameArenaPlugin::default(),
    ));
    app.update();
    let store = app.world().resource::<DiagnosticsStore>();
    let used = store.get(&FrameArenaDiagnosticsPlugin::USED);
    assert_eq!(
        used.map(|used| used.get_max_history_length()),
        Some(1 << 16)
    );
}
