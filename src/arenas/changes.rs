//! The differences between two sorted lists, and between the lists of two periods.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::fmt;
use std::iter::from_fn;
use std::panic::Location;

use super::FrameArenas;
use crate::handles::FrameHandle;
use crate::settings::LivesFor;

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
    #[inline]
    pub const fn removed(self) -> Option<&'a T> {
        match self {
            Self::Removed(value) => Some(value),
            _ => None,
        }
    }
}

/// Compares two sorted lists in one pass, without allocating. Use it for lists that are not in a
/// [`TwoFrames`], e.g. those of two leases.
///
/// The changes come in the order of the lists. Of equal elements, only those in excess are reported: `[1, 1]`
/// and `[1]` differ by one removal. If a list is not sorted, elements of both lists may be reported as removed
/// and added.
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

/// Each step takes at least one element off a list, so the walk ends, whatever `compare` returns.
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

/// A sorted list of this period and the one before it. Use it to find the objects that came into view or left,
/// the targets gained and lost, the cells to mesh again.
///
/// Keep it in a resource or component of your own and [`set`](Self::set) it once a period;
/// [`changes`](Self::changes) compares the two lists in place, without allocating.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::prelude::*;
///
/// #[derive(Component)]
/// struct InView;
///
/// #[derive(Resource, Default)]
/// struct Visible(TwoFrames<Entity>);
///
/// fn list(arenas: Res<FrameArenas>, in_view: Query<Entity, With<InView>>, mut visible: ResMut<Visible>) {
///     let mut list = arenas.local().collect(&in_view);
///     list.sort_unstable();
///     visible.0.set(list.share());
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
/// The old list must still be readable. With [`LivesFor::OnePeriod`] it never is, and all elements count as
/// added in each period. The app logs a warning for it, except for arenas that give their memory back at the
/// end of a period (`trim_after_periods: Some(0)`), such as those of levels.
pub struct TwoFrames<T> {
    now: FrameHandle<[T]>,
    before: FrameHandle<[T]>,
}

impl<T: 'static> TwoFrames<T> {
    /// Sets the list of this period. The list set in an earlier period becomes the old one. A second list of the
    /// same period replaces the first.
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
    pub const fn now(&self) -> FrameHandle<[T]> {
        self.now
    }

    /// Compares the two lists in one pass, without allocating; see [`changes`]. Call it after
    /// [`set`](Self::set), in the same period, with the arenas in which the lists were made: a period without a
    /// new list has no changes.
    ///
    /// If the old list is stale or unset, all elements are [`Added`](Change::Added);
    /// [`has_gap`](Self::has_gap) distinguishes the two cases.
    #[track_caller]
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

    /// Compares the two lists, which must be sorted by a key, as [`changes`](Self::changes) does. Elements with
    /// the same key that differ are [`Changed`](Change::Changed).
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
    #[track_caller]
    pub fn changes_by_key<'a, K: Ord, F: FnMut(&T) -> K>(
        &self,
        arenas: &'a FrameArenas,
        mut key: F,
    ) -> impl Iterator<Item = Change<'a, T>> + use<'a, T, K, F>
    where
        T: PartialEq,
    {
        let (before, now) = self.lists(arenas);
        walk(before, now, move |a, b| key(a).cmp(&key(b)), T::eq)
    }

    /// Returns whether the old list is stale, e.g. after a pause. Its elements are not reported as removed, so
    /// discard the data that you keep for each element.
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

    /// Returns the old and the new list. A failed look-up is expected here, so it is not counted.
    #[track_caller]
    fn lists<'a>(&self, arenas: &'a FrameArenas) -> (&'a [T], &'a [T]) {
        if !arenas.ring.is_current(self.now.stamp()) {
            return (&[], &[]);
        }
        let is_kept = arenas.ring.holds(self.before.stamp());
        let lives_for = arenas.settings().lives_for;
        if !is_kept && !self.before.is_unset() && lives_for == LivesFor::OnePeriod {
            let caller = Location::caller();
            arenas.lost_list_at.get_or_init(|| caller);
        }
        let before = if is_kept { &arenas[self.before] } else { &[] };
        (before, &arenas[self.now])
    }
}

// Not derived: a derive would add bounds on `T` that handles do not need.
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
