//! The render world's side: uploads meshes and instances out of the arena, and draws them.

use bevy::asset::{embedded_asset, load_embedded_asset};
use bevy::core_pipeline::core_2d::{CORE_2D_DEPTH_FORMAT, main_transparent_pass_2d};
use bevy::core_pipeline::{Core2d, Core2dSystems};
use bevy::mesh::VertexBufferLayout;
use bevy::platform::collections::HashMap;
use bevy::prelude::*;
use bevy::render::render_resource::binding_types::uniform_buffer_sized;
use bevy::render::render_resource::{
    BindGroup, BindGroupEntries, BindGroupLayoutDescriptor, BindGroupLayoutEntries, Buffer,
    BufferDescriptor, BufferInitDescriptor, BufferUsages, CachedRenderPipelineId, ColorTargetState,
    ColorWrites, CompareFunction, DepthStencilState, Face, FragmentState, IndexFormat,
    PipelineCache, PrimitiveState, RenderPassDescriptor, RenderPipelineDescriptor, ShaderStages,
    StoreOp, TextureFormat, VertexFormat, VertexState, VertexStepMode,
};
use bevy::render::renderer::{RenderContext, RenderDevice, RenderQueue, ViewQuery};
use bevy::render::view::{ViewDepthStencilTexture, ViewTarget};
use bevy::render::{Extract, ExtractSchedule, Render, RenderApp, RenderStartup, RenderSystems};
use bevy_frame_arena::{ExtractedFrame, FrameHandle};

use crate::arrivals::Lights;
use crate::controls::Eye;
use crate::game::camera::{Draw, View};
use crate::game::mesher::Vertex;
use crate::game::terrain::{Chunk, SIDE};
use crate::game::walkers::Instance;
use crate::gpu::Gpu;
use crate::ways::arena::{Draws, Instances, Mesh, Meshes};

/// The most rectangles that a chunk can have: half of its blocks, each with six sides.
const MAX_QUADS: u32 = (SIDE * SIDE * SIDE * 3) as u32;

pub(crate) struct DrawWorldPlugin;

impl Plugin for DrawWorldPlugin {
    fn build(&self, app: &mut App) {
        embedded_asset!(app, "voxels.wgsl");
        let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
            return;
        };
        render_app
            .init_resource::<Picture>()
            .init_resource::<Gpu>()
            .init_resource::<Uploaded>()
            .add_systems(RenderStartup, set_up)
            .add_systems(ExtractSchedule, extract)
            .add_systems(Render, upload.in_set(RenderSystems::PrepareResources))
            .add_systems(
                Core2d,
                draw.in_set(Core2dSystems::MainPass)
                    .after(main_transparent_pass_2d),
            );
    }
}

/// What is to be drawn: handles, which are copied, to data, which is not.
#[derive(Resource, Default)]
struct Picture {
    draws: FrameHandle<[Draw]>,
    meshes: FrameHandle<[Mesh]>,
    instances: FrameHandle<[Instance]>,
    view: [f32; 20],
    /// Where each chunk begins, which is known once; and how bright it is lit.
    origins: Vec<[f32; 4]>,
}

/// What it takes to draw.
#[derive(Resource)]
struct Drawing {
    chunks: CachedRenderPipelineId,
    walkers: CachedRenderPipelineId,
    view: Buffer,
    bind_group: BindGroup,
    /// Two triangles for each rectangle, the same for all chunks.
    indices: Buffer,
}

/// What is in the graphics card's memory.
#[derive(Resource, Default)]
struct Uploaded {
    chunks: HashMap<u32, ChunkMesh>,
    instances: Option<Buffer>,
    instance_count: u32,
    draws: Vec<u32>,
}

struct ChunkMesh {
    vertices: Buffer,
    origin: Buffer,
    light: f32,
    index_count: u32,
}

fn set_up(
    mut commands: Commands,
    device: Res<RenderDevice>,
    assets: Res<AssetServer>,
    pipelines: Res<PipelineCache>,
) {
    let layout = BindGroupLayoutDescriptor::new(
        "view",
        &BindGroupLayoutEntries::single(ShaderStages::VERTEX, uniform_buffer_sized(false, None)),
    );
    let vec4 = |step| VertexBufferLayout::from_vertex_formats(step, [VertexFormat::Float32x4]);
    let origin = vec4(VertexStepMode::Instance).offset_locations_by(1);
    let shader = load_embedded_asset!(&*assets, "voxels.wgsl");
    let pipeline = |entry_point: &'static str, buffers| {
        pipelines.queue_render_pipeline(pipeline(&layout, &shader, entry_point, buffers))
    };
    let chunks = pipeline("chunk", vec![vec4(VertexStepMode::Vertex), origin]);
    let walkers = pipeline("walker", vec![vec4(VertexStepMode::Instance)]);
    let view = device.create_buffer(&BufferDescriptor {
        label: Some("view"),
        size: size_of::<[f32; 20]>() as u64,
        usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let layout = pipelines.get_bind_group_layout(&layout);
    let entries = BindGroupEntries::single(view.as_entire_binding());
    let bind_group = device.create_bind_group("view", &layout, &entries);
    let corners = |quad: u32| [0, 1, 2, 0, 2, 3].map(|corner| quad * 4 + corner);
    let indices: Vec<u32> = (0..MAX_QUADS).flat_map(corners).collect();
    let indices = device.create_buffer_with_data(&BufferInitDescriptor {
        label: Some("two triangles for each rectangle"),
        contents: bytemuck::cast_slice(&indices),
        usage: BufferUsages::INDEX,
    });
    commands.insert_resource(Drawing {
        chunks,
        walkers,
        view,
        bind_group,
        indices,
    });
}

fn pipeline(
    layout: &BindGroupLayoutDescriptor,
    shader: &Handle<Shader>,
    entry_point: &'static str,
    buffers: Vec<VertexBufferLayout>,
) -> RenderPipelineDescriptor {
    RenderPipelineDescriptor {
        label: Some(entry_point.into()),
        layout: vec![layout.clone()],
        vertex: VertexState {
            shader: shader.clone(),
            entry_point: Some(entry_point.into()),
            buffers,
            ..default()
        },
        primitive: PrimitiveState {
            // What looks away is not drawn: the mesher's winding is right, or there are holes.
            cull_mode: Some(Face::Back),
            ..default()
        },
        depth_stencil: Some(DepthStencilState {
            format: CORE_2D_DEPTH_FORMAT,
            depth_write_enabled: Some(true),
            depth_compare: Some(CompareFunction::GreaterEqual),
            stencil: default(),
            bias: default(),
        }),
        fragment: Some(FragmentState {
            shader: shader.clone(),
            targets: vec![Some(ColorTargetState {
                format: TextureFormat::Rgba8UnormSrgb,
                blend: None,
                write_mask: ColorWrites::ALL,
            })],
            ..default()
        }),
        ..default()
    }
}

/// Copies handles and the camera; of the data itself only what another way than the arenas made.
fn extract(
    handles: Extract<(Res<Draws>, Res<Meshes>, Res<Instances>)>,
    copies: Extract<Res<Gpu>>,
    camera: Extract<(Res<Eye>, Res<View>)>,
    lights: Extract<Res<Lights>>,
    chunks: Extract<Query<&Chunk>>,
    mut picture: ResMut<Picture>,
    mut gpu: ResMut<Gpu>,
) {
    let (draws, meshes, instances) = &*handles;
    let (eye, view) = &*camera;
    gpu.clone_from(&copies);
    // Of an older frame if another way is played: then they resolve to nothing.
    picture.draws = draws.0;
    picture.meshes = meshes.0;
    picture.instances = instances.0;
    picture.view[..16].copy_from_slice(&eye.clip_from_world.to_cols_array());
    picture.view[16..19].copy_from_slice(&view.eye.to_array());
    if picture.origins.len() < chunks.iter().len() {
        picture.origins.resize(chunks.iter().len(), [0.0; 4]);
        for chunk in &chunks {
            picture.origins[chunk.number as usize] = chunk.origin().extend(0.0).to_array();
        }
    }
    for (origin, light) in picture.origins.iter_mut().zip(&lights.0) {
        origin[3] = *light;
    }
}

/// Uploads the main world's frame, straight out of its arena, or what was copied.
fn upload(
    frame: Res<ExtractedFrame>,
    picture: Res<Picture>,
    copies: Res<Gpu>,
    drawing: Res<Drawing>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    mut uploaded: ResMut<Uploaded>,
) {
    queue.write_buffer(&drawing.view, 0, bytemuck::cast_slice(&picture.view));
    if copies.is_copying {
        if copies.is_first {
            return; // What was drawn last is drawn again.
        }
        for (chunk, vertices) in copies.meshes() {
            uploaded.upload_mesh(chunk, vertices, &picture, &device, &queue);
        }
        uploaded.upload_instances(&copies.instances, &device, &queue);
        uploaded.set_draws(&copies.draws);
        return;
    }
    for mesh in frame.get(picture.meshes).unwrap_or_default() {
        let vertices = &frame[mesh.vertices];
        uploaded.upload_mesh(mesh.chunk, vertices, &picture, &device, &queue);
    }
    if let Some(instances) = frame.get(picture.instances) {
        uploaded.upload_instances(instances, &device, &queue);
    }
    if let Some(draws) = frame.get(picture.draws) {
        uploaded.set_draws(draws);
    }
    uploaded.upload_lights(&picture, &queue);
}

impl Uploaded {
    fn upload_mesh(
        &mut self,
        chunk: u32,
        vertices: &[Vertex],
        picture: &Picture,
        device: &RenderDevice,
        queue: &RenderQueue,
    ) {
        let mesh = self.chunks.entry(chunk).or_insert_with(|| ChunkMesh {
            vertices: vertex_buffer(device, 0),
            origin: device.create_buffer_with_data(&BufferInitDescriptor {
                label: Some("origin"),
                contents: bytemuck::cast_slice(&picture.origins[chunk as usize]),
                usage: BufferUsages::VERTEX | BufferUsages::COPY_DST,
            }),
            light: 0.0,
            index_count: 0,
        });
        write(&mut mesh.vertices, vertices, device, queue);
        mesh.index_count = vertices.len() as u32 / 4 * 6;
    }

    fn upload_instances(
        &mut self,
        instances: &[Instance],
        device: &RenderDevice,
        queue: &RenderQueue,
    ) {
        let buffer = self
            .instances
            .get_or_insert_with(|| vertex_buffer(device, 0));
        write(buffer, instances, device, queue);
        self.instance_count = instances.len() as u32;
    }

    fn upload_lights(&mut self, picture: &Picture, queue: &RenderQueue) {
        for (chunk, mesh) in &mut self.chunks {
            let origin = &picture.origins[*chunk as usize];
            if mesh.light != origin[3] {
                mesh.light = origin[3];
                queue.write_buffer(&mesh.origin, 0, bytemuck::cast_slice(origin));
            }
        }
    }

    fn set_draws(&mut self, draws: &[Draw]) {
        self.draws.clear();
        self.draws.extend(draws.iter().map(|draw| draw.chunk));
    }
}

/// Writes a list to a buffer, or to a larger one in its place.
fn write(buffer: &mut Buffer, list: &[[f32; 4]], device: &RenderDevice, queue: &RenderQueue) {
    let bytes: &[u8] = bytemuck::cast_slice(list);
    if buffer.size() < bytes.len() as u64 {
        *buffer = vertex_buffer(device, bytes.len());
    }
    queue.write_buffer(buffer, 0, bytes);
}

fn vertex_buffer(device: &RenderDevice, bytes: usize) -> Buffer {
    device.create_buffer(&BufferDescriptor {
        label: Some("vertices"),
        size: bytes.next_power_of_two().max(1024) as u64,
        usage: BufferUsages::VERTEX | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

fn draw(
    view: ViewQuery<(&ViewTarget, &ViewDepthStencilTexture)>,
    drawing: Res<Drawing>,
    uploaded: Res<Uploaded>,
    pipelines: Res<PipelineCache>,
    mut context: RenderContext,
) {
    let chunks = pipelines.get_render_pipeline(drawing.chunks);
    let walkers = pipelines.get_render_pipeline(drawing.walkers);
    let Some((chunks, walkers)) = chunks.zip(walkers) else {
        return; // The shader is still being compiled.
    };
    let (target, depth) = view.into_inner();
    let mut pass = context.begin_tracked_render_pass(RenderPassDescriptor {
        label: Some("voxels"),
        color_attachments: &[Some(target.get_color_attachment())],
        depth_stencil_attachment: Some(depth.get_attachment(StoreOp::Store)),
        ..default()
    });
    pass.set_render_pipeline(chunks);
    pass.set_bind_group(0, &drawing.bind_group, &[]);
    pass.set_index_buffer(drawing.indices.slice(..), IndexFormat::Uint32);
    for mesh in uploaded
        .draws
        .iter()
        .flat_map(|chunk| uploaded.chunks.get(chunk))
    {
        if mesh.index_count > 0 {
            pass.set_vertex_buffer(0, mesh.vertices.slice(..));
            pass.set_vertex_buffer(1, mesh.origin.slice(..));
            pass.draw_indexed(0..mesh.index_count, 0, 0..1);
        }
    }
    if let Some(instances) = &uploaded.instances {
        pass.set_render_pipeline(walkers);
        pass.set_vertex_buffer(0, instances.slice(..));
        pass.draw(0..36, 0..uploaded.instance_count);
    }
}
