//! Which line took the memory, with the feature `sites`.
//!
//! A line that is looked for says so at its end, and is found by that in the text of this file.
#[path = "common"]
mod common {
    pub(crate) mod counting_allocator;
    pub(crate) mod log;
}

use std::thread;

use bevy_app::{App, Last, TaskPoolOptions, TaskPoolPlugin, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_frame_arena::{
    FrameArenaLogPlugin, FrameArenaPlugin, FrameArenaRecorder, FrameArenaRecorderPlugin,
    FrameArenaSettings, FrameArenas, FrameUsage, Scratch, Site, SiteUsage,
};
use common::counting_allocator::calls_in;
use common::log::logged;

/// Returns the number of the line that ends with this mark.
fn line_of(mark: &str) -> u32 {
    let end = format!("// {mark}");
    let mut lines = include_str!("sites.rs").lines();
    let index = lines.position(|line| line.ends_with(&end));
    index.expect("a line has the mark") as u32 + 1
}

/// Returns the figures of the line that ends with this mark.
fn site(usage: &FrameUsage, mark: &str) -> Option<SiteUsage> {
    let line = line_of(mark);
    let file = file!();
    let mut sites = usage.sites.iter().copied();
    sites.find(|it| it.site == Site::Line { file, line })
}

/// Returns how often a line asked, and what it took.
fn figures(usage: &FrameUsage, mark: &str) -> (u64, usize) {
    site(usage, mark).map_or((0, 0), |site| (site.look_ups, site.used_bytes))
}

fn sum_of_bytes(usage: &FrameUsage) -> usize {
    usage.sites.iter().map(|site| site.used_bytes).sum()
}

#[derive(Component)]
struct Unit;

fn two_lists(arenas: Res<FrameArenas>) {
    let arena = arenas.local(); // large
    arena.alloc([0_u8; 4000]);
    arenas.local().alloc([0_u8; 800]); // small
    arena.alloc([0_u8; 80]);
}

fn in_parallel(arenas: Res<FrameArenas>, units: Query<&Unit>) {
    units.par_iter().for_each(|_| {
        arenas.local().alloc([0_u8; 16]); // parallel
    });
}

fn with_a_nested_one(world: &mut World) {
    let arenas = world.resource::<FrameArenas>();
    arenas.local().alloc([0_u8; 160]); // around
    world.run_system_cached(nested).expect("it runs");
    let arenas = world.resource::<FrameArenas>();
    arenas.local().alloc([0_u8; 240]); // afterwards
}

fn nested(arenas: Res<FrameArenas>) {
    arenas.local().alloc([0_u8; 320]); // nested
}

fn game() -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: TaskPoolOptions::with_num_threads(3),
        },
        FrameArenaPlugin::default(),
    ))
    .add_systems(Update, (two_lists, in_parallel, with_a_nested_one).chain());
    app.world_mut().spawn_batch((0..1000).map(|_| Unit));
    app
}

#[test]
fn each_line_has_the_bytes_it_took_on_all_workers() {
    let mut app = game();
    for frame in 0..if cfg!(miri) { 2 } else { 20 } {
        app.update();
        app.world_mut().resource_mut::<FrameArenas>().swap();
        let usage = app.world().resource::<FrameArenas>().usage();
        assert_eq!(figures(usage, "large"), (1, 4000), "frame {frame}");
        assert_eq!(figures(usage, "small"), (1, 880), "{:?}", usage.sites);
        assert_eq!(figures(usage, "parallel"), (1000, 16_000), "frame {frame}");
        assert_eq!(figures(usage, "around"), (1, 160), "frame {frame}");
        assert_eq!(figures(usage, "nested"), (1, 320), "frame {frame}");
        assert_eq!(figures(usage, "afterwards"), (1, 240), "frame {frame}");
        assert_eq!(usage.sites.len(), 6);
        assert_eq!(sum_of_bytes(usage), usage.used_bytes);
        assert_eq!(
            usage.sites.first().copied(),
            site(usage, "parallel"),
            "most comes first"
        );
    }
}

#[test]
fn what_is_taken_after_a_nested_look_up_counts_for_that() {
    let mut arenas = FrameArenas::default();
    let arena = arenas.local(); // outer
    arena.alloc([0_u8; 160]);
    arenas.local().alloc([0_u8; 320]); // inner
    arena.alloc([0_u8; 80]);
    arenas.swap();
    assert_eq!(figures(arenas.usage(), "outer"), (1, 160));
    assert_eq!(figures(arenas.usage(), "inner"), (1, 400));
    arenas.swap();
    assert!(arenas.usage().sites.is_empty(), "nobody asked");
}

#[test]
fn who_frees_what_another_took_has_nothing() {
    let mut arenas = FrameArenas::default();
    let kept = arenas.local().boxed([0_u8; 800]); // taker
    arenas.local(); // freer
    drop(kept);
    arenas.swap();
    assert_eq!(figures(arenas.usage(), "taker"), (1, 800));
    assert_eq!(figures(arenas.usage(), "freer"), (1, 0));
    assert_eq!(arenas.usage().used_bytes, 0);
}

#[test]
fn a_peak_counts_what_a_line_freed_again() {
    let mut arenas = FrameArenas::default();
    let peak = |arenas: &FrameArenas, mark| {
        site(arenas.usage(), mark).map(|it| (it.used_bytes, it.peak_bytes))
    };
    for _ in 0..3 {
        let arena = arenas.local(); // temporary
        drop(arena.boxed([0_u8; 800]));
        arena.alloc([0_u8; 80]);
        let held = arenas.local().boxed([0_u8; 160]); // holder
        let arena = arenas.local(); // between
        drop(held);
        arena.alloc([0_u8; 40]);
        arenas.local().alloc([0_u8; 16]); // holder, again
        drop(arenas.local().boxed([0_u8; 320])); // last
        arenas.swap();
        assert_eq!(peak(&arenas, "temporary"), Some((80, 800)));
        assert_eq!(peak(&arenas, "holder"), Some((160, 160)));
        assert_eq!(peak(&arenas, "between"), Some((0, 0)));
        assert_eq!(peak(&arenas, "holder, again"), Some((16, 16)));
        assert_eq!(peak(&arenas, "last"), Some((0, 320)));
    }
}

#[test]
fn two_look_ups_on_one_line_are_one_site_with_no_more_than_the_frame() {
    let mut arenas = FrameArenas::default();
    for _ in 0..3 {
        let (all, large, small) = (&arenas, [0_u8; 4096], [0_u8; 512]);
        let both = (all.local().boxed(large), all.local().boxed(small)); // both
        drop(both);
        arenas.swap();
        let usage = arenas.usage();
        let both = site(usage, "both").expect("it took memory");
        assert_eq!(both.look_ups, 2);
        assert_eq!(both.peak_bytes, usage.peak_bytes);
        assert_eq!(both.peak_bytes, 4608);
    }
}

#[test]
fn peaks_of_workers_add_up() {
    let mut arenas = FrameArenas::default();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    drop(arenas.local().boxed([0_u8; 1000])); // many
                    arenas.local().alloc([0_u8; 8]); // few
                }
            });
        }
    });
    arenas.swap();
    let many = site(arenas.usage(), "many").expect("it asked");
    assert_eq!(many.look_ups, 40);
    assert_eq!((many.used_bytes, many.peak_bytes), (0, 4000));
    let few = site(arenas.usage(), "few").expect("it asked");
    assert_eq!((few.used_bytes, few.peak_bytes), (320, 320));
}

#[test]
fn the_last_line_of_a_frame_does_not_count_for_the_next() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 4096,
        ..Default::default()
    });
    for bytes in [9000, 100, 3000, 8] {
        arenas.local().alloc_slice_fill_copy(bytes, 0_u8); // same
        arenas.local().share(String::from("dropped later")); // with a destructor
        arenas.swap();
        let same = site(arenas.usage(), "same").expect("it asked");
        let expected = bytes.next_multiple_of(8);
        assert_eq!((same.used_bytes, same.peak_bytes), (expected, expected));
        assert_eq!(same.look_ups, 1);
    }
}

#[test]
fn blocks_that_are_chained_count_for_the_line_that_fills_them() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 4096,
        ..Default::default()
    });
    for _ in 0..3 {
        for _ in 0..10 {
            arenas.local().alloc([0_u8; 1000]); // chaining
            arenas.local().alloc([0_u8; 8]); // beside
        }
        arenas.swap();
        let usage = arenas.usage();
        assert_eq!(figures(usage, "chaining").1 + 80, usage.used_bytes);
        assert_eq!(figures(usage, "beside"), (10, 80));
    }
}

#[test]
fn a_collector_counts_for_the_lines_that_use_it() {
    let mut arenas = FrameArenas::default();
    let collector = arenas.collector();
    thread::scope(|scope| {
        scope.spawn(|| {
            collector.batch().extend(0..1000_u64); // batch
        });
        scope.spawn(|| collector.push(1)); // push
    });
    let list = collector.share_sorted(); // shared
    assert_eq!(arenas[list].len(), 1001);
    arenas.swap();
    let usage = arenas.usage();
    assert!(figures(usage, "batch").1 >= 8000, "{:?}", usage.sites);
    assert!(figures(usage, "push").1 >= 8);
    assert_eq!(figures(usage, "shared").1, 8008);
    assert_eq!(
        usage.sites.len(),
        3,
        "no line of the crate: {:?}",
        usage.sites
    );
    assert_eq!(sum_of_bytes(usage), usage.used_bytes);
}

#[test]
fn scratch_counts_for_the_line_that_took_it_with_the_most_at_once() {
    let mut arenas = FrameArenas::default();
    for bytes in [100, 3000, 200] {
        let mut scratch = arenas.scratch(); // loop
        drop(scratch.boxed([0_u64; 2]));
        scratch.reset();
        scratch.alloc_slice_fill_copy(bytes, 0_u8);
        let inside = arenas.scratch(); // within
        inside.alloc([0_u8; 64]);
    }
    arenas.swap();
    let of = |mark| site(arenas.usage(), mark).map(|it| (it.look_ups, it.scratch_bytes));
    assert_eq!(of("loop"), Some((3, 3000)));
    assert_eq!(of("within"), Some((3, 64)));
    assert_eq!(sum_of_bytes(arenas.usage()), 0);
}

#[test]
fn scratch_of_a_system_counts_for_the_system() {
    fn sort_keys(scratch: Scratch) {
        scratch.alloc([0_u8; 400]);
    }
    let mut world = World::new();
    world.init_resource::<FrameArenas>();
    for _ in 0..3 {
        world.run_system_cached(sort_keys).expect("it runs");
        world.resource_mut::<FrameArenas>().swap();
        let usage = world.resource::<FrameArenas>().usage();
        let [taken] = &*usage.sites else {
            panic!("one site: {:?}", usage.sites);
        };
        let Site::System(name) = taken.site else {
            panic!("a system: {:?}", taken.site);
        };
        // Bevy may be built without the names of systems, and then says so in their place.
        let is_named = name.ends_with("sort_keys") || name.contains("debug");
        assert!(is_named, "{name}");
        assert_eq!((taken.look_ups, taken.scratch_bytes), (1, 400));
    }
}

#[test]
fn scratch_that_was_freed_by_a_guard_or_a_reset_counts_with_its_peak() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 4096,
        ..Default::default()
    });
    for _ in 0..3 {
        let scratch = arenas.scratch(); // scoped
        drop(scratch.boxed([0_u8; 9000]));
        scratch.alloc([0_u8; 8]);
        drop(scratch);
        let mut scratch = arenas.scratch(); // reset
        scratch.share(String::from("dropped by the reset"));
        scratch.alloc([0_u8; 7000]);
        scratch.reset();
        drop(scratch);
        arenas.swap();
        let bytes = |mark| site(arenas.usage(), mark).map(|it| it.scratch_bytes);
        assert_eq!(bytes("scoped"), Some(9000));
        assert!(bytes("reset") >= Some(7000), "{:?}", arenas.usage().sites);
        assert!(bytes("reset") < Some(7100), "{:?}", arenas.usage().sites);
    }
}

#[test]
fn a_forgotten_guard_counts_too() {
    let mut arenas = FrameArenas::default();
    let scratch = arenas.scratch(); // forgotten
    scratch.alloc([0_u8; 640]);
    std::mem::forget(scratch);
    arenas.swap();
    let forgotten = site(arenas.usage(), "forgotten");
    assert_eq!(forgotten.map(|it| it.scratch_bytes), Some(640));
}

#[test]
fn lines_beyond_the_table_are_counted_together() {
    // Each in a line of its own.
    #[rustfmt::skip]
    let ask: [fn(&FrameArenas); 100] = [
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
        |a| _ = a.local(),
    ];
    let mut arenas = FrameArenas::default();
    for _ in 0..3 {
        for ask in ask {
            ask(&arenas);
            arenas.local().alloc(1_u64); // counted
        }
        arenas.swap();
        let usage = arenas.usage();
        let others = usage.sites.iter().find(|it| it.site == Site::Others);
        let others = others.expect("there are more places than rows");
        assert_eq!(others.site.to_string(), "other lines");
        assert_eq!(figures(usage, "counted"), (100, 800));
        assert_eq!(
            usage.sites.iter().map(|site| site.look_ups).sum::<u64>(),
            200
        );
    }
}

#[test]
fn stale_look_ups_and_refusals_count_for_their_lines() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_limit_bytes: Some(4096),
        ..Default::default()
    });
    let handle = arenas.local().share(1);
    arenas.swap();
    arenas.swap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert_eq!(arenas.get(handle), None); // stale
                }
            });
        }
    });
    assert!(arenas.resolve(handle).is_err()); // resolved
    assert!(arenas.lease().get(handle).is_none()); // leased
    assert!(arenas.local().try_alloc([0_u8; 5000]).is_err()); // refused
    arenas.swap();
    let stale = |mark| site(arenas.usage(), mark).map(|it| it.stale_lookups);
    assert_eq!(stale("stale"), Some(400));
    assert_eq!(stale("resolved"), Some(1));
    assert_eq!(stale("leased"), Some(1));
    assert_eq!(arenas.usage().stale_lookups, 402);
    let refused = site(arenas.usage(), "refused");
    assert_eq!(refused.map(|it| (it.refusals, it.used_bytes)), Some((1, 0)));
}

#[test]
fn log_and_record_name_the_line() {
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin {
            settings: FrameArenaSettings {
                worker_limit_bytes: Some(1 << 20),
                ..Default::default()
            },
            ..Default::default()
        },
        FrameArenaLogPlugin::default(),
        FrameArenaRecorderPlugin::default(),
    ));
    // So that it logs on this thread.
    app.edit_schedule(Last, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    let arenas = app.world().resource::<FrameArenas>();
    arenas.local().alloc_slice_fill_copy(1 << 20, 0_u8); // shown
    let lines = logged(|| app.update());

    let name = format!("{}:{}", file!(), line_of("shown"));
    let warning = format!("Largest at {name}: 1.0 MiB");
    assert!(
        lines.iter().any(|line| line.ends_with(&warning)),
        "{lines:?}"
    );
    let line = format!("largest at {name} (1.0 MiB)");
    assert!(lines.iter().any(|it| it.ends_with(&line)), "{lines:?}");
    let table = app.world().resource::<FrameArenaRecorder>().csv();
    assert!(
        table.contains(&format!("frame_arena,site,{name},1048576,")),
        "{table}"
    );
}

#[test]
fn a_warm_frame_calls_no_global_allocator() {
    let mut arenas = FrameArenas::default();
    let mut copy = FrameUsage::default();
    let mut frame = || {
        arenas.local().alloc([0_u8; 100]);
        arenas.scratch().alloc([0_u8; 100]);
        arenas.local().alloc([0_u8; 100]);
        arenas.swap();
        copy.clone_from(arenas.usage());
    };
    (0..4).for_each(|_| frame());
    assert_eq!(calls_in(|| (0..10).for_each(|_| frame())), 0);
    assert_eq!(copy.sites.len(), 3);
}
