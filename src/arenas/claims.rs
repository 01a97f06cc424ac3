//! Slots that belong to one thread each for a period, and a list of the claimed ones.
#![expect(unsafe_code, reason = "walks a list of slots that it owns")]

use std::cell::Cell;
use std::iter::successors;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::linked::Linked;
use super::sync::{AtomicPtr, AtomicU64, OnceLock, ThreadLocal};
use super::thread::{self, NOBODY, ThreadToken};

/// One slot per thread. A thread owns the slot it has claimed until [`release_all`](Self::release_all).
///
/// `ThreadLocal` reuses the slot of an ended thread for a new one, while destructors of the ended thread's
/// locals may still use it. Therefore the slot itself does not prove ownership, but the claim does.
pub(super) struct Claims<T: Send> {
    slots: ThreadLocal<ClaimSlot<T>>,
    /// The first slot for threads whose thread locals are being destroyed.
    late: OnceLock<Box<ClaimSlot<T>>>,
    /// The slot that was claimed last. Each slot links to the one claimed before it, so that the end of a
    /// period visits only the slots used in it.
    last: Linked<ClaimSlot<T>>,
}

/// A slot. It belongs to the first thread that claims it in a period.
struct ClaimSlot<T> {
    value: T,
    owner: AtomicU64,
    claimed_before: AtomicPtr<ClaimSlot<T>>,
    /// The next slot to try, for a thread that finds this one claimed by another.
    next: OnceLock<Box<ClaimSlot<T>>>,
}

impl<T: Send + Sync> Claims<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: ThreadLocal::new(),
            late: OnceLock::new(),
            last: Linked::new(),
        }
    }

    /// Returns the calling thread's value, and claims one first if it has none.
    ///
    /// `prepare` is called with a newly claimed value, before other threads can see it in the list.
    pub(super) fn claim(&self, make: impl Fn() -> T, prepare: impl FnOnce(&T)) -> &T {
        let make = || ClaimSlot::new(make());
        let mut slot = self.first_slot(make);
        let token = thread::current_token();
        loop {
            match slot.claim_for(token) {
                Claim::Made => break,
                Claim::Held => return &slot.value,
                Claim::Refused => slot = get_or_make(&slot.next, make),
            }
        }
        // A claim that is not in the list would never be released, so it ends here if `prepare` panics.
        let claim = EndClaim(&slot.owner);
        prepare(&slot.value);
        mem::forget(claim);
        self.last.add(ptr::from_ref(slot).cast_mut(), |last| {
            slot.claimed_before.store(last, Relaxed);
        });
        &slot.value
    }

    /// Returns the slot at which the calling thread starts its search.
    fn first_slot(&self, make: impl Fn() -> ClaimSlot<T>) -> &ClaimSlot<T> {
        if self.slots.get().is_none() && !ENDING.get() {
            // With thread_local 1.1.10, `get_or` panics if thread_local's own thread local was destroyed
            // before this crate was used on the thread. Within a destructor, the panic would abort the
            // process.
            let _refused = catch_unwind(AssertUnwindSafe(|| _ = self.slots.get_or(&make)));
            let _registered = ENDS.try_with(|_| ());
        }
        // The result of `get_or` is not used: in thread_local 1.1.10, the reference to a new value is derived
        // from a `&mut`, and must not be used after the value was read in another way.
        let slot = self.slots.get();
        slot.unwrap_or_else(|| get_or_make(&self.late, make))
    }

    /// Returns the claimed values, with the threads that own them.
    pub(super) fn claimed(&self) -> impl Iterator<Item = (ThreadToken, &T)> {
        // SAFETY:
        // - `claim` stored the pointer, from a reference to a slot of this list;
        // - slots stay in place until the list is dropped, and are never borrowed mutably.
        let slot_at = |pointer: *mut ClaimSlot<T>| unsafe { pointer.as_ref() };
        successors(slot_at(self.last.last()), move |slot| {
            slot_at(slot.claimed_before.load(Relaxed))
        })
        .map(|slot| (slot.owner.load(Relaxed), &slot.value))
    }

    /// Returns all values, including those of ended threads.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        let late = self.late.get().map(|slot| &**slot);
        self.slots
            .iter()
            .chain(late)
            .flat_map(|slot| successors(Some(slot), |slot| slot.next.get().map(|next| &**next)))
            .map(|slot| &slot.value)
    }

    pub(super) fn release_all(&mut self) {
        let mut last = self.last.last_mut();
        // SAFETY: as in `claimed`.
        while let Some(slot) = unsafe { last.as_ref() } {
            slot.owner.store(NOBODY, Relaxed);
            last = slot.claimed_before.load(Relaxed);
        }
        self.last.clear();
    }
}

impl<T> ClaimSlot<T> {
    fn new(value: T) -> Self {
        Self {
            value,
            owner: AtomicU64::new(NOBODY),
            claimed_before: AtomicPtr::new(ptr::null_mut()),
            next: OnceLock::new(),
        }
    }

    fn claim_for(&self, token: ThreadToken) -> Claim {
        // Acquire pairs with `EndClaim`, whose thread may have begun to prepare the value. After
        // `release_all`, the `&mut` orders the writes of the last owner.
        match self.owner.compare_exchange(NOBODY, token, Acquire, Relaxed) {
            Ok(_) => Claim::Made,
            Err(owner) if owner == token => Claim::Held,
            Err(_) => Claim::Refused,
        }
    }
}

thread_local! {
    static ENDING: Cell<bool> = const { Cell::new(false) };
    /// First used after thread_local's own thread local, and therefore destroyed before it.
    static ENDS: Ends = const { Ends };
}

/// Records on drop that the thread locals of its thread are being destroyed.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        ENDING.set(true);
    }
}

/// Returns the slot in a cell, and makes it if there is none.
///
/// `get_or_init` must not be used: `make` calls the global allocator, which may re-enter this function.
fn get_or_make<T>(
    cell: &OnceLock<Box<ClaimSlot<T>>>,
    make: impl Fn() -> ClaimSlot<T>,
) -> &ClaimSlot<T> {
    if cell.get().is_none() {
        // If the cell was set in the meantime, the new slot is dropped.
        drop(cell.set(Box::new(make())));
    }
    cell.get().expect("it was just set")
}

impl<T> Drop for ClaimSlot<T> {
    fn drop(&mut self) {
        // A loop, because dropping a long chain by recursion would overflow the stack.
        let mut next = self.next.take();
        while let Some(mut slot) = next {
            next = slot.next.take();
        }
    }
}

/// Ends a claim when it is dropped.
struct EndClaim<'a>(&'a AtomicU64);

impl Drop for EndClaim<'_> {
    fn drop(&mut self) {
        self.0.store(NOBODY, Release);
    }
}

/// The result of an attempt to claim a slot.
enum Claim {
    /// The slot was free.
    Made,
    /// The thread already owned it.
    Held,
    /// Another thread owns it.
    Refused,
}

#[cfg(all(test, not(frame_arena_loom)))]
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
            // Another crate uses thread_local before this crate is used on the thread.
            *ThreadLocal::new().get_or(|| 3)
        });
        assert_eq!(ended.join().expect("it does not abort"), 3);
    }

    #[test]
    fn a_long_chain_of_slots_is_dropped_without_recursion() {
        let first = ClaimSlot::new(0);
        let slots = if cfg!(miri) { 100 } else { 200_000 };
        (1..slots).fold(&first, |last, number| {
            get_or_make(&last.next, || ClaimSlot::new(number))
        });
        drop(first);
    }
}
