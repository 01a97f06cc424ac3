//! The colours on the screen differ for all eyes, and texts can be read.

use bevy_app::App;
use bevy_color::{Color, ColorToComponents};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArenaOverlayConfig, FrameArenaSettings, FrameArenas};
use bevy_text::TextColor;
use bevy_ui::prelude::BackgroundColor;

use super::screen::{allocate, app, entity};

/// An app with all kinds of texts and bars on the screen.
fn full_app() -> App {
    let settings = FrameArenaSettings {
        worker_limit_bytes: Some(4 << 10),
        budget_bytes: Some(1 << 20),
        ..Default::default()
    };
    let config = FrameArenaOverlayConfig {
        details: true,
        ..Default::default()
    };
    let mut app = app(settings, config);
    allocate(&app, "Compute Task Pool (0)", &[4000]);
    allocate(&app, "Compute Task Pool (1)", &[1000]);
    let arenas = app.world().resource::<FrameArenas>();
    assert!(arenas.local().try_alloc([0_u8; 5 << 10]).is_err());
    app.update();
    app
}

fn background(app: &App, entity: Entity) -> Color {
    let color = app.world().get::<BackgroundColor>(entity);
    color.expect("it is a node").0
}

fn parent(app: &App, entity: Entity) -> Option<Entity> {
    app.world().get::<ChildOf>(entity).map(ChildOf::parent)
}

/// Returns the colours of the bars: used, peak, reserved, the track, and a worker near its limit.
fn bars(app: &mut App) -> [Color; 5] {
    let [used, peak, reserved, near] = ["used", "peak", "reserved", "workers/0"].map(|name| {
        let bar = entity(app, &format!("frame_arena/{name}/bar"));
        (bar, background(app, bar))
    });
    let track = parent(app, used.0).expect("a bar is in its track");
    [used.1, peak.1, reserved.1, background(app, track), near.1]
}

/// Colour vision as matrices in linear RGB: normal vision, then vision without one of the three kinds of cones
/// (Machado, Oliveira and Fernandes 2009).
const EYES: [[f32; 9]; 4] = [
    [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
    [
        0.152, 1.053, -0.205, 0.115, 0.786, 0.099, -0.004, -0.048, 1.052,
    ],
    [
        0.367, 0.861, -0.228, 0.280, 0.673, 0.047, -0.012, 0.043, 0.969,
    ],
    [
        1.256, -0.077, -0.179, -0.078, 0.931, 0.148, 0.005, 0.691, 0.304,
    ],
];

fn seen(color: Color, eyes: &[f32; 9]) -> [f32; 3] {
    let linear = color.to_linear().to_f32_array_no_alpha();
    let [red, green, blue] = [0, 3, 6].map(|row| {
        let light = eyes[row..].iter().zip(linear);
        let light = light.map(|(part, light)| part * light).sum::<f32>();
        light.clamp(0.0, 1.0)
    });
    let seen = Color::linear_rgb(red, green, blue);
    seen.to_srgba().to_f32_array_no_alpha()
}

#[test]
fn colours_that_are_told_apart_differ_for_all_eyes() {
    let [used, peak, reserved, track, near_limit] = bars(&mut full_app());
    for eyes in &EYES {
        for (one, other) in [
            (used, peak),
            (used, reserved),
            (used, track),
            (used, near_limit),
            (peak, reserved),
            (peak, track),
            (reserved, track),
        ] {
            let pairs = seen(one, eyes).into_iter().zip(seen(other, eyes));
            let squares = pairs.map(|(one, other)| (one - other).powi(2));
            let distance = squares.sum::<f32>().sqrt();
            assert!(distance > 0.25, "{one:?} {other:?}: {distance}");
        }
    }
}

/// Returns the contrast of two colours for eyes that see no colours at all, from 1 to 21.
fn contrast(one: Color, other: Color) -> f32 {
    let [one, other] = [one, other].map(|color| {
        let [red, green, blue] = color.to_linear().to_f32_array_no_alpha();
        0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
    });
    one.max(other) / one.min(other)
}

#[test]
fn neighbours_in_the_bar_differ_without_colours() {
    let [colors @ .., _] = bars(&mut full_app());
    for (index, &one) in colors.iter().enumerate() {
        for &other in &colors[..index] {
            let contrast = contrast(one, other);
            assert!(contrast > 1.5, "{one:?} {other:?}: {contrast}");
        }
    }
}

#[test]
fn text_stands_out_from_what_is_behind_it() {
    let mut app = full_app();
    let [used, .., near_limit] = bars(&mut app);
    let mut texts = app.world_mut().query::<(Entity, &Name, &TextColor)>();
    let texts = texts.iter(app.world());
    let texts: Vec<_> = texts
        .map(|(it, name, color)| (it, name.clone(), color.0))
        .collect();
    let mut texts_over_bars = 0;
    for (text, name, color) in texts {
        let mut behind = parent(&app, text);
        while let Some(part) = behind
            && background(&app, part).to_linear().alpha == 0.0
        {
            behind = parent(&app, part);
        }
        let behind = background(&app, behind.expect("the window has a background"));
        // The cells of workers have bars behind their texts.
        let is_over_a_bar = name.starts_with("frame_arena/workers/") && !name.ends_with("sum");
        texts_over_bars += usize::from(is_over_a_bar);
        let bars = [used, near_limit].into_iter().filter(|_| is_over_a_bar);
        for behind in bars.chain([behind]) {
            let contrast = contrast(color, behind);
            assert!(
                contrast > 4.2,
                "{name}: {color:?} on {behind:?}: {contrast}"
            );
        }
    }
    assert!(texts_over_bars > 0);
}
