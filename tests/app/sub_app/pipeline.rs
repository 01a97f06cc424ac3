//! The render app on a thread of its own.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use bevy_app::{App, AppLabel, First, Plugin, SubApp, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::FrameArenas;

use super::game::{RenderApp, check_instances, unfinished_app};

/// Runs the render app on a thread of its own, one frame behind, as Bevy's
/// `PipelinedRenderingPlugin` does.
pub(crate) struct PipelinedPlugin;

#[derive(AppLabel, Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct PipelineApp;

#[derive(Resource)]
pub(crate) struct Pipeline {
    pub(crate) to_render: SyncSender<SubApp>,
    pub(crate) from_render: Mutex<Receiver<SubApp>>,
    pub(crate) thread: JoinHandle<()>,
}

impl Pipeline {
    /// Ends the render thread after its last frame.
    pub(crate) fn stop(self) -> SubApp {
        let render = self.from_render.into_inner().unwrap().recv().unwrap();
        drop(self.to_render);
        self.thread.join().unwrap();
        render
    }
}

impl Plugin for PipelinedPlugin {
    fn build(&self, app: &mut App) {
        let mut extract = SubApp::new();
        extract.set_extract(|main, _| {
            main.resource_scope(|main, pipeline: Mut<Pipeline>| {
                let mut render = pipeline.from_render.lock().unwrap().recv().unwrap();
                render.extract(main);
                pipeline.to_render.send(render).unwrap();
            });
        });
        app.insert_sub_app(PipelineApp, extract);
    }

    fn cleanup(&self, app: &mut App) {
        let (to_render, frames) = sync_channel::<SubApp>(1);
        let (to_main, from_render) = sync_channel(1);
        to_main
            .send(app.remove_sub_app(RenderApp).unwrap())
            .unwrap();
        let thread = thread::spawn(move || {
            for mut render in frames {
                render.update();
                to_main.send(render).unwrap();
            }
        });
        app.insert_resource(Pipeline {
            to_render,
            from_render: Mutex::new(from_render),
            thread,
        });
    }
}

/// Tells the render world that the main world has begun a frame.
#[derive(Resource)]
pub(crate) struct FrameBegun(pub(crate) Sender<()>);

#[derive(Resource)]
pub(crate) struct AwaitFrame(pub(crate) Mutex<Receiver<()>>);

pub(crate) fn announce_frame(begun: Res<FrameBegun>, arenas: Res<FrameArenas>) {
    // There is nothing to render during the first.
    if arenas.period() > 1 {
        begun.0.send(()).unwrap();
    }
}

/// Holds the render of a frame back until the main world is beyond the swap that follows it, or
/// will swap no more.
pub(crate) fn await_next_frame_of_main(frame: Res<AwaitFrame>) {
    let _or_no_more_frames = frame.0.lock().unwrap().recv();
}

pub(crate) fn pipelined_app() -> App {
    let mut app = unfinished_app();
    let (begun, frame) = channel();
    app.add_plugins(PipelinedPlugin)
        .insert_resource(FrameBegun(begun))
        .add_systems(First, announce_frame);
    app.sub_app_mut(RenderApp)
        .insert_resource(AwaitFrame(Mutex::new(frame)))
        .add_systems(Update, await_next_frame_of_main.before(check_instances));
    app.finish();
    app.cleanup();
    app
}
