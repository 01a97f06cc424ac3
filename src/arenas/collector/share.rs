//! The list that comes out of a collector.
#![forbid(unsafe_code)]

use std::cmp::Ordering;

use super::{FrameCollector, GatherInto};
use crate::containers::or_fail;
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
        or_fail(self.try_share_sorted_by(T::cmp))
    }

    /// Makes one list of all elements, sorted by a key, and shares it; see [`share_sorted`](Self::share_sorted).
    #[track_caller]
    pub fn share_sorted_by_key<K: Ord>(self, mut key: impl FnMut(&T) -> K) -> FrameHandle<[T]> {
        or_fail(self.try_share_sorted_by(|a, b| key(a).cmp(&key(b))))
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
        or_fail(self.try_share_sorted_by(compare))
    }

    /// Shares as [`share_sorted_by`](Self::share_sorted_by) does, or returns an error and drops the elements.
    #[track_caller]
    pub fn try_share_sorted_by(
        self,
        compare: impl FnMut(&T, &T) -> Ordering,
    ) -> Result<FrameHandle<[T]>, ArenaError> {
        self.try_share_list(Some(compare))
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
