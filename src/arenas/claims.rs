//! Places that belong to one thread each for a period, and a list of those that were used.
#![expect(unsafe_code, reason = "walks a list of places that it owns")]

use std::cell::Cell;
use std::iter::successors;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

use thread_local::ThreadLocal;

use super::thread::{self, NOBODY, ThreadToken};

/// One place for each thread that asks, of which a thread owns what it has claimed, until
/// [`release_all`](Self::release_all).
///
/// `ThreadLocal` gives the place of a thread that ended to a new one, and a thread may go on using
/// what it got from there while its thread locals are destroyed. So the place alone is not proof
/// of ownership; the claim is.
pub(super) struct Claims<T: Send> {
    places: ThreadLocal<Place<T>>,
    /// For threads that ask while their thread locals are being destroyed.
    late: OnceLock<Box<Place<T>>>,
    /// The place that was claimed last; each knows the one before it. So the end of a period
    /// visits those that were used, and not all that ever were.
    last: AtomicPtr<Place<T>>,
}

/// Something that belongs to the first thread that claims it.
struct Place<T> {
    value: T,
    owner: AtomicU64,
    claimed_before: AtomicPtr<Place<T>>,
    /// For a thread that finds this one claimed by another.
    next: OnceLock<Box<Place<T>>>,
}

impl<T: Send + Sync> Claims<T> {
    pub(super) fn new() -> Self {
        Self {
            places: ThreadLocal::new(),
            late: OnceLock::new(),
            last: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the value that the calling thread owns, and claims it first if there is none.
    ///
    /// `prepare` is called with a value that was just claimed, before anybody else can see it in
    /// the list.
    pub(super) fn claim(&self, make: impl Fn() -> T, prepare: impl FnOnce(&T)) -> &T {
        let make = || Place::new(make());
        let mut place = self.first_place(make);
        let token = thread::current_token();
        loop {
            match place.claim_for(token) {
                Claim::Made => break,
                Claim::Held => return &place.value,
                Claim::Refused => place = get_or_make(&place.next, make),
            }
        }
        // A claim that is not in the list would never end, so it ends if `prepare` panics.
        let claim = EndClaim(&place.owner);
        prepare(&place.value);
        mem::forget(claim);
        // Release, so that whoever walks the list sees the place behind the pointer.
        let _before = self.last.update(Release, Relaxed, |last| {
            place.claimed_before.store(last, Relaxed);
            ptr::from_ref(place).cast_mut()
        });
        &place.value
    }

    /// Returns the place at which the calling thread starts to look for its own.
    fn first_place(&self, make: impl Fn() -> Place<T>) -> &Place<T> {
        if self.places.get().is_none() && !ENDING.get() {
            // With thread_local 1.1.10 it panics if thread_local's own thread local was destroyed
            // before this crate was used on the thread. That would abort within a destructor.
            let _refused = catch_unwind(AssertUnwindSafe(|| _ = self.places.get_or(&make)));
            let _registered = ENDS.try_with(|_| ());
        }
        // Not what `get_or` returned: with thread_local 1.1.10, the reference to a new value
        // descends from a `&mut`, and must not be used after the value was read in another way.
        let place = self.places.get();
        place.unwrap_or_else(|| get_or_make(&self.late, make))
    }

    /// Returns what was claimed, with the threads that own it.
    pub(super) fn claimed(&self) -> impl Iterator<Item = (ThreadToken, &T)> {
        // SAFETY:
        // - `claim` put it there, from a reference to a place of this list;
        // - places stay where they are until the list is dropped, and are never borrowed mutably.
        let place_at = |pointer: *mut Place<T>| unsafe { pointer.as_ref() };
        // Acquire: pairs with `claim`. It covers the places behind the last one, too: all that
        // were put there before are in the same release sequence.
        let last = place_at(self.last.load(Acquire));
        successors(last, move |place| {
            place_at(place.claimed_before.load(Relaxed))
        })
        .map(|place| (place.owner.load(Relaxed), &place.value))
    }

    /// Returns all values, also those of threads that ended.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        let late = self.late.get().map(|place| &**place);
        self.places
            .iter()
            .chain(late)
            .flat_map(|place| successors(Some(place), |place| place.next.get().map(|next| &**next)))
            .map(|place| &place.value)
    }

    /// Ends all claims.
    pub(super) fn release_all(&mut self) {
        let mut last = *self.last.get_mut();
        // SAFETY: as in `claimed`.
        while let Some(place) = unsafe { last.as_ref() } {
            place.owner.store(NOBODY, Relaxed);
            last = place.claimed_before.load(Relaxed);
        }
        *self.last.get_mut() = ptr::null_mut();
    }
}

impl<T> Place<T> {
    fn new(value: T) -> Self {
        Self {
            value,
            owner: AtomicU64::new(NOBODY),
            claimed_before: AtomicPtr::new(ptr::null_mut()),
            next: OnceLock::new(),
        }
    }

    fn claim_for(&self, token: ThreadToken) -> Claim {
        // Relaxed: a claim publishes nothing. What the last owner wrote was made visible by the
        // `&mut` of the release that set the owner back.
        match self.owner.compare_exchange(NOBODY, token, Relaxed, Relaxed) {
            Ok(_) => Claim::Made,
            Err(owner) if owner == token => Claim::Held,
            Err(_) => Claim::Refused,
        }
    }
}

thread_local! {
    static ENDING: Cell<bool> = const { Cell::new(false) };
    /// First used after thread_local's own thread local, so it is destroyed before that one.
    static ENDS: Ends = const { Ends };
}

/// Notes that the thread locals of its thread are being destroyed.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        ENDING.set(true);
    }
}

/// Returns the place in a cell, and makes it if there is none.
///
/// Not by `get_or_init`: the global allocator, which `make` calls, may come here again.
fn get_or_make<T>(cell: &OnceLock<Box<Place<T>>>, make: impl Fn() -> Place<T>) -> &Place<T> {
    if cell.get().is_none() {
        // Whoever comes second drops its own.
        drop(cell.set(Box::new(make())));
    }
    cell.get().expect("it was just set")
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        // One after the other: a long chain dropped by recursion would overflow the stack.
        let mut next = self.next.take();
        while let Some(mut place) = next {
            next = place.next.take();
        }
    }
}

/// Ends a claim when it is dropped.
struct EndClaim<'a>(&'a AtomicU64);

impl Drop for EndClaim<'_> {
    fn drop(&mut self) {
        self.0.store(NOBODY, Relaxed);
    }
}

/// What became of an attempt to claim a place.
enum Claim {
    /// It was free.
    Made,
    /// The thread had it already.
    Held,
    /// Another thread has it.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_whose_preparation_panics_is_not_held() {
        let mut claims = Claims::new();
        let broken = || claims.claim(|| 7, |_| panic!("not ready"));
        assert!(catch_unwind(AssertUnwindSafe(broken)).is_err());
        assert_eq!(claims.claimed().count(), 0);
        let prepared = Cell::new(0);
        for _ in 0..2 {
            assert_eq!(claims.claim(|| 8, |_| prepared.set(prepared.get() + 1)), &7);
        }
        assert_eq!(prepared.get(), 1);
        assert_eq!(claims.claimed().count(), 1);
        claims.release_all();
        assert_eq!(claims.claimed().count(), 0);
    }

    #[test]
    fn a_thread_local_that_outlives_those_of_thread_local_can_claim() {
        static CLAIMS: OnceLock<Claims<i32>> = OnceLock::new();
        struct ClaimsOnExit(Cell<i32>);
        impl Drop for ClaimsOnExit {
            fn drop(&mut self) {
                let claims = CLAIMS.get_or_init(Claims::new);
                let [first, again] = [7, 8].map(|value| *claims.claim(|| value, |_| ()));
                assert_eq!((first, self.0.get()), (7, 1));
                assert!([7, 8].contains(&again));
            }
        }
        thread_local! { static LAST: ClaimsOnExit = const { ClaimsOnExit(Cell::new(0)) } }
        let ended = std::thread::spawn(|| {
            LAST.with(|last| last.0.set(1));
            // Another crate uses thread_local, and this one is not used on the thread before.
            *ThreadLocal::new().get_or(|| 3)
        });
        assert_eq!(ended.join().expect("it does not abort"), 3);
    }

    #[test]
    fn a_long_chain_of_places_is_dropped_without_recursion() {
        let first = Place::new(0);
        let places = if cfg!(miri) { 100 } else { 200_000 };
        (1..places).fold(&first, |last, number| {
            get_or_make(&last.next, || Place::new(number))
        });
        drop(first);
    }
}
