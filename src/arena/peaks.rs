//! The most bytes in use at once, and what a trim keeps because of it.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Less memory than this is not worth giving back.
const MIN_TRIM_BYTES: usize = 64 << 10;

/// How many steps the window has that decides about a trim.
///
/// A window that moves in steps needs no list of all periods, and is late by one step at most.
pub(crate) const WINDOW_STEPS: usize = 8;

/// Peaks of one arena: of this period, of the last periods, and of all.
///
/// A trim gives memory back if none was used within the window, or if the chunks were touched
/// beyond twice what the window's peak needs:
///
/// | most in use within the window | touched since the chunks were made | verdict |
/// |--:|--:|---|
/// | 0 | any | free all |
/// | 1 MiB | 2.5 MiB | keep all (2 x 1.25 MiB) |
/// | 1 MiB | 2.6 MiB | free all, expect 1.25 MiB |
/// | 10 KiB | 128 KiB | keep all (2 x 64 KiB) |
/// | 10 KiB | 129 KiB | free all, expect 64 KiB |
#[derive(Default)]
pub(super) struct Peaks {
    /// Of this period, as of the last time that memory was freed or a chunk was added. Atomic so
    /// that the swap can read it through a shared reference; the owner alone writes it.
    period: AtomicUsize,
    /// Of the periods since the last step of the window, this one included as far as it was noted.
    /// Atomic like `period`.
    recent: AtomicUsize,
    /// Of each step in the window.
    steps: [usize; WINDOW_STEPS],
    /// Of all periods before those.
    highest: usize,
    /// Since the chunks were made.
    touched: usize,
}

/// What to do with an arena's chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trim {
    /// They are about right.
    Keep,
    /// They are too large, and so much is expected to be needed from now on.
    Free {
        /// Bytes that the next periods are expected to need.
        expected_bytes: usize,
    },
}

impl Peaks {
    /// Notes the bytes in use now, if they are the most in this period.
    #[inline]
    pub(super) fn note(&self, used_bytes: usize) {
        if used_bytes > self.period.load(Relaxed) {
            self.period.store(used_bytes, Relaxed);
            // Here rather than at the end of each period, which has one thing less to look at.
            if used_bytes > self.recent.load(Relaxed) {
                self.recent.store(used_bytes, Relaxed);
            }
        }
    }

    /// Returns the peak of this period, as far as it was noted.
    pub(super) fn period(&self) -> usize {
        self.period.load(Relaxed)
    }

    /// Returns the highest peak of all periods, of this one as far as it was noted.
    pub(super) fn highest(&self) -> usize {
        self.highest.max(self.recent.load(Relaxed))
    }

    /// Ends a period in which `used_bytes` were in use at the end.
    #[inline]
    pub(super) fn end_period(&mut self, used_bytes: usize) {
        *self.period.get_mut() = 0;
        let recent = self.recent.get_mut();
        if used_bytes > *recent {
            *recent = used_bytes;
        }
    }

    /// Moves the window on by one step, and decides by all of it.
    pub(super) fn step(&mut self) -> Trim {
        self.steps.rotate_right(1);
        self.steps[0] = *self.recent.get_mut();
        let window = self.steps.iter().copied().max().unwrap_or(0);
        self.close(window)
    }

    /// Decides by what was used since the last time.
    pub(super) fn decide(&mut self) -> Trim {
        let recent = *self.recent.get_mut();
        self.close(recent)
    }

    /// Notes that all chunks were freed.
    pub(super) fn forget_touched(&mut self) {
        self.touched = 0;
    }

    fn close(&mut self, peak: usize) -> Trim {
        // A period that goes on counts on both sides.
        let recent = std::mem::replace(self.recent.get_mut(), *self.period.get_mut());
        self.highest = self.highest.max(recent);
        self.touched = self.touched.max(recent);
        verdict(peak, self.touched)
    }
}

fn verdict(peak_bytes: usize, touched_bytes: usize) -> Trim {
    if peak_bytes == 0 {
        return Trim::Free { expected_bytes: 0 };
    }
    let expected_bytes = peak_bytes
        .saturating_add(peak_bytes / 4)
        .max(MIN_TRIM_BYTES);
    if touched_bytes > expected_bytes.saturating_mul(2) {
        Trim::Free { expected_bytes }
    } else {
        Trim::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const KIB: usize = 1 << 10;

    #[test]
    fn the_table_in_the_docs_is_true() {
        let free = |expected_bytes| Trim::Free { expected_bytes };
        assert_eq!(verdict(0, 100 * MIB), free(0));
        assert_eq!(verdict(MIB, 5 * MIB / 2), Trim::Keep);
        assert_eq!(verdict(MIB, 5 * MIB / 2 + 1), free(5 * MIB / 4));
        assert_eq!(verdict(10 * KIB, 128 * KIB), Trim::Keep);
        assert_eq!(verdict(10 * KIB, 128 * KIB + 1), free(64 * KIB));
    }

    #[test]
    fn a_period_counts_with_its_peak_and_not_with_its_end() {
        let mut peaks = Peaks::default();
        peaks.note(700);
        peaks.note(300);
        assert_eq!((peaks.period(), peaks.highest()), (700, 700));
        peaks.end_period(500);
        assert_eq!(peaks.period(), 0);
        assert_eq!(peaks.decide(), Trim::Keep);
        assert_eq!(peaks.highest(), 700);
    }

    #[test]
    fn a_window_forgets_a_spike_after_all_its_steps() {
        let mut peaks = Peaks::default();
        peaks.end_period(10 * MIB);
        assert_eq!(peaks.step(), Trim::Keep);
        for step in 1..WINDOW_STEPS {
            peaks.end_period(KIB);
            assert_eq!(peaks.step(), Trim::Keep, "step {step}");
        }
        peaks.end_period(KIB);
        assert_eq!(
            peaks.step(),
            Trim::Free {
                expected_bytes: 64 * KIB
            }
        );
    }

    #[test]
    fn a_window_without_use_frees_everything() {
        let mut peaks = Peaks::default();
        peaks.end_period(1);
        for _ in 0..WINDOW_STEPS {
            assert_eq!(peaks.step(), Trim::Keep);
        }
        assert_eq!(peaks.step(), Trim::Free { expected_bytes: 0 });
    }
}
