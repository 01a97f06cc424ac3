//! What has changed between two sorted lists, and between the lists of two periods.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::fmt;
use std::iter::from_fn;

use super::FrameArenas;
use crate::handles::FrameHandle;

/// A difference between two sorted lists; see [`TwoFrames::changes`] and [`changes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change<'a, T> {
    /// Only the new list has this element.
    Added(&'a T),
    /// Only the old list has this element.
    Removed(&'a T),
    /// Both lists have an element with this key, and the two differ. Only comparisons by key yield this.
    Changed {
        /// The element of the old list.
        before: &'a T,
        /// The element of the new list.
        now: &'a T,
    },
}

impl<'a, T> Change<'a, T> {
    /// Returns the element, if it was added: `changes.filter_map(Change::added)`.
    ///
    /// ```
    /// # use bevy_frame_arena::{Change, changes};
    /// assert!(changes(&[1, 2], &[2, 3]).filter_map(Change::added).eq(&[3]));
    /// ```
    #[inline]
    pub const fn added(self) -> Option<&'a T> {
        match self {
            Self::Added(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the element, if it was removed.
    ///
    /// ```
    /// # use bevy_frame_arena::{Change, changes};
    /// assert!(changes(&[1, 2], &[2, 3]).filter_map(Change::removed).eq(&[1]));
    /// ```
    #[inline]
    pub const fn removed(self) -> Option<&'a T> {
        match self {
            Self::Removed(value) => Some(value),
            _ => None,
        }
    }
}

/// Compares two sorted lists in one pass, without allocating: for lists that are not in a
/// [`TwoFrames`], e.g. those of two leases.
///
/// The changes come in the order of the lists. An element that a list has several times counts as
/// often. If a list is not sorted, elements that both lists have may be reported as removed and added.
///
/// ```
/// use bevy_frame_arena::{Change, changes};
///
/// let changes: Vec<_> = changes(&[1, 2, 4], &[2, 3]).collect();
/// assert_eq!(changes, [Change::Removed(&1), Change::Added(&3), Change::Removed(&4)]);
/// ```
#[inline]
pub fn changes<'a, T: Ord>(
    before: &'a [T],
    now: &'a [T],
) -> impl Iterator<Item = Change<'a, T>> + use<'a, T> {
    walk(before, now, T::cmp, |_, _| true)
}

/// Compares two lists that are sorted by a key, in one pass, without allocating: elements with the same key
/// that differ are [`Changed`](Change::Changed).
///
/// ```
/// use bevy_frame_arena::{Change, changes_by_key};
///
/// let before = [("a", 1), ("b", 2)];
/// let now = [("b", 3), ("c", 4)];
/// let changes: Vec<_> = changes_by_key(&before, &now, |it| it.0).collect();
/// let b = Change::Changed { before: &before[1], now: &now[0] };
/// assert_eq!(changes, [Change::Removed(&("a", 1)), b, Change::Added(&("c", 4))]);
/// ```
#[inline]
pub fn changes_by_key<'a, T: PartialEq, K: Ord>(
    before: &'a [T],
    now: &'a [T],
    mut key: impl FnMut(&T) -> K,
) -> impl Iterator<Item = Change<'a, T>> {
    walk(before, now, move |a, b| key(a).cmp(&key(b)), T::eq)
}

/// Each step takes at least one element off a list, so it ends, whatever `compare` returns.
#[inline]
fn walk<'a, T, C, S>(
    before: &'a [T],
    now: &'a [T],
    mut compare: C,
    mut is_same: S,
) -> impl Iterator<Item = Change<'a, T>> + use<'a, T, C, S>
where
    C: FnMut(&T, &T) -> Ordering,
    S: FnMut(&T, &T) -> bool,
{
    let (mut old, mut new) = (before.iter(), now.iter());
    from_fn(move || {
        loop {
            let (Some(before), Some(now)) = (old.as_slice().first(), new.as_slice().first()) else {
                let removed = || old.next().map(Change::Removed);
                return new.next().map(Change::Added).or_else(removed);
            };
            match compare(before, now) {
                Ordering::Less => return old.next().map(Change::Removed),
                Ordering::Greater => return new.next().map(Change::Added),
                Ordering::Equal => {
                    old.next();
                    new.next();
                    if !is_same(before, now) {
                        return Some(Change::Changed { before, now });
                    }
                }
            }
        }
    })
}

/// A sorted list of this period and the one before it. Use it to find out who came into view and who left,
/// which targets were gained and lost, which cells must be meshed again.
///
/// Keep it in a resource or component of your own and [`set`](Self::set) it once a period;
/// [`changes`](Self::changes) compares the two lists in place, without allocating.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::prelude::*;
///
/// #[derive(Component)]
/// struct Distance(f32);
///
/// #[derive(Resource, Default)]
/// struct Visible(TwoFrames<Entity>);
///
/// fn cull(arenas: Res<FrameArenas>, objects: Query<(Entity, &Distance)>, mut visible: ResMut<Visible>) {
///     let list = arenas.collector();
///     objects.par_iter().for_each_init(|| list.batch(), |batch, (entity, distance)| {
///         if distance.0 < 100.0 {
///             batch.push(entity);
///         }
///     });
///     visible.0.set(list.share_sorted());
/// }
///
/// fn react(arenas: Res<FrameArenas>, visible: Res<Visible>) {
///     for change in visible.0.changes(&arenas) {
///         match change {
///             Change::Added(entity) => println!("{entity} came into view"),
///             Change::Removed(entity) => println!("{entity} left"),
///             Change::Changed { .. } => {}
///         }
///     }
/// }
/// ```
///
/// The list of the period before must still be readable: with
/// [`LivesFor::OnePeriod`](crate::LivesFor::OnePeriod) it never is.
pub struct TwoFrames<T> {
    now: FrameHandle<[T]>,
    before: FrameHandle<[T]>,
}

impl<T: 'static> TwoFrames<T> {
    /// Sets the list of this period; what was the list before becomes the old one. A second list of the same
    /// period replaces the first.
    ///
    /// ```
    /// # use bevy_frame_arena::{Change, FrameArenas, TwoFrames};
    /// let mut arenas = FrameArenas::default();
    /// let mut near = TwoFrames::default();
    /// near.set(arenas.local().share_slice_copy(&[1, 2]));
    /// arenas.swap();
    /// near.set(arenas.local().share_slice_copy(&[2, 3]));
    /// assert!(near.changes(&arenas).eq([Change::Removed(&1), Change::Added(&3)]));
    /// ```
    pub fn set(&mut self, list: FrameHandle<[T]>) {
        if self.now.stamp() != list.stamp() {
            self.before = self.now;
        }
        self.now = list;
    }

    /// Returns the list that was set last.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArenas, TwoFrames};
    /// let arenas = FrameArenas::default();
    /// let mut near = TwoFrames::default();
    /// near.set(arenas.local().share_slice_copy(&[1, 2]));
    /// assert_eq!(arenas[near.now()], [1, 2]);
    /// ```
    pub const fn now(&self) -> FrameHandle<[T]> {
        self.now
    }

    /// Returns the list of the period before that.
    ///
    /// ```
    /// # use bevy_frame_arena::TwoFrames;
    /// assert!(TwoFrames::<u32>::default().before().is_unset());
    /// ```
    pub const fn before(&self) -> FrameHandle<[T]> {
        self.before
    }

    /// Compares the two lists in one pass, without allocating; see [`changes`]. Read it in the period in which
    /// the list was set, after that: in a period without a new list nothing has changed.
    ///
    /// If the old list is stale or unset, all elements are [`Added`](Change::Added);
    /// [`has_gap`](Self::has_gap) tells the two apart.
    pub fn changes<'a>(
        &self,
        arenas: &'a FrameArenas,
    ) -> impl Iterator<Item = Change<'a, T>> + use<'a, T>
    where
        T: Ord,
    {
        let (before, now) = self.lists(arenas);
        changes(before, now)
    }

    /// Compares the two lists, which are sorted by a key; see [`changes_by_key`] and
    /// [`changes`](Self::changes).
    ///
    /// ```
    /// # use bevy_frame_arena::{Change, FrameArenas, TwoFrames};
    /// let mut arenas = FrameArenas::default();
    /// let mut health = TwoFrames::default();
    /// for list in [[("a", 9), ("b", 5)], [("a", 9), ("b", 4)]] {
    ///     arenas.swap();
    ///     health.set(arenas.local().share_slice_copy(&list));
    /// }
    /// let hit = Change::Changed { before: &("b", 5), now: &("b", 4) };
    /// assert!(health.changes_by_key(&arenas, |it| it.0).eq([hit]));
    /// ```
    pub fn changes_by_key<'a, K: Ord, F: FnMut(&T) -> K>(
        &self,
        arenas: &'a FrameArenas,
        key: F,
    ) -> impl Iterator<Item = Change<'a, T>> + use<'a, T, K, F>
    where
        T: PartialEq,
    {
        let (before, now) = self.lists(arenas);
        changes_by_key(before, now, key)
    }

    /// Returns whether there was an old list that can no longer be read, as after a pause: its elements are not
    /// reported as removed. If you keep something for each element, begin anew.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArenas, TwoFrames};
    /// let mut arenas = FrameArenas::default();
    /// let mut near = TwoFrames::default();
    /// near.set(arenas.local().share_slice_copy(&[1]));
    /// (0..5).for_each(|_| arenas.swap());
    /// near.set(arenas.local().share_slice_copy(&[2]));
    /// assert!(near.has_gap(&arenas));
    /// ```
    pub fn has_gap(&self, arenas: &FrameArenas) -> bool {
        let is_new = arenas.ring.is_current(self.now.stamp());
        is_new && !self.before.is_unset() && !arenas.ring.holds(self.before.stamp())
    }

    /// Returns the old and the new list. A look-up that fails is expected here, so it is not counted.
    fn lists<'a>(&self, arenas: &'a FrameArenas) -> (&'a [T], &'a [T]) {
        if !arenas.ring.is_current(self.now.stamp()) {
            return (&[], &[]);
        }
        let is_kept = arenas.ring.holds(self.before.stamp());
        let before = if is_kept { &arenas[self.before] } else { &[] };
        (before, &arenas[self.now])
    }
}

// Not derived: that would ask of `T` what the handles do not need.
impl<T> Clone for TwoFrames<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TwoFrames<T> {}

/// Two unset lists.
impl<T> Default for TwoFrames<T> {
    fn default() -> Self {
        Self {
            now: FrameHandle::default(),
            before: FrameHandle::default(),
        }
    }
}

impl<T> fmt::Debug for TwoFrames<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwoFrames")
            .field("now", &self.now)
            .field("before", &self.before)
            .finish()
    }
}
