//! The list that comes out of a collector, and the memory that it goes to.
#![expect(unsafe_code, reason = "trusts that room in lists was filled")]

use std::cmp::Ordering;
use std::mem::MaybeUninit;

use super::FrameCollector;
use crate::containers::{FrameVec, or_fail};
use crate::error::ArenaError;
use crate::handles::FrameHandle;

/// # One list for all to read
impl<T: Send + Sync + 'static> FrameCollector<'_, T> {
    /// Makes one list of all elements and shares it, as
    /// [`FrameArena::share`](crate::FrameArena::share) does. Elements of a batch stay in their order. The order
    /// of the batches is arbitrary, unless they have a number ([`batch_at`](Self::batch_at)).
    /// [`share_sorted`](Self::share_sorted) costs little more, and returns the same list each time.
    #[track_caller]
    pub fn share(self) -> FrameHandle<[T]> {
        or_fail(self.try_share())
    }

    /// Shares as [`share`](Self::share) does, or returns an error and drops the elements.
    #[track_caller]
    pub fn try_share(self) -> Result<FrameHandle<[T]>, ArenaError> {
        self.try_share_list(unsorted())
    }

    /// Makes one sorted list of all elements and shares it. The list does not depend on which worker was
    /// faster, unless elements that compare as equal can be told apart: their order is unspecified.
    ///
    /// The workers of a `par_iter` visit parts of one list. So their batches are usually parts of one sorted
    /// list, or of a reversed one, and only have to be put in order, after a cheap check. Sorted batches that
    /// overlap are merged. All elements are sorted only if a batch is not sorted, or if too many overlap.
    ///
    /// # Panics
    /// If memory is refused, or a comparison panics; the elements are dropped.
    #[track_caller]
    pub fn share_sorted(self) -> FrameHandle<[T]>
    where
        T: Ord,
    {
        self.share_sorted_by(T::cmp)
    }

    /// Makes one list of all elements, sorted by a key, and shares it; see [`share_sorted`](Self::share_sorted).
    #[track_caller]
    pub fn share_sorted_by_key<K: Ord>(self, mut key: impl FnMut(&T) -> K) -> FrameHandle<[T]> {
        self.share_sorted_by(|a, b| key(a).cmp(&key(b)))
    }

    /// Makes one list of all elements, in an order of your own, and shares it: e.g. by distance.
    /// See [`share_sorted`](Self::share_sorted).
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend([2.5_f32, 0.5, 1.5]);
    /// let nearest_first = collector.share_sorted_by(f32::total_cmp);
    /// assert_eq!(arenas[nearest_first], [0.5, 1.5, 2.5]);
    /// ```
    #[track_caller]
    pub fn share_sorted_by(self, compare: impl FnMut(&T, &T) -> Ordering) -> FrameHandle<[T]> {
        or_fail(self.try_share_list(Some(compare)))
    }
}

/// # Into other memory
impl<T: Send> FrameCollector<'_, T> {
    /// Moves all elements into memory of your own: to the end of a `Vec` or [`FrameVec`](crate::FrameVec), or to
    /// the start of a `&mut [MaybeUninit<T>]`, e.g. a mapped buffer of the renderer. For the latter, the
    /// initialised part is returned. Each element is copied once, from the worker's memory to its destination.
    ///
    /// Elements of a batch stay in their order. The order of the batches is arbitrary, unless they have a number
    /// ([`batch_at`](Self::batch_at)).
    ///
    /// # Panics
    /// If the slice has fewer slots than there are elements, or if memory is refused. The elements are dropped
    /// first.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # use std::mem::MaybeUninit;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend([3, 1, 2]);
    /// let mut list = vec![4];
    /// collector.gather_into(&mut list);
    /// assert_eq!(list, [4, 3, 1, 2]);
    ///
    /// let collector = arenas.collector();
    /// collector.batch().extend([3, 1, 2]);
    /// let mut mapped = [MaybeUninit::uninit(); 64];
    /// assert_eq!(collector.gather_into(&mut mapped[..]), [3, 1, 2]);
    /// ```
    #[track_caller]
    pub fn gather_into<G: GatherInto<T>>(self, target: G) -> G::Filled {
        or_fail(self.try_gather(target, unsorted()))
    }

    /// Moves all elements, in an order of your own, into memory of your own; see
    /// [`gather_into`](Self::gather_into) and [`share_sorted`](Self::share_sorted).
    #[track_caller]
    pub fn gather_sorted_into<G: GatherInto<T>>(
        self,
        target: G,
        compare: impl FnMut(&T, &T) -> Ordering,
    ) -> G::Filled {
        or_fail(self.try_gather(target, Some(compare)))
    }
}

fn unsorted<T>() -> Option<fn(&T, &T) -> Ordering> {
    None
}

/// Memory into which a collector can move its elements: a `&mut Vec`, a `&mut FrameVec`, or a
/// `&mut [MaybeUninit]` such as a mapped buffer. See [`FrameCollector::gather_into`].
pub trait GatherInto<T>: sealed::Target<T> {}

impl<T, G: sealed::Target<T>> GatherInto<T> for G {}

mod sealed {
    use super::{ArenaError, MaybeUninit};

    pub trait Target<T>: Sized {
        type Filled;

        /// Returns room for `len` elements.
        fn try_room(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], ArenaError>;

        /// Takes over the elements.
        ///
        /// # Safety
        /// The last call must have been `try_room(len)`, and all of that room must be initialised.
        unsafe fn filled(self, len: usize) -> Self::Filled;
    }
}

impl<T> sealed::Target<T> for &mut Vec<T> {
    type Filled = ();

    fn try_room(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], ArenaError> {
        self.reserve(len);
        Ok(&mut self.spare_capacity_mut()[..len])
    }

    unsafe fn filled(self, len: usize) {
        let len = self.len() + len;
        // SAFETY: the room for `len` elements behind the length was filled.
        unsafe { self.set_len(len) };
    }
}

impl<T> sealed::Target<T> for &mut FrameVec<'_, T> {
    type Filled = ();

    fn try_room(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], ArenaError> {
        self.try_reserve(len)?;
        Ok(&mut self.spare_capacity_mut()[..len])
    }

    unsafe fn filled(self, len: usize) {
        let len = self.len() + len;
        // SAFETY: the room for `len` elements behind the length was filled.
        unsafe { self.set_len(len) };
    }
}

impl<'r, T> sealed::Target<T> for &'r mut [MaybeUninit<T>] {
    type Filled = &'r mut [T];

    #[track_caller]
    fn try_room(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], ArenaError> {
        let room = self.len();
        match self.get_mut(..len) {
            Some(slots) => Ok(slots),
            None => panic!("{len} elements were collected, and there is room for {room}"),
        }
    }

    unsafe fn filled(self, len: usize) -> &'r mut [T] {
        // SAFETY: the first `len` slots were filled.
        unsafe { self[..len].assume_init_mut() }
    }
}
