//! An app whose render app checks the data of each frame.

use bevy_app::{App, AppLabel, SubApp, TaskPoolOptions, TaskPoolPlugin, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use bevy_frame_arena::{
    ExtractedFrame, FrameArenaPlugin, FrameArenaSubAppPlugin, FrameArenas, FrameHandle,
};

#[derive(AppLabel, Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct RenderApp;

#[derive(AppLabel, Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct AudioApp;

/// What an object of the main world makes in a frame: a handle, and where its data lies.
#[derive(Component, Clone, Copy)]
pub(crate) struct Instances {
    pub(crate) handle: FrameHandle<[u64]>,
    pub(crate) address: usize,
}

/// What the render world gets of it: copies of the handles.
#[derive(Resource, Default)]
pub(crate) struct ExtractedInstances(pub(crate) Vec<Instances>);

/// How many frames the render world has checked.
#[derive(Resource, Default)]
pub(crate) struct Checked(pub(crate) usize);

pub(crate) const OBJECTS: usize = 16;

pub(crate) fn len_in(frame: u64) -> usize {
    1 + (frame % 100) as usize
}

/// Fills each object's list with the number of the frame, on all threads.
pub(crate) fn write_instances(arenas: Res<FrameArenas>, mut objects: Query<&mut Instances>) {
    let frame = arenas.period();
    objects.par_iter_mut().for_each(|mut instances| {
        let arena = arenas.local();
        let handle = arena.share_iter((0..(len_in(frame))).map(|_| frame));
        *instances = Instances {
            handle,
            address: arenas[handle].as_ptr().addr(),
        };
    });
}

pub(crate) fn copy_handles(main: &mut World, render: &mut World) {
    let mut objects = main.query::<&Instances>();
    let instances: Vec<_> = objects.iter(main).copied().collect();
    // The lease is in place before the sub-app's own extract function runs.
    let frame = render.resource::<ExtractedFrame>();
    assert!(instances.iter().all(|it| frame.get(it.handle).is_some()));
    render.resource_mut::<ExtractedInstances>().0 = instances;
}

pub(crate) fn check_instances(
    frame: Res<ExtractedFrame>,
    extracted: Res<ExtractedInstances>,
    mut checked: ResMut<Checked>,
) {
    let number = frame.lease().unwrap().period();
    assert_eq!(extracted.0.len(), OBJECTS);
    for instances in &extracted.0 {
        let data = &frame[instances.handle];
        assert_eq!(data.len(), len_in(number));
        assert!(data.iter().all(|&value| value == number));
        assert_eq!(data.as_ptr().addr(), instances.address, "it was copied");
    }
    checked.0 += 1;
}

pub(crate) fn empty_sub_app() -> SubApp {
    let mut sub_app = SubApp::new();
    sub_app.update_schedule = Some(Update.intern());
    sub_app.edit_schedule(Update, |schedule| {
        // All on the thread that runs the sub-app.
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    sub_app
}

pub(crate) fn render_app() -> SubApp {
    let mut render = empty_sub_app();
    render
        .init_resource::<ExtractedInstances>()
        .init_resource::<Checked>()
        .add_systems(Update, check_instances)
        .set_extract(copy_handles);
    render
}

/// An app whose render app checks the data of each frame.
pub(crate) fn unfinished_app() -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: TaskPoolOptions::with_num_threads(8),
        },
        FrameArenaPlugin::default(),
        FrameArenaSubAppPlugin::new(RenderApp),
    ))
    .add_systems(Update, write_instances)
    .insert_sub_app(RenderApp, render_app());
    let nothing = Instances {
        handle: arenas(&app).local().share_slice_copy(&[]),
        address: 0,
    };
    app.world_mut()
        .spawn_batch(vec![nothing; OBJECTS])
        .for_each(drop);
    app
}

pub(crate) fn app() -> App {
    let mut app = unfinished_app();
    app.finish();
    app.cleanup();
    app
}

pub(crate) fn arenas(app: &App) -> &FrameArenas {
    app.world().resource::<FrameArenas>()
}

pub(crate) fn parked(app: &App) -> usize {
    arenas(app).usage().parked
}

pub(crate) fn generations(app: &App) -> usize {
    arenas(app).usage().generations
}

pub(crate) fn checked(render: &SubApp) -> usize {
    render.world().resource::<Checked>().0
}
