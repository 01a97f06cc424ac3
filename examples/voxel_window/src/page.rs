//! A canvas that fills its page, and the texts of the overlay in the document, for those who can't
//! see a canvas: screen readers, and tests.

use bevy::app::PluginGroupBuilder;
use bevy::prelude::*;
use bevy_frame_arena::FrameArenaReport;

use crate::TITLE;
use crate::controls::Eye;

/// The elements of `index.html`.
const CANVAS: &str = "#world";
const FIGURES: &str = "figures";

/// The overlay's text that is another one in each of its pictures: it has the frame's number.
const PERIOD: &str = "frame_arena/period";

pub(crate) fn bevy_plugins() -> PluginGroupBuilder {
    DefaultPlugins.set(WindowPlugin {
        primary_window: Some(Window {
            title: TITLE.into(),
            canvas: Some(CANVAS.into()),
            fit_canvas_to_parent: true,
            ..default()
        }),
        ..default()
    })
}

pub(crate) struct PlatformPlugin;

impl Plugin for PlatformPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Last, write_figures);
    }
}

/// Writes all texts that have a name, and the bytes that the overlay rounds, each time it is drawn.
fn write_figures(texts: Query<(&Name, Ref<Text>)>, report: Res<FrameArenaReport>, eye: Res<Eye>) {
    let is_drawn = |(name, text): (&Name, Ref<Text>)| name.as_str() == PERIOD && text.is_changed();
    if !texts.iter().any(is_drawn) {
        return;
    }
    let mut lines = String::new();
    for (name, text) in &texts {
        for line in text.lines() {
            lines += &format!("{name}: {line}\n");
        }
    }
    for arenas in report.iter() {
        let (prefix, usage) = (&arenas.prefix, &arenas.usage);
        for (word, bytes) in [
            ("used", usage.used_bytes),
            ("peak", usage.peak_bytes),
            ("reserved", usage.reserved_bytes),
        ] {
            lines += &format!("bytes/{prefix}/{word}: {bytes}\n");
        }
        for worker in &usage.workers {
            let (name, bytes) = (&worker.name, worker.peak_bytes);
            lines += &format!("bytes/{prefix}/workers/{name}: {bytes}\n");
        }
    }
    let [x, y, z] = eye.at.to_array();
    lines += &format!("eye: {x:.1} {y:.1} {z:.1}\n");
    show(&lines);
}

/// Puts a text in the place of the one that the page has.
fn show(lines: &str) {
    let document = web_sys::window().and_then(|window| window.document());
    let figures = document.and_then(|document| document.get_element_by_id(FIGURES));
    if let Some(figures) = figures {
        figures.set_text_content(Some(lines));
    }
}
