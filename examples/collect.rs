//! Goal: make one list, and the cells of a grid, out of a `par_iter`, in the same order each frame.
//!
//! All workers check ten thousand creeps at once, and each adds to its own batch. The hurt ones become one sorted
//! list. All of them are sorted into the cells of a grid, in which towers look for targets.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;

/// Cells along each axis. A cell is one by one.
const SIZE: [usize; 2] = [50, 20];
const CREEPS: usize = 10_000;

fn main() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), FrameArenaPlugin::default()))
        .init_resource::<Found>()
        .add_systems(Startup, spawn)
        .add_systems(Update, (collect, heal, aim).chain());
    app.finish();
    app.cleanup();
    for _ in 0..3 {
        app.update();
    }
}

#[derive(Component)]
struct Creep {
    place: [f32; 2],
    health: u32,
}

#[derive(Component)]
struct Tower {
    place: [f32; 2],
}

/// One handle for the list, and one for all cells.
#[derive(Resource, Default)]
struct Found {
    hurt: FrameHandle<[Entity]>,
    grid: FrameHandle<Cells<(Entity, [f32; 2])>>,
}

fn spawn(mut commands: Commands) {
    commands.spawn_batch((0..CREEPS).map(|n| Creep {
        place: [(n % 500) as f32 / 10.0, (n / 500) as f32],
        health: n as u32 % 100,
    }));
    commands.spawn(Tower { place: [7.5, 3.0] });
    commands.spawn(Tower { place: [0.0, 0.0] });
}

fn cell_of([x, y]: [f32; 2]) -> usize {
    x as usize + y as usize * SIZE[0]
}

fn collect(arenas: Res<FrameArenas>, creeps: Query<(Entity, &Creep)>, mut found: ResMut<Found>) {
    let (hurt, grid) = (arenas.collector(), arenas.collector());
    creeps.par_iter().for_each_init(
        || (hurt.batch(), grid.batch()),
        |(hurt, grid), (entity, creep)| {
            if creep.health < 10 {
                hurt.push(entity);
            }
            grid.push((entity, creep.place));
        },
    );
    found.hurt = hurt.share_sorted();
    // `share_cells` does not sort: within a cell, the order would depend on the workers.
    let cells = SIZE[0] * SIZE[1];
    found.grid = grid.share_cells_sorted_by_key(cells, |it| cell_of(it.1), |it| it.0);
}

fn heal(arenas: Res<FrameArenas>, found: Res<Found>, mut creeps: Query<&mut Creep>) {
    let hurt = &arenas[found.hurt];
    println!("frame {}: {} creeps are hurt", arenas.period(), hurt.len());
    for entity in hurt.iter().take(100) {
        if let Ok(mut creep) = creeps.get_mut(*entity) {
            creep.health = 100;
        }
    }
}

fn aim(arenas: Res<FrameArenas>, found: Res<Found>, towers: Query<&Tower>) {
    // One look-up for all cells. Each cell is a slice.
    let cells = &arenas[found.grid];
    assert_eq!(cells.elements().len(), CREEPS);
    for tower in &towers {
        let cell = cell_of(tower.place);
        println!(
            "  tower at {:?}: {} creeps in its cell, {} with the neighbours",
            tower.place,
            cells[cell].len(),
            cells.around(cell, SIZE).count(),
        );
    }
}
