//! The hand-over of a frame to the world of a sub-app, on the same thread and on another.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::alloc::Layout;
use std::sync::mpsc::channel;
use std::thread;

use bevy_app::{App, Main, Update};
use bevy_diagnostic::{DiagnosticPath, DiagnosticsStore};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ExtractedFrame, FrameArenaPlugin, FrameArenaSubAppPlugin, FrameArenas, FrameHandle, FrameLease,
};

use crate::common::log::logged;

mod game;
mod pipeline;
mod two_frames;

use game::{
    AudioApp, ExtractedInstances, Instances, RenderApp, app, arenas, checked, empty_sub_app,
    generations, len_in, parked, unfinished_app,
};
use pipeline::{FrameBegun, Pipeline, pipelined_app};

#[test]
fn a_thousand_frames_reach_another_thread_with_two_generations() {
    let mut app = pipelined_app();
    let frames = if cfg!(miri) { 3 } else { 1000 };
    for _ in 0..frames {
        app.update();
        assert_eq!((parked(&app), generations(&app)), (0, 2));
    }
    app.world_mut().remove_resource::<FrameBegun>();
    let pipeline = app.world_mut().remove_resource::<Pipeline>().unwrap();
    assert_eq!(checked(&pipeline.stop()), frames);
    assert_eq!(arenas(&app).usage().stale_lookups, 0);
}

#[test]
fn the_last_render_reads_its_frame_after_the_main_world_is_gone() {
    let mut app = pipelined_app();
    for _ in 0..3 {
        app.update();
    }
    let pipeline = app.world_mut().remove_resource::<Pipeline>().unwrap();
    // The third frame waits for the main world's next, which never comes.
    drop(app);
    assert_eq!(checked(&pipeline.stop()), 3);
}

#[test]
fn without_pipelining_each_frame_is_read_at_once() {
    let mut app = app();
    for _ in 0..10 {
        app.update();
        assert_eq!((parked(&app), generations(&app)), (0, 2));
    }
    assert_eq!(checked(app.sub_app(RenderApp)), 10);
}

#[test]
fn a_sub_app_dropped_first_gives_its_frame_back() {
    let mut app = app();
    for _ in 0..3 {
        app.update();
    }
    drop(app.remove_sub_app(RenderApp));
    for _ in 0..3 {
        app.update();
        assert_eq!((parked(&app), generations(&app)), (0, 2));
    }
}

#[test]
fn a_stalled_render_world_parks_its_frame_and_recovers() {
    let mut app = app();
    app.update();
    let mut render = app.remove_sub_app(RenderApp).unwrap();
    app.update();
    render.extract(app.world_mut());

    let (resume, stalled) = channel();
    let reader = thread::spawn(move || {
        // Renders the same frame whenever the main world has got on by one.
        while stalled.recv().is_ok() {
            render.update();
        }
        render
    });
    for frames in 1..=8 {
        app.update();
        assert_eq!(parked(&app), usize::from(frames > 1));
        resume.send(()).unwrap();
    }
    drop(resume);

    let mut render = reader.join().unwrap();
    assert_eq!(checked(&render), 1 + 8);
    assert_eq!(generations(&app), 3);
    for _ in 0..3 {
        render.extract(app.world_mut());
        render.update();
        app.update();
        assert_eq!(parked(&app), 0);
    }
}

#[test]
fn tasks_that_keep_leases_park_one_frame_each() {
    #[derive(Resource, Default)]
    struct Tasks(Vec<(FrameLease, Instances, u64)>);

    fn keep(
        frame: Res<ExtractedFrame>,
        extracted: Res<ExtractedInstances>,
        mut tasks: ResMut<Tasks>,
    ) {
        let lease = frame.lease().unwrap().clone();
        tasks
            .0
            .push((lease, extracted.0[0], frame.lease().unwrap().period()));
    }

    let mut app = unfinished_app();
    app.sub_app_mut(RenderApp)
        .init_resource::<Tasks>()
        .add_systems(Update, keep);
    app.finish();
    for frame in 1..=6 {
        app.update();
        assert_eq!(parked(&app), usize::saturating_sub(frame, 2));
    }
    let render = app.sub_app_mut(RenderApp).world_mut();
    for (lease, instances, frame) in render.resource_mut::<Tasks>().0.drain(..) {
        assert_eq!(lease[instances.handle], vec![frame; len_in(frame)]);
    }
    app.update();
    assert_eq!(parked(&app), 0);
}

#[test]
fn extra_runs_of_main_park_but_never_recycle_under_the_reader() {
    let mut app = app();
    for _ in 0..20 {
        app.update();
        let render = app.sub_app_mut(RenderApp);
        let before = checked(render);
        for _ in 0..3 {
            app.world_mut().run_schedule(Main);
            // The render world still has the frame it extracted.
            app.sub_app_mut(RenderApp).run_default_schedule();
        }
        assert_eq!(checked(app.sub_app(RenderApp)), before + 3);
        assert_eq!((parked(&app), generations(&app)), (1, 3));
    }
    app.update();
    app.update();
    assert_eq!(parked(&app), 0);
}

#[test]
fn extracting_without_rendering_parks_nothing() {
    let mut app = app();
    let mut render = app.remove_sub_app(RenderApp).unwrap();
    for _ in 0..10 {
        app.update();
        render.extract(app.world_mut());
        assert_eq!((parked(&app), generations(&app)), (0, 2));
    }
}

#[test]
fn without_the_sub_app_nothing_happens() {
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaSubAppPlugin::new(RenderApp),
    ));
    app.finish();
    app.cleanup();
    app.update();
    let store = app.world().resource::<DiagnosticsStore>();
    assert!(
        store
            .iter()
            .all(|it| !it.path().as_str().starts_with("render"))
    );
}

#[test]
fn either_world_may_lack_its_arenas() {
    let mut app = App::new();
    app.add_plugins(FrameArenaSubAppPlugin::new(RenderApp))
        .insert_sub_app(RenderApp, empty_sub_app());
    app.finish();
    app.sub_app_mut(RenderApp)
        .world_mut()
        .remove_resource::<FrameArenas>();
    app.update();
    let frame = |app: &App| {
        let render = app.sub_app(RenderApp).world();
        render
            .resource::<ExtractedFrame>()
            .lease()
            .map(FrameLease::period)
    };
    assert_eq!(frame(&app), None);

    app.insert_resource(FrameArenas::default());
    app.update();
    assert_eq!(frame(&app), Some(0));

    // The lease ends with the arenas, and a resource that was removed comes back.
    app.world_mut().remove_resource::<FrameArenas>();
    app.update();
    assert_eq!(frame(&app), None);
    app.sub_app_mut(RenderApp)
        .world_mut()
        .remove_resource::<ExtractedFrame>();
    app.update();
    assert_eq!(frame(&app), None);
}

#[test]
fn plugins_may_come_in_any_order() {
    let mut app = App::new();
    app.add_plugins(FrameArenaSubAppPlugin::new(RenderApp));
    app.insert_sub_app(RenderApp, empty_sub_app());
    app.add_plugins(FrameArenaPlugin::default());
    app.finish();
    app.update();
    let render = app.sub_app(RenderApp).world();
    assert_eq!(
        render
            .resource::<ExtractedFrame>()
            .lease()
            .map(FrameLease::period),
        Some(1)
    );
}

#[test]
fn each_sub_app_gets_the_frame_once() {
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaSubAppPlugin::new(RenderApp),
        FrameArenaSubAppPlugin::new(AudioApp),
        FrameArenaSubAppPlugin::new(RenderApp),
    ));
    app.insert_sub_app(RenderApp, empty_sub_app());
    app.insert_sub_app(AudioApp, empty_sub_app());
    app.finish();
    for frame in 1..=5 {
        app.update();
        let handle = arenas(&app).local().share(frame);
        assert_eq!((parked(&app), generations(&app)), (0, 2));
        for sub_app in [app.sub_app(RenderApp), app.sub_app(AudioApp)] {
            let extracted = sub_app.world().resource::<ExtractedFrame>();
            assert_eq!(
                (extracted.lease().map(FrameLease::period), extracted[handle]),
                (Some(frame), frame)
            );
            assert_eq!(sub_app.world().resource::<FrameArenas>().period(), frame);
        }
    }
    let store = app.world().resource::<DiagnosticsStore>();
    for path in ["render_arena/used", "audio_arena/used"] {
        let diagnostic = store.get(&DiagnosticPath::new(path)).unwrap();
        assert_eq!(diagnostic.history_len(), 5);
    }
}

#[test]
fn handles_of_the_frame_before_do_not_resolve_in_the_other_world() {
    let mut app = app();
    app.update();
    let old = arenas(&app).local().share(1);
    app.update();
    let new = arenas(&app).local().share(2);
    let render = app.sub_app(RenderApp).world().resource::<ExtractedFrame>();
    assert_eq!((render.get(old), render.get(new)), (None, Some(&2)));
    assert_eq!(arenas(&app).get(old), Some(&1));
}

#[test]
#[should_panic(expected = "nothing was extracted: there was no extract yet")]
fn indexing_before_the_first_extract_panics_with_a_reason() {
    let handle = FrameArenas::default().local().share(1);
    let _ = ExtractedFrame::default()[handle];
}

#[test]
fn the_other_world_has_scratch_of_its_own_and_its_figures_show() {
    #[derive(Resource, Default)]
    struct Last(Option<FrameHandle<u64>>);

    fn use_scratch(arenas: Res<FrameArenas>, mut last: ResMut<Last>) {
        if let Some(last) = last.0 {
            assert_eq!(arenas[last], arenas.period() - 1);
        }
        arenas.local().alloc_layout(Layout::new::<[u8; 1 << 20]>());
        last.0 = Some(arenas.local().share(arenas.period()));
    }

    let mut app = unfinished_app();
    app.sub_app_mut(RenderApp)
        .init_resource::<Last>()
        .add_systems(Update, use_scratch);
    app.finish();
    for frame in 1..=10 {
        app.update();
        let scratch = app.sub_app(RenderApp).world().resource::<FrameArenas>();
        assert_eq!(scratch.period(), frame);
        assert_eq!(scratch.usage().parked, 0);
    }
    let store = app.world().resource::<DiagnosticsStore>();
    let value = |path: &'static str| store.get(&DiagnosticPath::new(path))?.value();
    assert!(value("render_arena/used").unwrap() > 1.0);
    assert!(value("frame_arena/used").unwrap() < 1.0);
    assert_eq!(value("render_arena/workers"), Some(1.0));
}

#[test]
fn a_sub_app_with_the_plugin_of_its_own_is_swapped_once() {
    let mut render = empty_sub_app();
    render.add_plugins(FrameArenaPlugin::default());
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaSubAppPlugin::new(RenderApp),
    ))
    .insert_sub_app(RenderApp, render);
    app.finish();
    for frame in 1..=3 {
        app.update();
        let render = app.sub_app(RenderApp).world();
        assert_eq!(render.resource::<FrameArenas>().period(), frame);
    }
}

#[test]
fn an_extract_function_may_wrap_the_hand_over() {
    let mut app = app();
    let render = app.sub_app_mut(RenderApp);
    let mut extract = render.take_extract().unwrap();
    render.set_extract(move |main, render| extract(main, render));
    app.update();
    assert_eq!(checked(app.sub_app(RenderApp)), 1);
}

#[test]
fn two_sub_apps_of_one_prefix_do_not_mix_their_figures() {
    let log = logged(|| {
        let mut app = App::new();
        app.add_plugins((
            FrameArenaPlugin::default(),
            FrameArenaSubAppPlugin::new(RenderApp),
            FrameArenaSubAppPlugin {
                name: "render".into(),
                ..FrameArenaSubAppPlugin::new(AudioApp)
            },
        ));
        app.insert_sub_app(RenderApp, empty_sub_app());
        app.insert_sub_app(AudioApp, empty_sub_app());
        app.finish();
        app.update();
        let store = app.world().resource::<DiagnosticsStore>();
        let used = store.get(&DiagnosticPath::new("render_arena/used"));
        assert_eq!(used.unwrap().history_len(), 1);
    });
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].contains("`render_arena/…`"), "{log:?}");
}
