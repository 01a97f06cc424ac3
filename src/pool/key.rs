//! `PoolKey`: names an object of a pool.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU64;

use super::NO_SLOT;
use crate::stamp::Stamp;

/// Names an object of a [`Pool`](crate::Pool). Store it wherever you would store an `Entity`: it is
/// `Copy`, and keeps nothing alive.
///
/// It resolves in the pool that made it, until the object is removed. After that it is stale and
/// resolves to nothing: no other object ever gets the same key, in this pool or another one.
///
/// `PoolKey::default()` is unset, and resolves to nothing.
///
/// ```
/// use bevy_frame_arena::{Pool, PoolKey};
///
/// #[derive(Default)]
/// struct Turret {
///     target: PoolKey<&'static str>,
/// }
///
/// let mut enemies = Pool::new();
/// let mut turret = Turret::default();
/// assert_eq!(enemies.get(turret.target), None);
/// turret.target = enemies.insert("Corro");
/// assert_eq!(enemies.get(turret.target), Some(&"Corro"));
/// ```
///
/// A key of one type is no key of another:
///
/// ```compile_fail,E0308
/// # use bevy_frame_arena::Pool;
/// let key = Pool::new().insert("Corro");
/// Pool::<u32>::new().get(key);
/// ```
pub struct PoolKey<T> {
    pub(super) stamp: NonZeroU64,
    pub(super) slot: u32,
    /// A key owns no value, and is `Send` and `Sync` whatever it names.
    names: PhantomData<fn() -> T>,
}

impl<T> PoolKey<T> {
    #[inline]
    pub(super) const fn new(slot: u32, stamp: NonZeroU64) -> Self {
        Self {
            stamp,
            slot,
            names: PhantomData,
        }
    }

    /// Returns whether the key is `PoolKey::default()`, and so was never set.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{Pool, PoolKey};
    ///
    /// assert!(PoolKey::<u32>::default().is_unset());
    /// assert!(!Pool::new().insert(7).is_unset());
    /// ```
    pub fn is_unset(self) -> bool {
        self == Self::default()
    }
}

/// A key that resolves to nothing.
impl<T> Default for PoolKey<T> {
    fn default() -> Self {
        Self::new(NO_SLOT, NonZeroU64::MAX)
    }
}

impl<T> Clone for PoolKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PoolKey<T> {}

impl<T> PartialEq for PoolKey<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.stamp, self.slot) == (other.stamp, other.slot)
    }
}

impl<T> Eq for PoolKey<T> {}

impl<T> PartialOrd for PoolKey<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By place in the pool: look-ups in sorted order go through memory once.
impl<T> Ord for PoolKey<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.slot, self.stamp).cmp(&(other.slot, other.stamp))
    }
}

impl<T> Hash for PoolKey<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Alone it names the object.
        self.stamp.hash(state);
    }
}

impl<T> fmt::Debug for PoolKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unset() {
            return f.write_str("PoolKey(unset)");
        }
        f.debug_struct("PoolKey")
            .field("slot", &self.slot)
            .field("stamp", &self.stamp)
            .finish()
    }
}

/// Returns what a slot keeps of a stamp.
#[inline]
pub(super) const fn to_keep(stamp: Stamp) -> NonZeroU64 {
    NonZeroU64::new(stamp).expect("no arena and no object has the stamp `UNSET`")
}
