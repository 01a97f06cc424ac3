//! Goal: see how long data lives at 144 frames a second: for a frame, a fixed step, a level, or until it
//! is removed.

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
        .init_resource::<Pool<Arrow>>()
        .add_message::<Order>()
        .add_systems(OnEnter(Game::Playing), load_map)
        .add_systems(FixedUpdate, (fly, obey).chain())
        .add_systems(Update, (see_enemies, give_order).run_if(run_once))
        .add_systems(Last, show)
        .add_systems(OnExit(Game::Playing), save_score);
    println!("frame  step | enemies   order     arrow     map");
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

/// Names the pace that `OnExit(Game::Playing)` ends.
struct Level;

/// Handles and keys of data at different paces. Unset at first.
#[derive(Resource, Default)]
struct Shared {
    enemies: FrameHandle<[u32]>,
    order: FrameHandle<str>,
    arrow: Option<PoolKey<Arrow>>,
    map: FrameHandle<[Tile]>,
}

/// From a frame to the next fixed step, which may be in a later frame.
#[derive(Message)]
struct Order(FrameHandle<str>);

/// Lives until it is removed, whichever periods end meanwhile.
struct Arrow {
    steps_left: u32,
}

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

fn obey(
    arenas: Res<ArenasOf<FixedStep>>,
    mut orders: MessageReader<Order>,
    mut arrows: ResMut<Pool<Arrow>>,
    mut shared: ResMut<Shared>,
) {
    for order in orders.read() {
        let step = arenas.period();
        println!("            | step {step} obeys: {}", &arenas[order.0]);
        shared.arrow = Some(arrows.insert(Arrow { steps_left: 2 }));
    }
}

fn fly(mut arrows: ResMut<Pool<Arrow>>) {
    arrows.retain(|_, arrow| {
        arrow.steps_left -= 1;
        arrow.steps_left > 0
    });
}

/// The data of the level is still readable in the schedule that ends it.
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
    arrows: Res<Pool<Arrow>>,
    shared: Res<Shared>,
) {
    let word = |is_there| if is_there { "readable" } else { "gone" };
    let arrow = shared.arrow.map(|key| word(arrows.get(key).is_some()));
    println!(
        "{:5} {:5} | {:8}  {:8}  {:8}  {}",
        frame.period(),
        step.period(),
        word(frame.get(shared.enemies).is_some()),
        word(step.get(shared.order).is_some()),
        arrow.unwrap_or_default(),
        word(level.get(shared.map).is_some()),
    );
}
