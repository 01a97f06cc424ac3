use std::string::ToString;

use bevy_app::TaskPoolPlugin;
use bevy_ecs::prelude::*;
use bevy_time::{TimePlugin, TimeUpdateStrategy};

use super::*;
use crate::{FrameArenaPlugin, FrameArenaSettings};

const CAPACITY_BYTES: usize = 64 << 10;

/// Bytes that each frame allocates.
#[derive(Resource, Default)]
struct Load(usize);

fn allocate(arenas: Res<FrameArenas>, load: Res<Load>) {
    for _ in 0..load.0 / 1024 {
        arenas.local().alloc([0_u8; 1024]);
    }
}

fn app() -> App {
    let mut app = App::new();
    let settings = FrameArenaSettings {
        worker_capacity_bytes: CAPACITY_BYTES,
        ..FrameArenaSettings::default()
    };
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        FrameArenaOverlayPlugin {
            left: 7.0,
            ..FrameArenaOverlayPlugin::default()
        },
        FrameArenaPlugin {
            settings,
            ..FrameArenaPlugin::default()
        },
    ))
    .insert_resource(TimeUpdateStrategy::ManualDuration(REFRESH))
    .init_resource::<Load>()
    .add_systems(Update, |world: &mut World| {
        // On this thread, so that its name is known.
        world
            .run_system_cached(allocate)
            .expect("it has all it needs");
    });
    app.finish();
    app
}

fn run(app: &mut App, load_bytes: usize, frames: usize) {
    app.insert_resource(Load(load_bytes));
    for _ in 0..frames {
        app.update();
    }
}

/// The width, colour and text of the only bar.
fn bar(app: &mut App) -> (Val, Color, String) {
    let mut bars = app.world_mut().query::<&WorkerBars>();
    let bars = bars.single(app.world()).expect("there is one window");
    let [bar] = &bars.bars[..] else {
        panic!("one thread allocates");
    };
    let fill = app.world().entity(bar.fill);
    (
        fill.get::<Node>().expect("it is a node").width,
        fill.get::<BackgroundColor>().expect("it has a colour").0,
        app.world()
            .get::<Text>(bar.text)
            .expect("it is a text")
            .0
            .clone(),
    )
}

fn paths(app: &mut App) -> Vec<String> {
    let mut windows = app.world_mut().query::<&DiagnosticsOverlay>();
    let window = windows.single(app.world()).expect("there is one window");
    assert_eq!(window.title, "Frame arenas");
    window.items.iter().map(|it| it.path.to_string()).collect()
}

#[test]
fn the_window_lists_the_figures_and_each_worker() {
    let mut app = app();
    run(&mut app, 1024, 5);
    let figures = [
        "used",
        "high_watermark",
        "reserved",
        "workers",
        "overflows",
        "parked",
    ];
    let paths = paths(&mut app);
    assert_eq!(paths.len(), figures.len() + 1);
    for (path, figure) in paths.iter().zip(figures) {
        assert_eq!(*path, alloc::format!("frame_arena/{figure}"));
    }
    assert!(paths[figures.len()].starts_with("frame_arena/worker/"));
}

#[test]
fn the_window_opens_where_it_should_with_the_panel_below_the_list() {
    let mut app = app();
    app.update();
    let mut windows = app
        .world_mut()
        .query_filtered::<(&Node, &Children), With<FrameArenaOverlay>>();
    let (node, children) = windows.single(app.world()).expect("there is one window");
    assert_eq!((node.left, node.top), (Val::Px(7.0), Val::Px(32.0)));
    assert_eq!(children.len(), 3);
    assert!(app.world().get::<Panel>(children[2]).is_some());
}

#[test]
fn a_bar_is_as_long_as_its_worker_is_full() {
    let mut app = app();
    run(&mut app, CAPACITY_BYTES / 2, 4);
    let (width, color, text) = bar(&mut app);
    assert_eq!((width, color), (Val::Percent(50.0), FINE));
    assert_eq!(text, "32 KiB of 64 KiB");
}

#[test]
fn a_bar_above_ninety_percent_warns() {
    let mut app = app();
    run(&mut app, CAPACITY_BYTES / 100 * 95, 4);
    assert_eq!(bar(&mut app).1, WARNING);
}

#[test]
fn a_single_overflow_warns_for_two_seconds() {
    let mut app = app();
    run(&mut app, 1024, 4);
    run(&mut app, CAPACITY_BYTES * 2, 1);
    run(&mut app, 1024, 1);
    assert_eq!(bar(&mut app).1, WARNING);
    run(&mut app, 1024, 18);
    assert_eq!(bar(&mut app).1, WARNING);
    run(&mut app, 1024, 3);
    assert_eq!(bar(&mut app).1, FINE);
}

#[test]
fn the_last_columns_of_the_graph_show_the_last_frames() {
    let mut app = app();
    run(&mut app, 40 << 10, 5);
    run(&mut app, 10 << 10, 5);
    let mut graphs = app.world_mut().query::<&UsageGraph>();
    let graph = graphs.single(app.world()).expect("there is one window");
    let height = |index: usize| {
        let node = app.world().get::<Node>(graph.columns[index].used);
        node.expect("it is a node").height
    };
    assert_eq!(height(0), Val::Percent(0.0));
    assert_eq!(height(graph::COLUMNS - 7), Val::Percent(100.0));
    assert_eq!(height(graph::COLUMNS - 1), Val::Percent(25.0));
    let caption = app.world().get::<Text>(graph.caption);
    let caption = &caption.expect("it is a text").0;
    assert_eq!(caption, "10 KiB used, at most 40 KiB");
}

#[test]
fn the_panel_collapses_with_the_list() {
    let mut app = app();
    app.update();
    let mut windows = app
        .world_mut()
        .query_filtered::<&Children, With<FrameArenaOverlay>>();
    let children = windows.single(app.world()).expect("there is one window");
    let (list, panel) = (children[1], children[2]);
    for display in [Display::None, Display::Grid] {
        let mut list = app.world_mut().entity_mut(list);
        list.get_mut::<Node>().expect("it is a node").display = display;
        app.update();
        let panel = app.world().get::<Node>(panel).expect("it is a node");
        assert_eq!(panel.display == Display::None, display == Display::None);
    }
}

#[test]
fn without_arenas_the_window_is_empty() {
    let mut app = App::new();
    app.add_plugins((TimePlugin, FrameArenaOverlayPlugin::default()))
        .init_resource::<bevy_diagnostic::DiagnosticsStore>()
        .insert_resource(TimeUpdateStrategy::ManualDuration(REFRESH));
    app.finish();
    for _ in 0..15 {
        app.update();
    }
    assert_eq!(paths(&mut app).len(), 6);
}

#[test]
fn no_more_workers_are_shown_than_asked_for() {
    let mut app = App::new();
    app.add_plugins((
        TimePlugin,
        FrameArenaPlugin::default(),
        FrameArenaOverlayPlugin {
            max_workers: 2,
            ..FrameArenaOverlayPlugin::default()
        },
    ))
    .insert_resource(TimeUpdateStrategy::ManualDuration(REFRESH));
    app.finish();
    for _ in 0..5 {
        let arenas = app.world().resource::<FrameArenas>();
        std::thread::scope(|scope| {
            for name in ["c", "a", "b"] {
                let thread = std::thread::Builder::new().name(name.to_string());
                let allocate = || *arenas.local().alloc(1);
                thread
                    .spawn_scoped(scope, allocate)
                    .expect("there are threads");
            }
        });
        app.update();
    }
    assert_eq!(
        paths(&mut app)[6..],
        ["frame_arena/worker/a", "frame_arena/worker/b"]
    );
    let mut windows = app.world_mut().query::<&WorkerBars>();
    let window = windows.single(app.world()).expect("there is one window");
    assert_eq!(window.bars.len(), 2);
}
