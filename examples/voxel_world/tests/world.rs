//! The mesher is right, and the four ways make the same world.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use proptest::prelude::{ProptestConfig, proptest};
use proptest::test_runner::RngAlgorithm;
use voxel_world::game::mesher::{PADDED_BLOCKS, Quad, mesh, padded_index};
use voxel_world::game::noise::hash;
use voxel_world::game::terrain::{AIR, Block, SIDE};
use voxel_world::game::{GamePlugin, Load};
use voxel_world::gpu::Gpu;
use voxel_world::ways::Way;

/// The side of one block that can be seen: where, to which side, and of what.
type Side = ([usize; 3], u8, Block);

/// All sides that can be seen, one by one: what no mesher may do, and all must be equal to.
fn naive_sides(padded: &[Block]) -> Vec<Side> {
    let mut sides = Vec::new();
    for index in 0..SIDE * SIDE * SIDE {
        let at = [index, index / SIDE, index / (SIDE * SIDE)].map(|n| n % SIDE);
        let block = |at: [usize; 3]| padded[padded_index(at[0], at[1], at[2])];
        let own = block(at.map(|n| n + 1));
        for face in 0..6 {
            let mut front = at.map(|n| n + 1);
            let place = &mut front[usize::from(face % 3)];
            *place = if face < 3 { *place + 1 } else { *place - 1 };
            if own != AIR && block(front) == AIR {
                sides.push((at, face, own));
            }
        }
    }
    sides.sort_unstable();
    sides
}

/// The bounds of a rectangle, from its corners alone.
fn bounds(quad: &Quad) -> [[usize; 2]; 3] {
    [0, 1, 2].map(|axis| {
        let places = quad.corners().map(|corner| corner[axis]);
        let low = places.into_iter().fold(f32::MAX, f32::min);
        let high = places.into_iter().fold(f32::MIN, f32::max);
        assert_eq!((low.fract(), high.fract()), (0.0, 0.0));
        [low as usize, high as usize]
    })
}

/// The sides that a rectangle covers.
fn covered_sides(quad: &Quad) -> Vec<Side> {
    let axis = usize::from(quad.face % 3);
    let mut bounds = bounds(quad);
    assert_eq!(bounds[axis][0], bounds[axis][1], "it is flat");
    // From the plane to the block behind it.
    match quad.face < 3 {
        true => bounds[axis][0] -= 1,
        false => bounds[axis][1] += 1,
    }
    let [x, y, z] = bounds.map(|[low, high]| low..high);
    let mut sides = Vec::new();
    for x in x {
        for y in y.clone() {
            sides.extend(z.clone().map(|z| ([x, y, z], quad.face, quad.block)));
        }
    }
    sides
}

fn area(quad: &Quad) -> f32 {
    let [a, b, _, d] = quad.corners();
    let length = |to: [f32; 4]| (0..3).map(|n| (to[n] - a[n]).abs()).sum::<f32>();
    length(b) * length(d)
}

/// The side to which the corners are in counter-clockwise order.
fn outward(quad: &Quad) -> [f32; 3] {
    let [a, b, c, _] = quad.corners();
    let [u, v] = [[b, a], [c, b]].map(|[to, from]| [0, 1, 2].map(|n| to[n] - from[n]));
    [
        u[1] * v[2] - u[2] * v[1],
        u[2] * v[0] - u[0] * v[2],
        u[0] * v[1] - u[1] * v[0],
    ]
    .map(|n| if n == 0.0 { 0.0 } else { n.signum() })
}

fn quads_of(padded: &[Block]) -> Vec<Quad> {
    let mut quads = Vec::new();
    mesh(padded, |quad| quads.push(quad));
    quads
}

/// A chunk with as much air, and as many kinds of blocks, as asked for.
fn random_chunk(seed: u32, air_percent: u32, kinds: u32) -> Vec<Block> {
    let block = |index: usize| {
        let number = hash(seed ^ hash(index as u32));
        let is_air = number % 100 < air_percent;
        (!is_air).then_some(1 + (number / 100 % kinds) as u8)
    };
    (0..PADDED_BLOCKS)
        .map(|index| block(index).unwrap_or(AIR))
        .collect()
}

fn assert_mesh_is_right(padded: &[Block]) {
    let quads = quads_of(padded);
    let naive = naive_sides(padded);

    let mut covered: Vec<Side> = quads.iter().flat_map(covered_sides).collect();
    covered.sort_unstable();
    assert!(covered == naive, "each side once, and nothing else");

    let all: f32 = quads.iter().map(area).sum();
    assert_eq!(all, naive.len() as f32);

    for quad in &quads {
        let mut side = [0.0; 3];
        side[usize::from(quad.face % 3)] = if quad.face < 3 { 1.0 } else { -1.0 };
        assert_eq!(outward(quad), side);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 64 },
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_greedy_mesh_is_the_naive_one_in_larger_parts(
        seed: u32,
        air_percent in 0..101_u32,
        kinds in 1..4_u32,
    ) {
        assert_mesh_is_right(&random_chunk(seed, air_percent, kinds));
    }
}

#[test]
fn a_flat_floor_is_one_rectangle() {
    let mut padded = vec![AIR; PADDED_BLOCKS];
    for index in 0..SIDE * SIDE {
        padded[padded_index(1 + index % SIDE, 1, 1 + index / SIDE)] = 1;
    }
    let quads = quads_of(&padded);
    assert_mesh_is_right(&padded);
    let top = quads.iter().find(|quad| quad.face == 1);
    assert_eq!(top.map(|quad| quad.size), Some([SIDE as u8; 2]));
    assert_eq!(quads.len(), 6, "a box");
}

#[test]
fn a_chunk_with_all_neighbours_solid_has_no_mesh() {
    assert_eq!(quads_of(&vec![3; PADDED_BLOCKS]), []);
}

/// A small world, without systems of a way.
#[cfg(not(miri))] // Miri needs minutes for each frame of an app; `attacks` and `app` have small ones.
fn small_world(meshes_in_tasks: bool) -> App {
    let mut app = App::new();
    let load = Load {
        columns: 4,
        layers: 2,
        walkers: 200,
        diggers: 2,
        label_distance: 40.0,
        meshes_in_tasks,
    };
    let task_pool_options = TaskPoolOptions::with_num_threads(8);
    app.add_plugins((TaskPoolPlugin { task_pool_options }, GamePlugin { load }));
    app
}

/// Plays frames, and returns what the world was like after each.
#[cfg(not(miri))]
fn play(app: &mut App, frames: usize) -> Vec<u64> {
    let mut frame = || {
        app.update();
        app.world().resource::<Gpu>().sum()
    };
    (0..frames).map(|_| frame()).collect()
}

#[cfg(not(miri))]
fn play_alone(way: Way, meshes_in_tasks: bool) -> Vec<u64> {
    let mut app = small_world(meshes_in_tasks);
    way.add_to(&mut app);
    app.finish();
    app.cleanup();
    // Two searches for a path, and holes that are filled in again.
    play(&mut app, 220)
}

#[test]
#[cfg(not(miri))]
fn all_ways_make_the_same_world() {
    let [heap, others @ ..] = Way::ALL;
    let worlds = [false, true].map(|meshes_in_tasks| {
        let world = play_alone(heap, meshes_in_tasks);
        let mut moments = world.clone();
        moments.dedup();
        assert!(moments.len() > 210, "something happens in each frame");
        for other in others {
            assert!(play_alone(other, meshes_in_tasks) == world, "{other:?}");
        }
        world
    });
    assert!(worlds[0] != worlds[1], "tasks come later");
}

#[test]
#[cfg(not(miri))]
fn ways_take_turns_in_one_app_as_in_the_window() {
    let mut app = small_world(true);
    for way in Way::ALL {
        way.add_to(&mut app);
        let is_played = move |played: Res<Way>| *played == way;
        app.configure_sets(First, way.run_if(is_played))
            .configure_sets(FixedUpdate, way.run_if(is_played))
            .configure_sets(Update, way.run_if(is_played))
            .configure_sets(Last, way.run_if(is_played));
    }
    app.finish();
    app.cleanup();
    for way in Way::ALL.into_iter().chain(Way::ALL) {
        app.insert_resource(way);
        let mut moments = play(&mut app, 20);
        // What the way made in its first frame is drawn in the second.
        moments.drain(..2);
        let frames = moments.len();
        moments.dedup();
        assert_eq!(
            moments.len(),
            frames,
            "{way:?}: each frame draws something new"
        );
    }
}
