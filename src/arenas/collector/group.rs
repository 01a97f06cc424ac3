//! One list for each key.
#![expect(unsafe_code, reason = "makes handles to parts of a list")]

use std::fmt;
use std::ptr::NonNull;

use super::FrameCollector;
use crate::error::{ArenaError, fail};
use crate::handles::FrameHandle;

/// The elements with one key: see
/// [`share_grouped_by_key`](FrameCollector::share_grouped_by_key).
pub struct FrameGroup<K, T> {
    /// What the elements have in common.
    pub key: K,
    /// The elements, in a list of their own.
    pub values: FrameHandle<[T]>,
}

// Not derived: that would ask of `T` what the handle does not need.
impl<K: Clone, T> Clone for FrameGroup<K, T> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            values: self.values,
        }
    }
}

impl<K: Copy, T> Copy for FrameGroup<K, T> {}

impl<K: PartialEq, T> PartialEq for FrameGroup<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.values == other.values
    }
}

impl<K: Eq, T> Eq for FrameGroup<K, T> {}

impl<K: fmt::Debug, T> fmt::Debug for FrameGroup<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameGroup")
            .field("key", &self.key)
            .field("values", &self.values)
            .finish()
    }
}

impl<T: Send + Sync + 'static> FrameCollector<'_, T> {
    /// Shares one list for each key: the cells of a grid, the classes of what is visible.
    ///
    /// The groups are sorted by their key, so a single one is found by `binary_search_by`; the
    /// elements of a group are sorted by `order` (`|_| 0` where that does not matter). The lists
    /// of all groups lie side by side, in the order of the groups.
    ///
    /// This sorts all elements. Where there are few keys and they are known beforehand, collect
    /// into an array of collectors instead, one for each.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit, or one of the closures panics; the elements are dropped
    /// then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let cells = arenas.collector();
    /// cells.batch().extend([("b", 3), ("a", 2), ("b", 1)]);
    /// let cells = cells.share_grouped_by_key(|item| item.0, |item| item.1);
    ///
    /// let cells = &arenas[cells];
    /// assert_eq!((cells[0].key, &arenas[cells[0].values]), ("a", &[("a", 2)][..]));
    /// assert_eq!(arenas[cells[1].values], [("b", 1), ("b", 3)]);
    /// ```
    #[track_caller]
    pub fn share_grouped_by_key<K, O>(
        self,
        key: impl FnMut(&T) -> K,
        order: impl FnMut(&T) -> O,
    ) -> FrameHandle<[FrameGroup<K, T>]>
    where
        K: Ord + Send + Sync + 'static,
        O: Ord,
    {
        match self.try_share_grouped_by_key(key, order) {
            Ok(groups) => groups,
            Err(error) => fail(error),
        }
    }

    /// Shares one list for each key.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    ///
    /// # Panics
    /// If one of the closures panics; the elements are dropped then.
    #[track_caller]
    pub fn try_share_grouped_by_key<K, O>(
        self,
        mut key: impl FnMut(&T) -> K,
        mut order: impl FnMut(&T) -> O,
    ) -> Result<FrameHandle<[FrameGroup<K, T>]>, ArenaError>
    where
        K: Ord + Send + Sync + 'static,
        O: Ord,
    {
        let arenas = self.arenas;
        let arena = arenas.local();
        let room = arena.try_room_for_drop::<T>()?;
        let list = self.try_gather_sorted(arena, |a, b| {
            let by_key = key(a).cmp(&key(b));
            by_key.then_with(|| order(a).cmp(&order(b)))
        })?;

        let groups = arenas.collector();
        let mut batch = groups.try_batch()?;
        let mut rest = &*list;
        let mut start = list.as_ptr().cast::<T>();
        while let Some(first) = rest.first() {
            let group_key = key(first);
            // A key of the same element may differ the second time, but the list must end.
            let len = rest.iter().take_while(|value| key(value) == group_key);
            let len = len.count().max(1);
            let values = NonNull::slice_from_raw_parts(start, len);
            batch.try_push(FrameGroup {
                key: group_key,
                // SAFETY: the elements lie in memory of this arena, and are given up below. If
                // that does not come to pass, neither does anybody see this handle.
                values: unsafe { arena.handle(values) },
            })?;
            rest = &rest[len..];
            // SAFETY: there were at least `len` elements left.
            start = unsafe { start.add(len) };
        }
        let groups = groups.try_share()?;
        // SAFETY: the elements lie in memory of this arena, and were given up.
        unsafe { arena.drop_at_recycle(room, list.leak()) };
        Ok(groups)
    }
}
