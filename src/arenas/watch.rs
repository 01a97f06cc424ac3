//! Looks out for handles that cross between frames and fixed steps, in debug builds.
//!
//! Above 64 frames a second there are frames without a step. What a frame made for the next step
//! may then be stale, and what a step made may be stale in a later frame: on the player's machine,
//! not on the developer's.
#![forbid(unsafe_code)]

#[cfg(not(debug_assertions))]
pub(super) use self::blind::Watch;
#[cfg(all(debug_assertions, feature = "bevy"))]
pub(crate) use self::seeing::SeenCrossing;
#[cfg(debug_assertions)]
pub(super) use self::seeing::Watch;

#[cfg(debug_assertions)]
#[cfg_attr(
    not(feature = "bevy"),
    expect(dead_code, reason = "an app tells when a step begins")
)]
mod seeing {
    use std::mem;
    use std::ops::Range;
    use std::panic::Location;
    use std::sync::OnceLock;

    use crate::handles::{Moment, Origin, StepCrossing, next_moment};

    /// A look-up that crossed, and succeeded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct SeenCrossing {
        pub(crate) crossing: StepCrossing,
        pub(crate) made_at: &'static Location<'static>,
        pub(crate) read_at: &'static Location<'static>,
    }

    /// Knows when the last step began and ended, and the first crossing in each direction.
    #[derive(Default)]
    pub(in crate::arenas) struct Watch {
        is_in_step: bool,
        last_step: Range<Moment>,
        seen: [OnceLock<SeenCrossing>; 2],
        is_told: [bool; 2],
    }

    impl Watch {
        /// Notes that a fixed step begins.
        pub(in crate::arenas) fn enter_step(&mut self) {
            self.is_in_step = true;
            self.last_step = next_moment()..Moment::MAX;
        }

        /// Notes that the fixed step ends.
        pub(in crate::arenas) fn leave_step(&mut self) {
            self.is_in_step = false;
            self.last_step.end = next_moment();
        }

        /// Returns whether what is read now was made on the other side.
        pub(in crate::arenas) fn crossing(&self, origin: Origin) -> Option<StepCrossing> {
            let made = origin.moment()?;
            if self.is_in_step {
                (made < self.last_step.start).then_some(StepCrossing::MadeInFrame)
            } else {
                (self.last_step.contains(&made)).then_some(StepCrossing::MadeInStep)
            }
        }

        /// Remembers the first look-up that crosses in a direction, at the caller's line.
        #[inline]
        #[track_caller]
        pub(in crate::arenas) fn look_up(&self, origin: Origin) {
            if let (Some(crossing), Some(made_at)) = (self.crossing(origin), origin.location()) {
                let seen = SeenCrossing {
                    crossing,
                    made_at,
                    read_at: Location::caller(),
                };
                // Only the first is kept.
                let _ = self.seen[crossing as usize].set(seen);
            }
        }

        /// Returns each crossing once.
        pub(in crate::arenas) fn take_crossing(&mut self) -> Option<SeenCrossing> {
            let places = self.seen.iter().zip(&mut self.is_told);
            places
                .filter_map(|(seen, is_told)| Some((*seen.get()?, is_told)))
                .find_map(|(seen, is_told)| (!mem::replace(is_told, true)).then_some(seen))
        }
    }
}

#[cfg(not(debug_assertions))]
mod blind {
    use crate::handles::{Origin, StepCrossing};

    /// Nothing: release builds do not look.
    #[derive(Default)]
    pub(in crate::arenas) struct Watch;

    impl Watch {
        pub(in crate::arenas) fn crossing(&self, _origin: Origin) -> Option<StepCrossing> {
            None
        }

        #[inline(always)]
        pub(in crate::arenas) fn look_up(&self, _origin: Origin) {}
    }
}
