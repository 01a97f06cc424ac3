//! Objects and blocks that come and go one by one, all contenders side by side:
//! `cargo bench --features free_list --bench objects`, or `-- --quick` for a first look.

mod blocks;
#[path = "../common/objects.rs"]
mod containers;
#[path = "../frames/counting.rs"]
mod counting;
#[path = "../common/freeing.rs"]
mod freeing;
mod particles;
#[path = "../versus/race.rs"]
mod race;

use std::hint::black_box;
use std::time::Duration;

use bevy_frame_arena::Pool;
use slab::Slab;
use slotmap::{DefaultKey, SlotMap};

use crate::containers::{OBJECTS, Object, Objects};
use crate::race::{Effort, Runner, race};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if !has("--bench") {
        println!("a benchmark: run it with `cargo bench --bench objects`");
        return;
    }
    let milliseconds = if has("--quick") { 400 } else { 3500 };
    let effort = Effort {
        per_race: Duration::from_millis(milliseconds),
    };
    println!("Nanoseconds for one operation.");
    let churn = vec![
        churner::<Pool<Object>>(),
        churner::<SlotMap<DefaultKey, Object>>(),
        churner::<thunderdome::Arena<Object>>(),
        churner::<Slab<Object>>(),
    ];
    race(effort, "object of 64 bytes, made and removed", UNITS, churn);
    let look_up = vec![
        finder::<Pool<Object>>(),
        finder::<SlotMap<DefaultKey, Object>>(),
        finder::<thunderdome::Arena<Object>>(),
        finder::<Slab<Object>>(),
    ];
    race(
        effort,
        "object looked up, in any order",
        UNITS * REPEATS,
        look_up,
    );
    for (title, step) in [
        ("object visited, no slot vacant", 1),
        ("object visited, every second slot vacant", 2),
    ] {
        let mut visits = vec![
            visitor::<Pool<Object>>(step),
            visitor::<SlotMap<DefaultKey, Object>>(step),
            visitor::<thunderdome::Arena<Object>>(step),
            visitor::<Slab<Object>>(step),
        ];
        if step == 1 {
            let list: Vec<Object> = (0..OBJECTS).map(|n| [n; 8]).collect();
            visits.push(Runner::new("a dense list (`Vec`)", move || {
                for _ in 0..REPEATS {
                    let sum: u64 = black_box(&list).iter().map(|object| object[0]).sum();
                    black_box(sum);
                }
            }));
        }
        race(effort, title, UNITS * REPEATS, visits);
    }
    blocks::run_all(effort);
    particles::run_all(effort);
}

const UNITS: u32 = OBJECTS as u32;

/// Visits in a round: one takes less than a clock can tell.
const REPEATS: u32 = 20;

/// Fills all slots that are vacant and empties them, among as many that stay.
fn churner<O: Objects + 'static>() -> Runner<'static> {
    let mut objects = with_vacant_slots::<O>(2).0;
    let mut keys = Vec::with_capacity(OBJECTS as usize);
    Runner::new(O::NAME, move || {
        for n in 0..OBJECTS {
            keys.push(objects.insert(black_box([n; 8])));
        }
        for key in keys.drain(..) {
            black_box(objects.remove(key));
        }
    })
}

fn finder<O: Objects + 'static>() -> Runner<'static> {
    let (objects, keys) = with_vacant_slots::<O>(1);
    let count = keys.len();
    let keys: Vec<_> = (0..count).map(|n| keys[n * 377 % count]).collect();
    Runner::new(O::NAME, move || {
        for _ in 0..REPEATS {
            let found = black_box(&keys).iter().filter_map(|&key| objects.get(key));
            black_box(found.map(|object| object[0]).sum::<u64>());
        }
    })
}

fn visitor<O: Objects + 'static>(step: usize) -> Runner<'static> {
    let objects = with_vacant_slots::<O>(step).0;
    Runner::new(O::NAME, move || {
        for _ in 0..REPEATS {
            black_box(black_box(&objects).sum());
        }
    })
}

/// Makes as many objects, in every `step`th slot.
fn with_vacant_slots<O: Objects>(step: usize) -> (O, Vec<O::Key>) {
    let mut objects = O::default();
    let all: Vec<_> = (0..OBJECTS * step as u64)
        .map(|n| objects.insert([n; 8]))
        .collect();
    let mut keys = Vec::new();
    for (n, key) in all.into_iter().enumerate() {
        if n % step == 0 {
            keys.push(key);
        } else {
            objects.remove(key);
        }
    }
    (objects, keys)
}
