//! The figures of all arenas of an app, in one place.
#![forbid(unsafe_code)]

use std::any::TypeId;
use std::mem;

use bevy_diagnostic::DiagnosticsStore;
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use bevy_platform::time::Instant;
use tracing::warn;

use super::diagnostics::UsagePublisher;
use super::problems::{Warnings, problems_so_far};
use crate::arenas::{FrameArenas, FrameUsage};
use crate::figures::Figures;
use crate::settings::FrameArenaSettings;

/// The figures of all arenas of an app, in the main world: of the frame, of other paces, and of
/// sub-apps.
///
/// Diagnostics, the log and the overlay read them here, so they all show the same number of the same
/// frame. Ask it for tools of your own; a system that has the arenas at hand can as well ask
/// [`FrameArenas::usage`].
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaPlugin, FrameArenaReport, FrameArenas};
///
/// let mut app = App::new();
/// app.add_plugins(FrameArenaPlugin::default());
/// app.world().resource::<FrameArenas>().local().alloc([0_u8; 1000]);
/// app.update();
///
/// let report = app.world().resource::<FrameArenaReport>();
/// let frame = report.get("frame_arena").unwrap();
/// assert_eq!(frame.label, "Frame arenas");
/// assert_eq!(frame.usage.used_bytes, 1000);
/// assert_eq!(frame.periods, 1);
/// ```
#[derive(Resource)]
pub struct FrameArenaReport {
    /// Whether problems are logged, each once, as warnings. Default: yes.
    pub warnings: bool,
    /// How many values the diagnostics of the frame keep, if it has any.
    frame_history: Option<usize>,
    entries: Vec<Entry>,
}

/// The figures of one set of arenas.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArenaReport {
    /// The name for people: `Frame arenas`.
    pub label: String,
    /// What the names of its diagnostics begin with: `frame_arena`.
    pub prefix: String,
    /// The settings.
    pub settings: FrameArenaSettings,
    /// The figures of the period that ended last.
    pub usage: FrameUsage,
    /// Periods that have ended.
    pub periods: u64,
    /// What was counted in all of them, and the highest bytes of any.
    pub totals: Figures,
    /// The bytes and counts of the period that goes on, as of the end of the last frame: of a level, e.g., whose
    /// end is far. Nothing for the frame, and for sub-apps: theirs end soon.
    pub so_far: Figures,
}

/// One set of arenas, and what is done with its figures.
struct Entry {
    /// The resource that they are of, in this world.
    pace: Option<TypeId>,
    report: ArenaReport,
    publisher: Option<UsagePublisher>,
    warned: Warnings,
}

/// Which entry is meant.
#[derive(Clone, Copy)]
pub(super) enum Key<'a> {
    Pace(TypeId),
    Prefix(&'a str),
}

/// What an entry is added with.
pub(super) struct NewEntry<'a> {
    pub(super) label: String,
    pub(super) prefix: &'a str,
    /// How many values its diagnostics keep, if it has any.
    pub(super) history: Option<usize>,
}

impl FrameArenaReport {
    /// Returns the figures of the arenas whose diagnostics begin with `prefix`.
    pub fn get(&self, prefix: &str) -> Option<&ArenaReport> {
        self.iter().find(|arenas| arenas.prefix == prefix)
    }

    /// Returns the figures of all arenas, the frame's first; others as they were added.
    pub fn iter(&self) -> impl Iterator<Item = &ArenaReport> {
        self.entries.iter().map(|entry| &entry.report)
    }

    /// Whether there is nothing that has figures.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds arenas to the report of a world, so that its readers find them from the start, and to
    /// its diagnostics. Returns whether it did.
    ///
    /// Not if there are others with this prefix: figures of two arenas under one name would be worth
    /// nothing. Nor with one that no diagnostic can have.
    pub(super) fn add(
        world: &mut World,
        entry: NewEntry<'_>,
        pace: Option<TypeId>,
        settings: &FrameArenaSettings,
    ) -> bool {
        let NewEntry {
            label,
            prefix,
            history,
        } = entry;
        if prefix.split('/').any(str::is_empty) {
            warn!(
                "`{label}` publish no figures: the `diagnostics_prefix` is `{prefix}`, and the path of a \
                 diagnostic has no empty part. Write `my_arena`, e.g., or `None`"
            );
            return false;
        }
        let mut report = world.get_resource_or_init::<Self>();
        if report.get(prefix).is_some() {
            warn!(
                "two arenas would publish their figures as `{prefix}/…`, so the second publishes \
                 none; give it a `diagnostics_prefix` of its own"
            );
            return false;
        }
        let is_frame = prefix == FRAME_PREFIX;
        let history = history.or(report.frame_history.filter(|_| is_frame));
        let place = if is_frame { 0 } else { report.entries.len() };
        let entry = Entry {
            pace,
            report: ArenaReport {
                label,
                prefix: prefix.to_owned(),
                settings: settings.clone(),
                usage: FrameUsage::default(),
                periods: 0,
                totals: Figures::default(),
                so_far: Figures::default(),
            },
            publisher: history.map(|length| UsagePublisher::new(prefix, length)),
            warned: Warnings::default(),
        };
        report.entries.insert(place, entry);
        if let Some(length) = history {
            let mut store = world.get_resource_or_init::<DiagnosticsStore>();
            UsagePublisher::new(prefix, length).register(&mut store);
        }
        true
    }

    /// Has the figures of the frame published, whether it is in the report yet or will be.
    pub(super) fn publish_frame(world: &mut World, history: usize) {
        let publisher = UsagePublisher::new(FRAME_PREFIX, history);
        publisher.register(&mut world.get_resource_or_init::<DiagnosticsStore>());
        let mut report = world.get_resource_or_init::<Self>();
        report.frame_history = Some(history);
        if let Some(entry) = report.entry(Key::Prefix(FRAME_PREFIX)) {
            entry.publisher = Some(publisher);
        }
    }

    /// Takes in the figures of the period that has just ended, warns of new problems, and publishes
    /// the figures where there is a store and a clock.
    pub(super) fn end_period(
        &mut self,
        key: Key<'_>,
        arenas: &FrameArenas,
        store: Option<(&mut DiagnosticsStore, Instant)>,
    ) {
        let warns = self.warnings;
        let Some(entry) = self.entry(key) else {
            return;
        };
        entry.report.end_period(arenas);
        if warns {
            entry.warned.warn(&entry.report);
        }
        if let (Some(publisher), Some((store, now))) = (&mut entry.publisher, store) {
            publisher.publish(arenas.usage(), now, store);
        }
    }

    /// Takes in the figures of the period that goes on, and warns of new problems.
    pub(super) fn note_so_far(&mut self, key: Key<'_>, arenas: &FrameArenas) {
        let warns = self.warnings;
        let Some(entry) = self.entry(key) else {
            return;
        };
        let (so_far, first) = arenas.so_far();
        entry.report.so_far = so_far;
        if warns {
            let largest_bytes = arenas.largest_refusal_bytes();
            let problems = problems_so_far(&so_far, arenas.settings(), largest_bytes, first);
            entry.warned.warn_so_far(&entry.report.label, problems);
        }
    }

    fn entry(&mut self, key: Key<'_>) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| match key {
            Key::Pace(pace) => entry.pace == Some(pace),
            Key::Prefix(prefix) => entry.report.prefix == prefix,
        })
    }
}

impl Default for FrameArenaReport {
    fn default() -> Self {
        Self {
            warnings: true,
            frame_history: None,
            entries: Vec::new(),
        }
    }
}

impl std::fmt::Debug for FrameArenaReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl ArenaReport {
    /// Whether anybody has used the arenas, or tried to.
    pub(super) fn is_used(&self) -> bool {
        let usage = &self.usage;
        let bytes = [
            usage.high_watermark_bytes,
            usage.scratch_high_watermark_bytes,
            usage.largest_refusal_bytes,
            self.so_far.used_bytes,
        ];
        bytes.into_iter().any(|bytes| bytes > 0) || self.totals.stale_lookups > 0
    }

    fn end_period(&mut self, arenas: &FrameArenas) {
        if self.settings != *arenas.settings() {
            self.settings.clone_from(arenas.settings());
        }
        self.usage.clone_from(arenas.usage());
        self.periods += 1;
        self.totals.merge(&self.usage.figures);
        self.so_far = Figures::default();
    }
}

/// Tells, once, that a plugin that shows the report finds none.
#[derive(Default)]
pub(crate) struct WithoutReport {
    is_told: bool,
}

impl WithoutReport {
    pub(crate) fn tell(&mut self, plugin: &str) {
        if !mem::replace(&mut self.is_told, true) {
            warn!("`{plugin}` finds no arenas to tell of: add `FrameArenaPlugin`, too");
        }
    }
}

/// What the names of the frame's diagnostics begin with.
pub(super) const FRAME_PREFIX: &str = "frame_arena";

/// Returns the name for people: `Frame arenas` for `frame_arena`.
pub(super) fn label_of(prefix: &str) -> String {
    let mut letters = prefix.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let mut label = first.chain(letters).collect::<String>();
    label = label.replace(['_', '/'], " ");
    if label.ends_with("arena") {
        label.push('s');
    }
    label
}

/// Returns the last part of a type's name in words: `fixed step` for `game::FixedStep`.
pub(super) fn words_of(type_name: &str) -> String {
    let path = type_name.split('<').next().unwrap_or(type_name);
    let name = path.rsplit("::").next().unwrap_or(path);
    let mut words = String::new();
    let mut ends_a_word = false;
    for letter in name.chars() {
        if letter.is_uppercase() && ends_a_word {
            words.push(' ');
        }
        ends_a_word = !letter.is_uppercase();
        words.extend(letter.to_lowercase());
    }
    words
}

/// Returns what the names of the diagnostics begin with, for arenas with this name in words.
pub(super) fn prefix_of(words: &str) -> String {
    // A path is split at `/`, and people type it.
    let is_kept = |letter: char| letter.is_alphanumeric();
    let name = words.replace(|letter| !is_kept(letter), "_");
    format!("{name}_arena")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_for_people() {
        assert_eq!(label_of("frame_arena"), "Frame arenas");
        assert_eq!(label_of("my_tool"), "My tool");
        assert_eq!(label_of(""), "");
    }

    #[test]
    fn names_become_words() {
        for (name, words) in [
            ("bevy_frame_arena::app::FixedStep", "fixed step"),
            ("Level", "level"),
            ("game::net::Tick<game::Server>", "tick"),
            ("AITick", "aitick"),
            ("Wave2Boss", "wave2 boss"),
            ("Öl", "öl"),
            ("()", "()"),
        ] {
            assert_eq!(words_of(name), words);
        }
    }

    #[test]
    fn prefixes_have_no_parts() {
        assert_eq!(prefix_of("fixed step"), "fixed_step_arena");
        assert_eq!(prefix_of("a/(b)"), "a__b__arena");
    }
}
