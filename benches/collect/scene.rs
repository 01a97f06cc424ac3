//! Entities with bounds and a frustum, as Bevy's `check_visibility` sees them.

use std::fmt;

use bevy_ecs::prelude::*;
use bevy_ecs::query::QueryState;
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};

/// How many entities there are, and how many of a hundred are visible.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    entities: u32,
    visible_percent: u32,
}

pub(crate) const SCENES: [Shape; 4] = [
    Shape::new(20_000, 10),
    Shape::new(20_000, 60),
    Shape::new(200_000, 10),
    Shape::new(200_000, 60),
];

impl Shape {
    const fn new(entities: u32, visible_percent: u32) -> Self {
        Self {
            entities,
            visible_percent,
        }
    }

    /// Returns a place behind one of the planes, or in front of all.
    fn place(self, random: &mut u32) -> [f32; 3] {
        *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let is_visible = (*random >> 8) % 100 < self.visible_percent;
        let axis = (*random >> 4) as usize % 3;
        let mut place = [
            (*random >> 12) as f32 % 70.0,
            (*random >> 16) as f32 % 70.0,
            9.0,
        ];
        place[axis] = if is_visible { 30.0 } else { 300.0 };
        place
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} entities, {} % visible",
            self.entities, self.visible_percent
        )
    }
}

#[derive(Component)]
pub(crate) struct InheritedVisibility(bool);

#[derive(Component)]
pub(crate) struct ViewVisibility(bool);

#[derive(Component)]
pub(crate) struct RenderLayers(u64);

/// Centre and half extents.
#[derive(Component)]
pub(crate) struct Aabb([f32; 3], [f32; 3]);

/// An affine transform: three axes and the translation.
#[derive(Component)]
pub(crate) struct GlobalTransform([[f32; 3]; 4]);

/// What the check asks for.
pub(crate) type Seen = (
    Entity,
    &'static InheritedVisibility,
    &'static mut ViewVisibility,
    &'static RenderLayers,
    &'static Aabb,
    &'static GlobalTransform,
);

pub(crate) type Item<'w> = (
    Entity,
    &'w InheritedVisibility,
    Mut<'w, ViewVisibility>,
    &'w RenderLayers,
    &'w Aabb,
    &'w GlobalTransform,
);

pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) query: QueryState<Seen>,
    pub(crate) frustum: Frustum,
    shape: Shape,
    transforms: QueryState<&'static mut GlobalTransform>,
}

impl Scene {
    pub(crate) fn new(shape: Shape) -> Self {
        let mut world = World::new();
        let mut random = 1;
        for _ in 0..shape.entities {
            let place = shape.place(&mut random);
            world.spawn((
                InheritedVisibility(true),
                ViewVisibility(false),
                RenderLayers(1),
                Aabb([0.0, 0.5, 0.0], [1.0, 2.0, 1.0]),
                GlobalTransform([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], place]),
            ));
        }
        Self {
            query: world.query(),
            transforms: world.query(),
            world,
            frustum: Frustum::cube(100.0),
            shape,
        }
    }

    /// Moves all entities, for frames whose time is measured: what is decided in the same way in each frame, a
    /// processor learns by heart, and the better the more ways share the code.
    pub(crate) fn scatter(&mut self, frame: u32) {
        let mut random = frame.wrapping_mul(0x9e37_79b9);
        for mut transform in self.transforms.iter_mut(&mut self.world) {
            transform.0[3] = self.shape.place(&mut random);
        }
    }
}

/// Six half spaces: a normal and a distance each.
#[derive(Clone)]
pub(crate) struct Frustum {
    planes: [[f32; 4]; 6],
    layers: u64,
}

impl Frustum {
    fn cube(extent: f32) -> Self {
        let plane = |index: usize| {
            let mut plane = [0.0, 0.0, 0.0, extent];
            plane[index / 2] = if index.is_multiple_of(2) { -1.0 } else { 1.0 };
            plane
        };
        Self {
            planes: std::array::from_fn(plane),
            layers: 1,
        }
    }

    /// Decides as Bevy does: by flag, by layer, by the sphere around the bounds.
    // Compiled once for all ways: how its branches are laid out is chance, and moves the time of a frame by 5 %.
    #[inline(never)]
    pub(crate) fn check(&self, item: Item<'_>) -> Option<Entity> {
        let (entity, inherited, mut visible, layers, bounds, transform) = item;
        if !inherited.0 || layers.0 & self.layers == 0 {
            return None;
        }
        let [x, y, z, translation] = transform.0;
        let centre = |axis: usize| {
            let Aabb([cx, cy, cz], _) = *bounds;
            x[axis] * cx + y[axis] * cy + z[axis] * cz + translation[axis]
        };
        let centre = [centre(0), centre(1), centre(2)];
        let [hx, hy, hz] = bounds.1;
        let radius = (hx * hx + hy * hy + hz * hz).sqrt();
        for [nx, ny, nz, distance] in self.planes {
            if nx * centre[0] + ny * centre[1] + nz * centre[2] + distance + radius <= 0.0 {
                return None;
            }
        }
        visible.bypass_change_detection().0 = true;
        Some(entity)
    }
}

pub(crate) fn start_pool(threads: usize) {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(threads).build());
}
