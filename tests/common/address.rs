//! Where a thing lies.

pub(crate) fn address<T: ?Sized>(thing: &T) -> usize {
    std::ptr::from_ref(thing).addr()
}
