//! Collecting iterators that may not know their length.
#![expect(unsafe_code, reason = "writes elements into the capacity of a vector")]

use super::FrameVec;
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// What a list of unknown length takes at first, if it is there.
///
/// That saves the growth in small steps; what is left over is given back at the end.
const FIRST_BYTES: usize = 256;

impl FrameArena {
    /// Collects an iterator into a vector with a fitting capacity.
    pub(crate) fn try_collect<T>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> Result<FrameVec<'_, T>, ArenaError> {
        let mut iter = iter.into_iter();
        let mut vec = FrameVec::new_in(self);
        while let Some(value) = iter.next() {
            // Here the vector is full.
            let known = iter.size_hint().0.saturating_add(1);
            let wanted = match vec.len() {
                0 => self.room_for_some::<T>(),
                len => len,
            };
            self.try_reserve(&mut vec, known.max(wanted))?;
            // SAFETY: room for at least one was just reserved.
            unsafe { push_within_capacity(&mut vec, value) };
            while vec.len() < vec.capacity() {
                let Some(value) = iter.next() else { break };
                // SAFETY: the capacity is larger than the length.
                unsafe { push_within_capacity(&mut vec, value) };
            }
        }
        vec.shrink_to_fit();
        Ok(vec)
    }

    /// Returns how many elements fit into the first bytes, padding included.
    fn room_for_some<T>(&self) -> usize {
        let bytes = self.chunk_remaining_bytes().min(FIRST_BYTES);
        bytes.saturating_sub(align_of::<T>()) / size_of::<T>().max(1)
    }
}

/// Pushes an element without a look at the capacity.
///
/// # Safety
/// The vector's capacity is larger than its length.
#[inline(always)]
unsafe fn push_within_capacity<T>(vec: &mut FrameVec<'_, T>, value: T) {
    let len = vec.len();
    // SAFETY: the capacity is larger than the length, so this is a place in the vector.
    let place = unsafe { vec.as_mut_ptr().add(len) };
    // SAFETY: as above.
    unsafe { place.write(value) };
    // SAFETY: the element behind the old length was just written.
    unsafe { vec.set_len(len + 1) };
}
