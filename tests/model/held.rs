//! What one thread holds between two swaps or resets, and what it does with it.

use std::sync::Arc;

use bevy_frame_arena::{FrameArena, FrameArenaSettings};

use super::live::{Live, Request};
use super::program::{Method, SharedKind};
use super::shared::{Shared, share};
use super::tracked::Log;

/// Live allocations, each beside what it must contain.
pub(crate) struct Held<'a> {
    live: Vec<Live<'a>>,
    pub(crate) log: &'a Arc<Log>,
}

/// Whether an allocation may fail.
pub(crate) fn is_limited(settings: &FrameArenaSettings) -> bool {
    settings.worker_limit_bytes.is_some() || settings.budget_bytes.is_some()
}

impl<'a> Held<'a> {
    pub(crate) fn new(log: &'a Arc<Log>) -> Self {
        Self {
            live: Vec::new(),
            log,
        }
    }

    pub(crate) fn allocate(&mut self, method: Method, request: &Request<'a>, limited: bool) {
        let arena = request.arena;
        let (used, held) = (arena.used_bytes(), arena.held_bytes());
        let made = Live::new(method, request);
        let taken = arena.used_bytes().wrapping_sub(used);
        match made {
            Ok(live) => {
                let (start, end) = live.range().unwrap_or((0, 0));
                let asked_for = match method {
                    Method::Layout => request.align,
                    Method::Page => 4096,
                    _ => 1,
                };
                assert_eq!(start % asked_for, 0, "aligned by address");
                let is_plain = matches!(
                    method,
                    Method::Word | Method::WordWith | Method::Copy | Method::FillCopy | Method::Str
                );
                if is_plain && arena.held_bytes() == held {
                    assert_eq!(taken, (end - start).next_multiple_of(8));
                }
                live.check();
                self.live.push(live);
            }
            Err(error) => {
                assert!(limited, "{error}");
                let is_one_allocation =
                    !matches!(method, Method::FillWith | Method::FillIter | Method::Fmt);
                assert!(!is_one_allocation || taken == 0, "a failure took memory");
            }
        }
    }

    pub(crate) fn write(&mut self, nth: usize, seed: u8) {
        if let Some(live) = self.nth(nth) {
            live.write(seed);
        }
    }

    pub(crate) fn grow(&mut self, nth: usize, by: usize, seed: u8, limited: bool) {
        let log = self.log;
        if let Some(live) = self.nth(nth) {
            let grown = live.grow(by, seed, log);
            assert!(limited || grown.is_ok(), "{grown:?}");
        }
    }

    pub(crate) fn shrink(&mut self, nth: usize, to: usize, limited: bool) {
        if let Some(live) = self.nth(nth) {
            live.shrink(to, limited);
        }
    }

    pub(crate) fn free(&mut self, nth: usize) {
        if !self.live.is_empty() {
            let index = nth % self.live.len();
            self.live.remove(index).check();
        }
    }

    /// Shares something; returns `None` where a limit forbids it.
    pub(crate) fn share(
        &self,
        arena: &FrameArena,
        kind: SharedKind,
        bytes: usize,
        seed: u8,
        limited: bool,
    ) -> Option<Shared> {
        let shared = share(arena, self.log, kind, bytes, seed);
        shared.map_err(|error| assert!(limited, "{error}")).ok()
    }

    /// Compares all contents for the last time, and drops them.
    pub(crate) fn end_frame(&mut self) {
        self.live.iter().for_each(Live::check);
        self.live.clear();
    }

    /// Returns the addresses of what is held.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (usize, usize)> {
        self.live.iter().filter_map(Live::range)
    }

    /// Returns the numbers of the tracked values that are held.
    pub(crate) fn tracked(&self) -> impl Iterator<Item = usize> {
        self.live.iter().flat_map(Live::tracked).copied()
    }

    fn nth(&mut self, nth: usize) -> Option<&mut Live<'a>> {
        let len = self.live.len();
        (len > 0).then(|| &mut self.live[nth % len])
    }
}
