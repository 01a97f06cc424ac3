//! No memory checker is listening.

pub(super) fn mark_live(_start: *mut u8, _bytes: usize) {}

pub(super) fn mark_dead(_start: *mut u8, _bytes: usize) {}
