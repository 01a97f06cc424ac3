//! The line that made a handle, which debug builds remember.
#![forbid(unsafe_code)]

#[cfg(not(debug_assertions))]
pub(super) use self::forgotten::Origin;
#[cfg(debug_assertions)]
pub(super) use self::remembered::Origin;

#[cfg(debug_assertions)]
mod remembered {
    use std::panic::Location;

    /// Where a handle was made.
    #[derive(Clone, Copy)]
    pub(in crate::handles) struct Origin(Option<&'static Location<'static>>);

    impl Origin {
        /// The origin of a handle that was never set.
        pub(in crate::handles) const NONE: Self = Self(None);

        /// Returns the caller's line.
        #[inline(always)]
        #[track_caller]
        pub(in crate::handles) fn here() -> Self {
            Self(Some(Location::caller()))
        }

        pub(in crate::handles) fn location(self) -> Option<&'static Location<'static>> {
            self.0
        }
    }
}

#[cfg(not(debug_assertions))]
mod forgotten {
    use std::panic::Location;

    /// Nothing: in release builds a handle is a pointer and a stamp.
    #[derive(Clone, Copy)]
    pub(in crate::handles) struct Origin;

    impl Origin {
        /// The origin of a handle that was never set.
        pub(in crate::handles) const NONE: Self = Self;

        /// Forgets the caller's line.
        #[inline(always)]
        pub(in crate::handles) fn here() -> Self {
            Self
        }

        pub(in crate::handles) fn location(self) -> Option<&'static Location<'static>> {
            None
        }
    }
}
