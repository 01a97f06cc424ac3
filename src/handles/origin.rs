//! The line that made a handle, and when: debug builds remember it.
#![forbid(unsafe_code)]

#[cfg(not(debug_assertions))]
pub(crate) use self::forgotten::Origin;
#[cfg(debug_assertions)]
pub(crate) use self::remembered::{Moment, Origin, next_moment};

#[cfg(debug_assertions)]
mod remembered {
    use std::panic::Location;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// A time that is told by what began before it: see [`next_moment`].
    pub(crate) type Moment = u64;

    static NOW: AtomicU64 = AtomicU64::new(0);

    /// Begins another moment: handles that are made from now on have it, or a later one.
    pub(crate) fn next_moment() -> Moment {
        NOW.fetch_add(1, Relaxed) + 1
    }

    /// Where and when a handle was made.
    #[derive(Clone, Copy)]
    pub(crate) struct Origin(Option<(&'static Location<'static>, Moment)>);

    impl Origin {
        /// The origin of a handle that was never set.
        pub(in crate::handles) const NONE: Self = Self(None);

        /// Returns the caller's line, now.
        #[inline(always)]
        #[track_caller]
        pub(in crate::handles) fn here() -> Self {
            Self(Some((Location::caller(), NOW.load(Relaxed))))
        }

        pub(crate) fn location(self) -> Option<&'static Location<'static>> {
            self.0.map(|(line, _)| line)
        }

        pub(crate) fn moment(self) -> Option<Moment> {
            self.0.map(|(_, moment)| moment)
        }
    }
}

#[cfg(not(debug_assertions))]
mod forgotten {
    use std::panic::Location;

    /// Nothing: in release builds a handle is a pointer and a stamp.
    #[derive(Clone, Copy)]
    pub(crate) struct Origin;

    impl Origin {
        /// The origin of a handle that was never set.
        pub(in crate::handles) const NONE: Self = Self;

        /// Forgets the caller's line.
        #[inline(always)]
        pub(in crate::handles) fn here() -> Self {
            Self
        }

        pub(crate) fn location(self) -> Option<&'static Location<'static>> {
            None
        }
    }
}
