//! The render world's side: uploads the instances out of the arena, and draws them.

use bevy::asset::{embedded_asset, load_embedded_asset};
use bevy::core_pipeline::{Core2d, Core2dSystems, core_2d::main_transparent_pass_2d};
use bevy::mesh::VertexBufferLayout;
use bevy::prelude::*;
use bevy::render::extract_resource::{ExtractResource, ExtractResourcePlugin};
use bevy::render::render_resource::{
    Buffer, BufferDescriptor, BufferUsages, CachedRenderPipelineId, ColorTargetState, ColorWrites,
    FragmentState, PipelineCache, PrimitiveState, PrimitiveTopology, RenderPassDescriptor,
    RenderPipelineDescriptor, TextureFormat, VertexFormat, VertexState, VertexStepMode,
};
use bevy::render::renderer::{RenderContext, RenderDevice, RenderQueue, ViewQuery};
use bevy::render::view::ViewTarget;
use bevy::render::{Render, RenderApp, RenderStartup, RenderSystems};
use bevy_frame_arena::{ExtractedFrame, FrameHandle};

use crate::picture::{Instance, TILES};

/// Draws the instances that the resource [`Instances`] names.
pub struct DrawInstancesPlugin;

/// What is drawn in this frame. Extracting it copies the handle, not the data.
#[derive(Resource, Clone, ExtractResource)]
#[extract_app(RenderApp)]
pub struct Instances(pub FrameHandle<[Instance]>);

/// What it takes to draw them.
#[derive(Resource)]
struct Drawing {
    buffer: Buffer,
    pipeline: CachedRenderPipelineId,
}

impl Plugin for DrawInstancesPlugin {
    fn build(&self, app: &mut App) {
        embedded_asset!(app, "instances.wgsl");
        app.add_plugins(ExtractResourcePlugin::<Instances>::default());
        let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
            return;
        };
        render_app
            .add_systems(RenderStartup, set_up)
            .add_systems(Render, upload.in_set(RenderSystems::PrepareResources))
            .add_systems(
                Core2d,
                draw.in_set(Core2dSystems::MainPass)
                    .after(main_transparent_pass_2d),
            );
    }
}

fn set_up(
    mut commands: Commands,
    device: Res<RenderDevice>,
    assets: Res<AssetServer>,
    pipelines: Res<PipelineCache>,
) {
    let shader = load_embedded_asset!(&*assets, "instances.wgsl");
    let pipeline = pipelines.queue_render_pipeline(RenderPipelineDescriptor {
        label: Some("instances".into()),
        vertex: VertexState {
            shader: shader.clone(),
            buffers: vec![VertexBufferLayout::from_vertex_formats(
                VertexStepMode::Instance,
                [VertexFormat::Float32x4, VertexFormat::Float32x4],
            )],
            ..default()
        },
        primitive: PrimitiveState {
            topology: PrimitiveTopology::TriangleStrip,
            ..default()
        },
        fragment: Some(FragmentState {
            shader,
            targets: vec![Some(ColorTargetState {
                format: TextureFormat::Rgba8UnormSrgb,
                blend: None,
                write_mask: ColorWrites::ALL,
            })],
            ..default()
        }),
        ..default()
    });
    let buffer = device.create_buffer(&BufferDescriptor {
        label: Some("instances"),
        size: (TILES * size_of::<Instance>()) as u64,
        usage: BufferUsages::VERTEX | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    commands.insert_resource(Drawing { buffer, pipeline });
}

/// Uploads the main world's frame, straight out of its arena.
fn upload(
    frame: Res<ExtractedFrame>,
    instances: Option<Res<Instances>>,
    drawing: Res<Drawing>,
    queue: Res<RenderQueue>,
) {
    if let Some(instances) = instances {
        let bytes = bytemuck::cast_slice(&frame[instances.0]);
        queue.write_buffer(&drawing.buffer, 0, bytes);
    }
}

fn draw(
    view: ViewQuery<&ViewTarget>,
    drawing: Res<Drawing>,
    pipelines: Res<PipelineCache>,
    mut context: RenderContext,
) {
    let Some(pipeline) = pipelines.get_render_pipeline(drawing.pipeline) else {
        return; // The shader is still being compiled.
    };
    let mut pass = context.begin_tracked_render_pass(RenderPassDescriptor {
        label: Some("instances"),
        color_attachments: &[Some(view.into_inner().get_color_attachment())],
        ..default()
    });
    pass.set_render_pipeline(pipeline);
    pass.set_vertex_buffer(0, drawing.buffer.slice(..));
    pass.draw(0..4, 0..TILES as u32);
}
