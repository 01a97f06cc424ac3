//! The hook that marks arena memory as live or dead for a memory checker.

#[cfg(not(frame_arena_asan))]
pub(super) use silent::{mark_dead, mark_live};

#[cfg(frame_arena_asan)]
pub(super) use asan::{mark_dead, mark_live};

#[cfg(not(frame_arena_asan))]
mod silent {
    //! Without a sanitizer, nothing is marked, except that dead memory is made uninitialised under Miri.

    /// Marks memory as allocated.
    #[inline(always)]
    pub(in crate::arena) fn mark_live(_start: *mut u8, _bytes: usize) {}

    /// Marks memory as free.
    #[cfg(not(miri))]
    #[inline(always)]
    pub(in crate::arena) fn mark_dead(_start: *mut u8, _bytes: usize) {}

    #[cfg(miri)]
    pub(in crate::arena) use super::uninit::mark_dead;
}

#[cfg(miri)]
mod uninit {
    //! Under Miri, dead memory is made uninitialised, so that a stale read is an error.
    #![expect(unsafe_code, reason = "writes raw arena memory")]

    use std::mem::MaybeUninit;

    pub(in crate::arena) fn mark_dead(start: *mut u8, bytes: usize) {
        // Large pieces first: under Miri, a large write takes no longer than a write of one byte.
        let mut done = 0;
        done += forget::<0x10000>(start, bytes);
        done += forget::<0x100>(start.wrapping_add(done), bytes - done);
        forget::<1>(start.wrapping_add(done), bytes - done);
    }

    /// Makes all whole pieces of `N` bytes uninitialised, and returns their bytes.
    fn forget<const N: usize>(start: *mut u8, bytes: usize) -> usize {
        let whole = bytes / N * N;
        for offset in (0..whole).step_by(N) {
            let block = start.wrapping_add(offset).cast::<MaybeUninit<[u8; N]>>();
            // SAFETY: the caller passes a range of its own block that nothing uses any more.
            unsafe { block.write(MaybeUninit::uninit()) };
        }
        whole
    }
}

#[cfg(frame_arena_asan)]
mod asan {
    //! AddressSanitizer reports any access to poisoned memory as `use-after-poison`.
    #![expect(unsafe_code, reason = "calls the sanitizer's runtime")]

    unsafe extern "C" {
        fn __asan_poison_memory_region(start: *const u8, bytes: usize);
        fn __asan_unpoison_memory_region(start: *const u8, bytes: usize);
    }

    pub(in crate::arena) fn mark_live(start: *mut u8, bytes: usize) {
        // SAFETY: only the sanitizer's shadow memory changes, for a range of our own block.
        unsafe { __asan_unpoison_memory_region(start, bytes) };
    }

    pub(in crate::arena) fn mark_dead(start: *mut u8, bytes: usize) {
        // SAFETY: only the sanitizer's shadow memory changes, for a range of our own block.
        unsafe { __asan_poison_memory_region(start, bytes) };
    }
}
