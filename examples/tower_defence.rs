//! Goal: give each kind of data of a game the memory that fits: the map of a level, a flow field that tasks replace,
//! the grid of a fixed step, the texts of a frame. The result is the same at any frame rate.

use std::time::Duration;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;
use bevy_math::{UVec2, Vec2};
use bevy_state::app::StatesPlugin;
use bevy_state::prelude::*;
use bevy_tasks::{AsyncComputeTaskPool, Task, block_on};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

fn main() {
    let results = [30, 64, 240].map(play);
    assert!(results.iter().all(|result| *result == results[0]));
}

/// Plays 200 steps at a number of frames a second, with a pause, and returns the state of the game.
fn play(frames_a_second: u32) -> (i32, usize) {
    let frame = Duration::from_secs(1) / frames_a_second;
    let level = FrameArenaPacePlugin::<Level>::ending_with(OnExit(Game::Level));
    let settings = FrameArenaSettings {
        budget_bytes: Some(4 << 20),
        ..level.settings.clone()
    };
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, StatesPlugin))
        .add_plugins((
            FrameArenaPlugin::default(),
            FrameArenaPacePlugin::fixed_step(),
        ))
        .add_plugins(FrameArenaPacePlugin { settings, ..level })
        .insert_resource(TimeUpdateStrategy::ManualDuration(frame))
        .init_state::<Game>()
        .add_sub_state::<Running>()
        .init_resource::<Map>()
        .init_resource::<Grid>()
        .init_resource::<Score>()
        .add_message::<DamageText>()
        .add_systems(OnEnter(Game::Level), load)
        .add_systems(OnExit(Game::Level), unload)
        .add_systems(Update, show_damage)
        .add_systems(
            FixedUpdate,
            (start_field, take_field, walk, build_grid, shoot, count_step)
                .chain()
                .run_if(in_state(Running::Yes).and_then(|score: Res<Score>| score.step < 200)),
        );
    app.update();
    set(&mut app, Game::Level);
    while score(&app).step < 100 {
        app.update();
    }
    set(&mut app, Running::Paused);
    (0..50).for_each(|_| app.update());
    set(&mut app, Running::Yes);
    while score(&app).step < 200 {
        app.update();
    }
    set(&mut app, Game::Menu);
    (0..2).for_each(|_| app.update());
    let level = app.world().resource::<ArenasOf<Level>>().usage();
    assert_eq!(
        level.reserved_bytes, 0,
        "all memory of the level was returned"
    );
    let score = score(&app);
    assert_eq!(score.texts, score.hits, "no text was stale");
    println!(
        "{frames_a_second} frames a second: {} hits, {} texts",
        score.hits, score.texts
    );
    (score.health, score.hits)
}

fn set<S: bevy_state::state::FreelyMutableState>(app: &mut App, state: S) {
    app.world_mut().resource_mut::<NextState<S>>().set(state);
}

fn score(app: &App) -> &Score {
    app.world().resource()
}

const SIZE: [usize; 2] = [32, 32]; // cells of a metre
const CELLS: usize = SIZE[0] * SIZE[1];

#[derive(States, Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Game {
    #[default]
    Menu,
    Level,
}

/// A pause keeps the level, whose data would be freed when its state is left.
#[derive(SubStates, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[source(Game = Game::Level)]
enum Running {
    #[default]
    Yes,
    Paused,
}

/// Names the pace of a level.
struct Level;

#[derive(Component)]
struct Creep {
    health: i32,
}

#[derive(Component)]
struct Tower;

#[derive(Component)]
struct Position(Vec2);

/// Unchanged during a level: in `ArenasOf<Level>`.
#[derive(Resource, Default)]
struct Map(FrameHandle<[bool]>);

/// Replaced now and then during a level: in the memory of the task that made it.
#[derive(Resource)]
struct FlowField(TaskResult<[Vec2]>);

#[derive(Resource)]
struct NextField {
    task: Task<TaskResult<[Vec2]>>,
    due_step: usize,
}

/// Replaced by each step: in `ArenasOf<FixedStep>`.
#[derive(Resource, Default)]
struct Grid(FrameHandle<Cells<(Entity, Vec2)>>);

/// Written by a step, read by its frame: in `FrameArenas`.
#[derive(Message)]
struct DamageText(FrameHandle<str>);

#[derive(Resource, Default)]
struct Score {
    step: usize,
    hits: usize,
    texts: usize,
    health: i32,
}

fn load(level: Res<ArenasOf<Level>>, mut map: ResMut<Map>, mut commands: Commands) {
    map.0 = level
        .local()
        .share_iter((0..CELLS).map(|cell| cell % 8 == 4 && cell / SIZE[0] % 8 > 1));
    commands.spawn_batch((0..1_000).map(|n| {
        let position = Vec2::new((n % 32) as f32 + 0.5, (n / 32) as f32 + 0.5);
        (Creep { health: 20 }, Position(position))
    }));
    commands.spawn_batch((0..16).map(|n| {
        (
            Tower,
            Position(Vec2::new((n % 4) as f32, (n / 4) as f32) * 8.0),
        )
    }));
}

/// Drops the task, its result and the entities. The rest of the level is freed after this schedule.
fn unload(all: Query<Entity, With<Position>>, mut commands: Commands) {
    commands.remove_resource::<FlowField>();
    commands.remove_resource::<NextField>();
    all.iter()
        .for_each(|entity| commands.entity(entity).despawn());
}

fn start_field(
    level: Res<ArenasOf<Level>>,
    map: Res<Map>,
    score: Res<Score>,
    mut commands: Commands,
) {
    if !score.step.is_multiple_of(40) {
        return;
    }
    let walls = level
        .lease_handle(map.0)
        .expect("it lives as long as the level");
    // The task drops the first arena, and returns the second one with the result.
    let (temporary, arena) = (level.task_arena(), level.task_arena());
    let goal = score.step * 5;
    let task = AsyncComputeTaskPool::get().spawn(async move {
        let distance = temporary.alloc_slice_fill_copy(CELLS, u32::MAX);
        distance[goal] = 0;
        let mut queue = temporary.vec_with_capacity(CELLS);
        queue.push(goal);
        let mut next = 0;
        while let Some(&cell) = queue.get(next) {
            next += 1;
            for neighbour in neighbours(cell) {
                if !walls[neighbour] && distance[neighbour] == u32::MAX {
                    distance[neighbour] = distance[cell] + 1;
                    queue.push(neighbour);
                }
            }
        }
        let field = arena.share_iter((0..CELLS).map(|cell| {
            let best = neighbours(cell).min_by_key(|neighbour| distance[*neighbour]);
            position_of(best.unwrap_or(cell)) - position_of(cell)
        }));
        arena.finish(field)
    });
    commands.insert_resource(NextField {
        task,
        due_step: score.step + 8,
    });
}

/// Replaces the field at a step that does not depend on the speed of the task. A game would use `check_ready`.
fn take_field(next: Option<ResMut<NextField>>, score: Res<Score>, mut commands: Commands) {
    if let Some(mut next) = next.filter(|next| next.due_step == score.step) {
        commands.insert_resource(FlowField(block_on(&mut next.task)));
        commands.remove_resource::<NextField>();
    }
}

fn walk(field: Option<Res<FlowField>>, mut creeps: Query<&mut Position, With<Creep>>) {
    let Some(field) = field else { return };
    creeps.par_iter_mut().for_each(|mut position| {
        let direction = field.0[cell_of(position.0)];
        position.0 += direction * 0.1;
    });
}

fn build_grid(
    steps: Res<ArenasOf<FixedStep>>,
    creeps: Query<(Entity, &Position), With<Creep>>,
    mut grid: ResMut<Grid>,
) {
    let found = steps.collector();
    creeps.par_iter().for_each_init(
        || found.batch(),
        |batch, (entity, position)| batch.push((entity, position.0)),
    );
    grid.0 = found.share_cells_sorted_by_key(CELLS, |creep| cell_of(creep.1), |creep| creep.0);
}

fn shoot(
    (steps, frame): (Res<ArenasOf<FixedStep>>, Res<FrameArenas>),
    grid: Res<Grid>,
    towers: Query<&Position, With<Tower>>,
    mut creeps: Query<&mut Creep>,
    mut texts: MessageWriter<DamageText>,
    mut score: ResMut<Score>,
) {
    let cells = &steps[grid.0];
    for tower in &towers {
        let mut near = cells.around(cell_of(tower.0), SIZE);
        let target = near.find(|creep| creeps.get(creep.0).is_ok_and(|creep| creep.health > 0));
        let Some(mut creep) = target.and_then(|creep| creeps.get_mut(creep.0).ok()) else {
            continue;
        };
        creep.health -= 5;
        score.hits += 1;
        texts.write(DamageText(share_format!(
            frame.local(),
            "-5, {} left",
            creep.health
        )));
    }
}

fn count_step(mut score: ResMut<Score>, creeps: Query<&Creep>) {
    score.step += 1;
    score.health = creeps.iter().map(|creep| creep.health).sum();
}

/// Reads with `get`, so that a text that is read too late is skipped.
fn show_damage(
    frame: Res<FrameArenas>,
    mut texts: MessageReader<DamageText>,
    mut score: ResMut<Score>,
) {
    score.texts += texts.read().filter_map(|text| frame.get(text.0)).count();
}

fn cell_of(position: Vec2) -> usize {
    let cell = position.as_uvec2().min(UVec2::new(31, 31));
    cell.x as usize + cell.y as usize * SIZE[0]
}

fn position_of(cell: usize) -> Vec2 {
    Vec2::new((cell % SIZE[0]) as f32, (cell / SIZE[0]) as f32)
}

fn neighbours(cell: usize) -> impl Iterator<Item = usize> {
    let (x, y) = (cell % SIZE[0], cell / SIZE[0]);
    [(1, 0), (-1, 0), (0, 1), (0, -1)]
        .into_iter()
        .filter_map(move |(dx, dy)| {
            let (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
            (x < SIZE[0] && y < SIZE[1]).then_some(x + y * SIZE[0])
        })
}
