//! What the overlay says is what `usage()` says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bevy_app::{App, Plugin};
use bevy_ecs::system::RunSystemOnce;
use bevy_frame_arena::{
    ArenasOf, FrameArenaOverlay, FrameArenaOverlayConfig, FrameArenaPacePlugin, FrameArenaSettings,
    FrameArenas,
};
use bevy_text::TextFont;

use super::screen::{allocate, app, is_shown, percent, report, text};

const KIB: usize = 1 << 10;

/// Places for workers.
const PLACES: usize = 12;

/// A size as the overlay writes it, worked out anew.
fn size(bytes: usize) -> String {
    let (mut amount, mut unit) = (bytes as f64, 0);
    if bytes < KIB {
        return format!("{bytes} B");
    }
    while amount >= 1023.5 || unit == 0 {
        amount /= 1024.0;
        unit += 1;
    }
    let unit = ["B", "KiB", "MiB", "GiB"][unit];
    match amount < 9.95 {
        true => format!("{amount:.1} {unit}"),
        false => format!("{amount:.0} {unit}"),
    }
}

fn with_details() -> FrameArenaOverlayConfig {
    FrameArenaOverlayConfig {
        details: true,
        ..Default::default()
    }
}

fn part(bytes: usize, whole: usize) -> f32 {
    match whole {
        0 => 0.0,
        _ => (bytes as f32 / whole as f32 * 100.0).min(100.0),
    }
}

/// Random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % below
    }
}

/// Reads everything that is about the frame back, and compares it with its figures.
fn compare_with_usage(app: &mut App) {
    let shown = report(app).clone();
    let usage = app.world().resource::<FrameArenas>().usage();
    assert_eq!(shown.usage, *usage);
    let usage = shown.usage;
    let whole = usage.high_watermark_bytes.max(usage.peak_bytes);
    let whole = shown.settings.budget_bytes.unwrap_or(whole);
    for (name, bytes) in [
        ("used", usage.used_bytes),
        ("peak", usage.peak_bytes),
        ("reserved", usage.reserved_bytes),
    ] {
        let path = format!("frame_arena/{name}");
        assert_eq!(text(app, &path), format!("{name} {}", size(bytes)));
        // Without a budget, reserved memory would always fill the bar.
        let is_in_bar = name != "reserved" || shown.settings.budget_bytes.is_some();
        let expected = if is_in_bar { part(bytes, whole) } else { 0.0 };
        let bar = percent(app, &format!("{path}/bar"));
        assert_eq!(bar, expected, "{path}");
    }
    let workers = usage.active_workers;
    let plural = if workers == 1 { "" } else { "s" };
    assert_eq!(
        text(app, "frame_arena/period"),
        format!("{workers} worker{plural}, frame {}", usage.period)
    );
    assert_eq!(
        text(app, "frame_arena/workers/sum"),
        format!("sum {}", size(usage.peak_bytes))
    );

    // The cells add up to the same sum.
    let mut left = usage.workers.clone();
    let mut sum = 0;
    for place in 0..PLACES {
        let cell = text(app, &format!("frame_arena/workers/{place}"));
        let bar = percent(app, &format!("frame_arena/workers/{place}/bar"));
        if let Some(rest) = cell.strip_prefix('+') {
            let bytes = left.iter().map(|worker| worker.peak_bytes).sum();
            let expected = match bytes {
                0 => format!("{} idle", left.len()),
                bytes => format!("{}: {}", left.len(), size(bytes)),
            };
            assert_eq!(rest, expected);
            sum += bytes;
            break;
        }
        let Some((name, amount)) = cell.split_once(' ') else {
            assert!(left.is_empty(), "{left:?} have no cell");
            break;
        };
        let number = name.trim_start_matches("!C");
        let number = number.trim_start_matches('C');
        let thread = format!("Compute Task Pool ({number})");
        let index = left.iter().position(|worker| *worker.name == *thread);
        let worker = left.remove(index.expect("each cell has its worker"));
        assert_eq!(amount, size(worker.peak_bytes));
        assert_eq!(bar, part(worker.peak_bytes, worker.held_bytes));
        assert!(!name.starts_with('!'), "there is no limit");
        sum += worker.peak_bytes;
    }
    assert_eq!(sum, usage.peak_bytes);
}

#[test]
fn a_thousand_random_frames_are_shown_as_they_were() {
    let settings = FrameArenaSettings {
        block_bytes: 64 * KIB,
        ..Default::default()
    };
    let config = FrameArenaOverlayConfig {
        worker_places: PLACES,
        ..with_details()
    };
    let mut app = app(settings, config);
    let mut dice = Dice(7);
    for _ in 0..1000 {
        for _ in 0..dice.roll(4) {
            let thread = format!("Compute Task Pool ({})", dice.roll(20));
            let blocks = [dice.roll(40 * KIB), dice.roll(40 * KIB), dice.roll(100)];
            allocate(&app, &thread, &blocks);
        }
        app.update();
        compare_with_usage(&mut app);
    }
}

#[test]
fn idle_workers_are_folded_and_come_back() {
    let mut app = app(FrameArenaSettings::default(), with_details());
    for number in 0..20 {
        allocate(&app, &format!("Compute Task Pool ({number})"), &[8]);
    }
    for _ in 0..70 {
        for number in [11, 2] {
            allocate(&app, &format!("Compute Task Pool ({number})"), &[2 * KIB]);
        }
        app.update();
    }
    let cells =
        |app: &mut App| [0, 1, 2, 3].map(|n| text(app, &format!("frame_arena/workers/{n}")));
    assert_eq!(
        cells(&mut app),
        ["C2 2.0 KiB", "C11 2.0 KiB", "+18 idle", ""]
    );
    allocate(&app, "Compute Task Pool (3)", &[16]);
    app.update();
    assert_eq!(
        cells(&mut app),
        ["C2 0 B", "C3 16 B", "C11 0 B", "+17 idle"]
    );
}

#[test]
fn workers_have_short_names_in_the_order_of_their_numbers() {
    let config = FrameArenaOverlayConfig {
        worker_places: PLACES,
        ..with_details()
    };
    let mut app = app(FrameArenaSettings::default(), config);
    for (thread, bytes) in [
        ("Compute Task Pool (10)", 16),
        ("Compute Task Pool (9)", 8),
        ("main", 8),
        ("IO Task Pool (1)", 8),
        ("Async Compute Task Pool (2)", 8),
        ("Render thread", 8),
        ("loader (7)", 8),
        ("loader (1007)", 8),
        ("Fäden (7)", 8),
        ("(x)", 8),
    ] {
        allocate(&app, thread, &[bytes]);
    }
    app.update();
    let expected = [
        "(x) 8 B",
        "Rend 8 B",
        "main 8 B",
        "A2 8 B",
        "C9 8 B",
        "C10 16 B",
        "Fäd7 8 B",
        "IO1 8 B",
        "loa7 8 B",
        "l1007 8 B",
    ];
    for (place, expected) in expected.into_iter().enumerate() {
        let cell = text(&mut app, &format!("frame_arena/workers/{place}"));
        assert_eq!(cell, expected);
    }
}

/// Returns a problem and its cure.
fn problem(app: &mut App, index: usize) -> [String; 2] {
    ["what", "cure"].map(|part| text(app, &format!("frame_arena/problems/{index}/{part}")))
}

#[test]
fn problems_are_there_in_words_with_what_to_do() {
    let settings = FrameArenaSettings {
        worker_limit_bytes: Some(4 * KIB),
        ..Default::default()
    };
    let mut app = app(settings, FrameArenaOverlayConfig::default());
    app.update();
    assert!(!is_shown(&mut app, "frame_arena/problems/0/what"));

    let arenas = app.world().resource::<FrameArenas>();
    let handle = arenas.local().share(1);
    for _ in 0..3 {
        allocate(&app, "Compute Task Pool (5)", &[3 * KIB]);
        let arenas = app.world().resource::<FrameArenas>();
        assert!(arenas.local().try_alloc([0_u8; 5 * KIB]).is_err());
        app.update();
        let arenas = app.world().resource::<FrameArenas>();
        arenas.get(handle);
        let look_up = || assert_eq!(arenas[handle], 1);
        let panics = catch_unwind(AssertUnwindSafe(look_up)).is_err();
        assert_eq!(panics, arenas.period() > 2);
    }
    app.update();
    assert!(is_shown(&mut app, "frame_arena/problems/0/what"));
    assert_eq!(
        problem(&mut app, 0),
        [
            "! REFUSED 3 in 6 s: a worker may take 4.0 KiB",
            "  raise worker_limit_bytes to 16 KiB"
        ]
    );
    let [stale, cure] = problem(&mut app, 1);
    assert!(
        stale.starts_with("! STALE 2 panics in 6 s, figures.rs:"),
        "{stale}"
    );
    assert_eq!(cure, "  read it with get, or share it anew each frame");
    // They are gone when the graph no longer shows their time.
    for _ in 0..60 {
        app.update();
    }
    assert!(!is_shown(&mut app, "frame_arena/problems/0/what"));
    assert!(!is_shown(&mut app, "frame_arena/problems/1/cure"));
}

#[test]
fn limits_are_there_in_words() {
    let settings = FrameArenaSettings {
        worker_limit_bytes: Some(4 * KIB),
        ..Default::default()
    };
    let mut app = app(settings, with_details());
    allocate(&app, "Compute Task Pool (5)", &[4000]);
    app.update();
    assert_eq!(
        problem(&mut app, 0),
        [
            "! ABOVE 90 %: C5 took 3.9 KiB of 4.0 KiB",
            "  raise worker_limit_bytes to 8.0 KiB"
        ]
    );
    assert_eq!(text(&mut app, "frame_arena/workers/0"), "!C5 3.9 KiB");
}

#[test]
fn the_worst_problem_is_the_first_whenever_it_began() {
    let settings = FrameArenaSettings {
        worker_limit_bytes: Some(4 * KIB),
        ..Default::default()
    };
    let mut app = app(settings, FrameArenaOverlayConfig::default());
    allocate(&app, "Compute Task Pool (5)", &[4000]);
    app.update();
    assert!(problem(&mut app, 0)[0].starts_with("! ABOVE 90 %"));
    let arenas = app.world().resource::<FrameArenas>();
    assert!(arenas.local().try_alloc([0_u8; 5 * KIB]).is_err());
    app.update();
    assert!(problem(&mut app, 0)[0].starts_with("! REFUSED 1 in 6 s"));
    assert!(problem(&mut app, 1)[0].starts_with("! ABOVE 90 %"));
}

#[test]
fn leases_that_pile_up_are_there_in_words() {
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    let mut leases = Vec::new();
    for _ in 0..6 {
        leases.push(app.world().resource::<FrameArenas>().lease());
        app.update();
    }
    let parked = app.world().resource::<FrameArenas>().usage().parked;
    assert!(parked > 3);
    assert_eq!(
        problem(&mut app, 0),
        [
            format!("! PARKED {parked} generations: leases are held"),
            "  drop each FrameLease when its reader is done".to_owned()
        ]
    );
}

#[test]
fn without_a_budget_the_bar_is_against_the_highest_peak() {
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    allocate(&app, "Compute Task Pool (0)", &[64 * KIB]);
    app.update();
    allocate(&app, "Compute Task Pool (0)", &[16 * KIB]);
    app.update();
    assert_eq!(text(&mut app, "frame_arena/whole"), "highest 64 KiB");
    assert_eq!(percent(&mut app, "frame_arena/used/bar"), 25.0);
    assert_eq!(percent(&mut app, "frame_arena/reserved/bar"), 0.0);
}

#[test]
fn tasks_have_a_line_while_there_are_any() {
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    app.update();
    assert!(!is_shown(&mut app, "frame_arena/tasks"));
    let arenas = app.world().resource::<FrameArenas>();
    let task = arenas.task_arena();
    task.alloc([0_u8; 1000]);
    app.update();
    let held = app.world().resource::<FrameArenas>().usage().task_bytes;
    assert_eq!(
        text(&mut app, "frame_arena/tasks"),
        format!("1 task, 0 results: {}", size(held))
    );
    assert!(is_shown(&mut app, "frame_arena/tasks"));
    drop(task);
    (0..2).for_each(|_| app.update());
    assert!(!is_shown(&mut app, "frame_arena/tasks"));
}

#[test]
fn a_budget_is_the_whole_of_the_bar() {
    let settings = FrameArenaSettings {
        budget_bytes: Some(1 << 20),
        ..Default::default()
    };
    let mut app = app(settings, FrameArenaOverlayConfig::default());
    allocate(&app, "Compute Task Pool (0)", &[32 * KIB]);
    app.update();
    assert_eq!(text(&mut app, "frame_arena/whole"), "budget 1.0 MiB");
    assert_eq!(percent(&mut app, "frame_arena/used/bar"), 3.125);
    let reserved = report(&app).usage.reserved_bytes;
    let bar = percent(&mut app, "frame_arena/reserved/bar");
    assert_eq!(bar, part(reserved, 1 << 20));
}

#[test]
fn it_is_refreshed_no_more_often_than_asked_for() {
    let config = FrameArenaOverlayConfig {
        refresh_interval: super::screen::FRAME_TIME * 5,
        ..with_details()
    };
    let mut app = app(FrameArenaSettings::default(), config);
    let mut shown = Vec::new();
    for _ in 0..20 {
        app.update();
        shown.push(text(&mut app, "frame_arena/period"));
    }
    shown.dedup();
    assert_eq!(shown.len(), 4, "{shown:?}");
    assert_eq!(text(&mut app, "frame_arena/graph/start"), "30 s ago");
}

#[test]
fn it_can_be_switched_off_and_on() {
    let mut app = app(FrameArenaSettings::default(), with_details());
    let windows = |app: &mut App| {
        let mut windows = app.world_mut().query::<&FrameArenaOverlay>();
        windows.iter(app.world()).count()
    };
    let switch = |app: &mut App, enabled| {
        let mut config = app.world_mut().resource_mut::<FrameArenaOverlayConfig>();
        config.enabled = enabled;
        app.update();
    };
    app.update();
    assert_eq!(windows(&mut app), 1);
    switch(&mut app, false);
    assert_eq!(windows(&mut app), 0);
    app.update();
    switch(&mut app, true);
    assert_eq!(windows(&mut app), 1);
    compare_with_usage(&mut app);
}

#[test]
fn without_arenas_there_is_no_window_and_no_panic() {
    let mut app = App::new();
    app.add_plugins(bevy_frame_arena::FrameArenaOverlayPlugin::default());
    app.update();
    assert!(
        app.world_mut()
            .query::<&FrameArenaOverlay>()
            .single(app.world())
            .is_err()
    );
}

#[test]
fn a_period_that_goes_on_shows_what_it_has_used_so_far() {
    struct Dungeon;
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    // The app is finished, and would refuse a plugin.
    FrameArenaPacePlugin::<Dungeon>::by_hand().build(&mut app);
    app.update();
    app.update();
    let period = |app: &mut App| text(app, "dungeon_arena/period");
    assert!(!is_shown(&mut app, "dungeon_arena"), "nobody has used it");
    let arenas = app.world().resource::<ArenasOf<Dungeon>>();
    arenas.local().alloc([0_u8; 98 * KIB]);
    app.update();
    app.update();
    assert!(is_shown(&mut app, "dungeon_arena"));
    assert_eq!(period(&mut app), "period 0 so far");
    let so_far = ["used 98 KiB", "peak 98 KiB", "reserved 128 KiB"];
    for (name, figure) in ["used", "peak", "reserved"].into_iter().zip(so_far) {
        assert_eq!(text(&mut app, &format!("dungeon_arena/{name}")), figure);
    }
    let world = app.world_mut();
    world
        .run_system_once(ArenasOf::<Dungeon>::end_period)
        .expect("it runs");
    app.update();
    app.update();
    assert_eq!(period(&mut app), "1 worker, period 0");
    assert_eq!(text(&mut app, "dungeon_arena/used"), "used 98 KiB");
}

#[test]
fn problems_and_tasks_of_a_period_that_goes_on_are_shown() {
    struct Dungeon;
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    let plugin = FrameArenaPacePlugin::<Dungeon> {
        settings: FrameArenaSettings {
            worker_limit_bytes: Some(4 * KIB),
            ..Default::default()
        },
        ..FrameArenaPacePlugin::by_hand()
    };
    plugin.build(&mut app);
    app.update();
    let arenas = app.world().resource::<ArenasOf<Dungeon>>();
    arenas.local().alloc([0_u8; KIB]);
    assert!(arenas.local().try_alloc([0_u8; 5 * KIB]).is_err());
    let task = arenas.task_arena();
    task.alloc([0_u8; 1000]);
    (0..2).for_each(|_| app.update());
    let what = "dungeon_arena/problems/0/what";
    let refused = "! REFUSED 1 in 6 s: a worker may take 4.0 KiB";
    assert_eq!(text(&mut app, what), refused);
    assert!(is_shown(&mut app, "dungeon_arena/tasks"));
    assert_eq!(
        text(&mut app, "dungeon_arena/tasks"),
        "1 task, 0 results: 8.0 KiB"
    );
    // It is no longer shown when the level goes on without it.
    drop(task);
    (0..61).for_each(|_| app.update());
    assert!(!is_shown(&mut app, what));
    assert!(!is_shown(&mut app, "dungeon_arena/tasks"));
    assert_eq!(text(&mut app, "dungeon_arena/used"), "used 1.0 KiB");
}

#[test]
fn settings_of_any_size_are_accepted() {
    for size in [0.0, 1e-30, 1e-3, -10.0, 1e6, f32::INFINITY, f32::NAN] {
        let config = FrameArenaOverlayConfig {
            text_config: TextFont::from_font_size(size),
            right: size,
            top: size,
            refresh_interval: Duration::try_from_secs_f32(size).unwrap_or(Duration::MAX),
            ..with_details()
        };
        let mut app = app(FrameArenaSettings::default(), config);
        for _ in 0..3 {
            allocate(&app, "Compute Task Pool (0)", &[KIB]);
            app.update();
        }
        let used = text(&mut app, "frame_arena/used");
        assert!(used.starts_with("used "), "{size}: {used}");
    }
}

#[test]
fn places_without_end_are_bounded() {
    let config = FrameArenaOverlayConfig {
        worker_places: usize::MAX,
        ..with_details()
    };
    let mut app = app(FrameArenaSettings::default(), config);
    allocate(&app, "Compute Task Pool (0)", &[KIB]);
    app.update();
    assert_eq!(text(&mut app, "frame_arena/workers/0"), "C0 1.0 KiB");
}
