//! Goal: see what lives for a frame, for a fixed step and for a level, at 144 frames a second.

use std::time::Duration;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;
use bevy_state::app::StatesPlugin;
use bevy_state::prelude::*;
use bevy_time::{TimePlugin, TimeUpdateStrategy};

fn main() {
    let frame_time = Duration::from_secs(1) / 144;
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, StatesPlugin))
        .insert_resource(TimeUpdateStrategy::ManualDuration(frame_time))
        .init_state::<Game>()
        .add_plugins((
            FrameArenaPlugin::default(),
            FrameArenaPacePlugin::fixed_step(),
            FrameArenaPacePlugin::<Level>::ending_with(OnExit(Game::Playing)),
        ))
        .init_resource::<Shared>()
        .add_message::<Order>()
        .add_systems(OnEnter(Game::Playing), load_map)
        .add_systems(FixedUpdate, obey)
        .add_systems(Update, (see_enemies, give_order).run_if(run_once))
        .add_systems(Last, show)
        .add_systems(OnExit(Game::Playing), save_score);
    println!("frame  step | enemies   order     map");
    for frame in 1..=10 {
        if frame == 9 {
            let mut next = app.world_mut().resource_mut::<NextState<Game>>();
            next.set(Game::Menu);
        }
        app.update();
    }
}

#[derive(States, Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Game {
    #[default]
    Playing,
    Menu,
}

/// Names a pace: what `OnExit(Game::Playing)` ends.
struct Level;

/// What was shared, each at its own pace. Unset at first.
#[derive(Resource, Default)]
struct Shared {
    enemies: FrameHandle<[u32]>,
    order: FrameHandle<str>,
    map: FrameHandle<[Tile]>,
}

/// From a frame to the next fixed step, which may be in a later frame.
#[derive(Message)]
struct Order(FrameHandle<str>);

/// Has a destructor, which runs when the level ends.
struct Tile {
    _name: String,
}

fn load_map(arenas: Res<ArenasOf<Level>>, mut shared: ResMut<Shared>) {
    let tiles = (0..1000).map(|i| Tile {
        _name: format!("tile {i}"),
    });
    shared.map = arenas.local().share_iter(tiles);
}

fn see_enemies(arenas: Res<FrameArenas>, mut shared: ResMut<Shared>) {
    shared.enemies = arenas.local().share_slice_copy(&[3, 5, 8]);
}

/// A message is allocated at the pace of its reader.
fn give_order(
    arenas: Res<ArenasOf<FixedStep>>,
    mut shared: ResMut<Shared>,
    mut orders: MessageWriter<Order>,
) {
    shared.order = arenas.local().share_str("attack");
    orders.write(Order(shared.order));
}

fn obey(arenas: Res<ArenasOf<FixedStep>>, mut orders: MessageReader<Order>) {
    for order in orders.read() {
        println!(
            "            | step {} obeys: {}",
            arenas.frame(),
            &arenas[order.0]
        );
    }
}

/// The level is still there for the systems that see it off.
fn save_score(arenas: Res<ArenasOf<Level>>, shared: Res<Shared>) {
    println!(
        "            | the level ends with {} tiles",
        arenas[shared.map].len()
    );
}

fn show(
    frame: Res<FrameArenas>,
    step: Res<ArenasOf<FixedStep>>,
    level: Res<ArenasOf<Level>>,
    shared: Res<Shared>,
) {
    let word = |is_there| if is_there { "readable" } else { "gone" };
    println!(
        "{:5} {:5} | {:8}  {:8}  {}",
        frame.frame(),
        step.frame(),
        word(frame.get(shared.enemies).is_some()),
        word(step.get(shared.order).is_some()),
        word(level.get(shared.map).is_some()),
    );
}
