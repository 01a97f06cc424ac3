//! The list that comes out of a collector.
#![forbid(unsafe_code)]

use std::cmp::Ordering;

use super::{FrameCollector, GatherInto};
use crate::containers::FrameVec;
use crate::error::{ArenaError, fail};
use crate::handles::FrameHandle;

impl<'a, T: Send> FrameCollector<'a, T> {
    /// Makes one list of all elements and shares it, as
    /// [`FrameArena::share`](crate::FrameArena::share) does. Elements of a batch stay in their
    /// order; the batches come in any, unless they have a number ([`batch_at`](Self::batch_at)).
    /// [`share_sorted`](Self::share_sorted) costs little more, and gives the same list each time.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend([3, 1, 2]);
    /// assert_eq!(arenas[collector.share()], [3, 1, 2]);
    /// ```
    #[track_caller]
    pub fn share(self) -> FrameHandle<[T]>
    where
        T: Sync + 'static,
    {
        match self.try_share() {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Makes one list of all elements and shares it.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    #[track_caller]
    pub fn try_share(self) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Sync + 'static,
    {
        self.try_into_vec()?.try_share()
    }

    /// Makes one sorted list of all elements and shares it: the same list each time, unless two
    /// elements are equal and yet differ. See
    /// [`share_sorted_by_key`](Self::share_sorted_by_key).
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit, or a comparison panics; the elements are dropped then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend([3, 1, 2]);
    /// assert_eq!(arenas[collector.share_sorted()], [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn share_sorted(self) -> FrameHandle<[T]>
    where
        T: Ord + Sync + 'static,
    {
        match self.try_share_sorted_by(T::cmp) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Makes one list of all elements, sorted by a key, and shares it. Use it where the order
    /// must not depend on which worker was faster.
    ///
    /// Workers go through parts of one list, so their batches are mostly parts of one sorted list,
    /// or of a reversed one: put in the order of their first keys, they are that list. That, and
    /// looking whether it is so, is cheap. Batches that are sorted each and overlap are merged; only if they are
    /// not, all elements are sorted. The order of
    /// elements with equal keys is not defined.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit, or `key` panics; the elements are dropped then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend([(3, 'c'), (4, 'd')]);
    /// collector.batch().extend([(1, 'a'), (2, 'b')]);
    /// let list = collector.share_sorted_by_key(|pair| pair.0);
    /// assert_eq!(arenas[list], [(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')]);
    /// ```
    #[track_caller]
    pub fn share_sorted_by_key<K: Ord>(self, key: impl FnMut(&T) -> K) -> FrameHandle<[T]>
    where
        T: Sync + 'static,
    {
        match self.try_share_sorted_by_key(key) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Makes one list of all elements, sorted by a key, and shares it.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    ///
    /// # Panics
    /// If `key` panics; the elements are dropped then.
    #[track_caller]
    pub fn try_share_sorted_by_key<K: Ord>(
        self,
        mut key: impl FnMut(&T) -> K,
    ) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Sync + 'static,
    {
        self.try_share_sorted_by(|a, b| key(a).cmp(&key(b)))
    }

    /// Makes one list of all elements, in an order of your own, and shares it: by distance, for one.
    /// See [`share_sorted_by_key`](Self::share_sorted_by_key).
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit, or `compare` panics; the elements are dropped
    /// then.
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
    pub fn share_sorted_by(self, compare: impl FnMut(&T, &T) -> Ordering) -> FrameHandle<[T]>
    where
        T: Sync + 'static,
    {
        match self.try_share_sorted_by(compare) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Makes one list of all elements, in an order of your own, and shares it.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    ///
    /// # Panics
    /// If `compare` panics; the elements are dropped then.
    #[track_caller]
    pub fn try_share_sorted_by(
        self,
        compare: impl FnMut(&T, &T) -> Ordering,
    ) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Sync + 'static,
    {
        let mut list = self.arenas.local().vec();
        self.try_gather_sorted(&mut list, compare)?;
        list.try_share()
    }

    /// Makes one vector of all elements, in the calling worker's arena: for what the system itself
    /// goes on to change. Elements of a batch stay in their order; the batches come in any.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend([3, 1, 2]);
    /// let mut list = collector.into_vec();
    /// list.push(4);
    /// assert_eq!(list[..], [3, 1, 2, 4]);
    /// ```
    #[track_caller]
    pub fn into_vec(self) -> FrameVec<'a, T> {
        match self.try_into_vec() {
            Ok(vec) => vec,
            Err(error) => fail(error),
        }
    }

    /// Makes one vector of all elements, in the calling worker's arena.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn try_into_vec(self) -> Result<FrameVec<'a, T>, ArenaError> {
        let mut list = self.arenas.local().vec();
        self.try_gather(&mut list)?;
        Ok(list)
    }
}

/// # Into memory of others
impl<T: Send> FrameCollector<'_, T> {
    /// Moves all elements into memory that somebody else owns: to the end of a `Vec` or [`FrameVec`], or to the
    /// start of a `&mut [MaybeUninit<T>]`, e.g. a mapped buffer of the renderer, whose initialised part is
    /// returned. Each element is copied once, from the worker's memory to where it ends up.
    ///
    /// Elements of a batch stay in their order; the batches come in any, unless they have a number
    /// ([`batch_at`](Self::batch_at)).
    ///
    /// # Panics
    /// If the slice has fewer slots than there are elements, or if an arena is out of memory or over a limit.
    /// The elements are dropped first.
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
        match self.try_gather(target) {
            Ok(filled) => filled,
            Err(error) => fail(error),
        }
    }

    /// Moves all elements, sorted, into memory that somebody else owns; see [`gather_into`](Self::gather_into)
    /// and [`share_sorted_by_key`](Self::share_sorted_by_key).
    ///
    /// # Panics
    /// If the slice has fewer slots than there are elements, if an arena is out of memory or over a limit, or if
    /// a comparison panics. The elements are dropped first.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend([3, 1, 2]);
    /// let mut list = vec![4];
    /// collector.gather_sorted_into(&mut list);
    /// assert_eq!(list, [4, 1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn gather_sorted_into<G: GatherInto<T>>(self, target: G) -> G::Filled
    where
        T: Ord,
    {
        match self.try_gather_sorted(target, T::cmp) {
            Ok(filled) => filled,
            Err(error) => fail(error),
        }
    }

    /// Moves all elements, sorted by a key, into memory that somebody else owns; see
    /// [`gather_into`](Self::gather_into) and [`share_sorted_by_key`](Self::share_sorted_by_key).
    ///
    /// # Panics
    /// If the slice has fewer slots than there are elements, if an arena is out of memory or over a limit, or if
    /// `key` panics. The elements are dropped first.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend(["ccc", "a", "bb"]);
    /// let mut list = Vec::new();
    /// collector.gather_sorted_by_key_into(&mut list, |word| word.len());
    /// assert_eq!(list, ["a", "bb", "ccc"]);
    /// ```
    #[track_caller]
    pub fn gather_sorted_by_key_into<G: GatherInto<T>, K: Ord>(
        self,
        target: G,
        mut key: impl FnMut(&T) -> K,
    ) -> G::Filled {
        match self.try_gather_sorted(target, |a, b| key(a).cmp(&key(b))) {
            Ok(filled) => filled,
            Err(error) => fail(error),
        }
    }
}
