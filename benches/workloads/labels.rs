//! Labels above soldiers: text, a command to draw each, sorted by depth, and read in that order.

use std::fmt::Write;

use bevy_frame_arena::{FrameArena, FrameArenas};
use bumpalo::Bump;
use bumpalo_herd::Herd;

use crate::ways::{self, Entry, Way};

const LABELS: u32 = 2_000;

pub(crate) const ENTRIES: [Entry; 7] = [
    Entry::new("labels", ways::HEAP, || Box::new(Heap)),
    Entry::new("labels", ways::REUSE, || Box::new(Reuse::default())),
    Entry::new("labels", ways::HERD, || Box::new(Herded(Herd::new()))),
    Entry::new("labels", ways::OURS, || {
        Box::new(Ours(FrameArenas::default()))
    }),
    Entry::new("labels", ways::FLAT, || {
        Box::new(Flat(FrameArenas::default()))
    }),
    Entry::new("labels", ways::SCRATCH, || {
        Box::new(Scratch(FrameArenas::default()))
    }),
    Entry::new("labels", ways::ONE_FRAME, || {
        Box::new(Ours(ways::arenas_of_one_frame()))
    }),
];

/// One label to draw, with its text as a way keeps it.
struct Command<T> {
    depth: u32,
    place: [f32; 2],
    text: T,
}

impl<T> Command<T> {
    fn new(frame: u32, number: u32, text: T) -> Self {
        let depth = number.wrapping_mul(2_654_435_761) ^ frame;
        Self {
            depth,
            place: [depth as f32, number as f32],
            text,
        }
    }
}

macro_rules! label {
    ($frame:expr, $number:expr) => {
        format_args!(
            "soldier {}: {} HP, {}",
            $number,
            ($number + $frame) % 100,
            ["idle", "marching", "under attack"][($number % 3) as usize]
        )
    };
}

/// Sorts the commands, and reads all texts in that order.
fn draw<'t, T>(commands: &'t mut [Command<T>], text: impl Fn(&'t T) -> &'t str) -> u64 {
    commands.sort_unstable_by_key(|command| command.depth);
    let mut sum = 0_u64;
    for command in commands {
        let text = text(&command.text).as_bytes();
        let bytes: u64 = text.iter().map(|&byte| u64::from(byte)).sum();
        sum = sum.rotate_left(1) ^ bytes ^ u64::from(command.place[0].to_bits());
    }
    sum
}

struct Heap;

impl Way for Heap {
    fn frame(&mut self, frame: u32) -> u64 {
        let command = |number| {
            let text = std::fmt::format(label!(frame, number));
            Command::new(frame, number, text)
        };
        let mut commands: Vec<_> = (0..LABELS).map(command).collect();
        draw(&mut commands, |text| text)
    }
}

/// All texts in one.
#[derive(Default)]
struct Reuse {
    text: String,
    commands: Vec<Command<(usize, usize)>>,
}

impl Way for Reuse {
    fn frame(&mut self, frame: u32) -> u64 {
        let Self { text, commands } = self;
        text.clear();
        commands.clear();
        for number in 0..LABELS {
            let start = text.len();
            text.write_fmt(label!(frame, number)).expect("memory");
            commands.push(Command::new(frame, number, (start, text.len())));
        }
        draw(commands, |&(start, end)| &text[start..end])
    }
}

struct Herded(Herd);

impl Way for Herded {
    fn frame(&mut self, frame: u32) -> u64 {
        let sum = with_bump(self.0.get().as_bump(), frame);
        self.0.reset();
        sum
    }
}

fn with_bump(bump: &Bump, frame: u32) -> u64 {
    let commands = bump.alloc_slice_fill_with(LABELS as usize, |number| {
        let number = number as u32;
        let mut text = bumpalo::collections::String::new_in(bump);
        text.write_fmt(label!(frame, number)).expect("memory");
        Command::new(frame, number, text.into_bump_str())
    });
    draw(commands, |text| text)
}

struct Ours(FrameArenas);

impl Way for Ours {
    fn frame(&mut self, frame: u32) -> u64 {
        self.0.swap();
        with_arena(self.0.local(), frame)
    }
}

struct Scratch(FrameArenas);

impl Way for Scratch {
    fn frame(&mut self, frame: u32) -> u64 {
        self.0.swap();
        with_arena(&self.0.scratch(), frame)
    }
}

fn with_arena(arena: &FrameArena, frame: u32) -> u64 {
    let commands = arena.alloc_slice_fill_with(LABELS as usize, |number| {
        let number = number as u32;
        let text: &str = arena.alloc_fmt(label!(frame, number));
        Command::new(frame, number, text)
    });
    draw(commands, |text| text)
}

/// All texts in one, as in the reused way.
struct Flat(FrameArenas);

impl Way for Flat {
    fn frame(&mut self, frame: u32) -> u64 {
        self.0.swap();
        let arena = self.0.local();
        let mut commands = arena.vec_with_capacity(LABELS as usize);
        let mut text = arena.string();
        for number in 0..LABELS {
            let start = text.len();
            text.write_fmt(label!(frame, number)).expect("memory");
            commands.push(Command::new(frame, number, (start, text.len())));
        }
        draw(&mut commands, |&(start, end)| &text[start..end])
    }
}
