//! What can be shared.
#![forbid(unsafe_code)]

/// What can be shared in an arena: types that are `Send`, `Sync` and `'static`, and no others.
///
/// A handle can be stored anywhere, and is read on any thread, in this frame or a later one. So what
/// it names belongs to no thread, and borrows nothing that may end before it.
///
/// There is nothing to implement: the name is for the compiler, to say this where a type does not
/// fit.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared: handles are read on any thread, and in the next frame",
    label = "is not `Send`, `Sync` and `'static`",
    note = "a container of an arena borrows it: share that first, and then what holds its handle, \
            such as a list of `FrameHandle<str>` instead of `FrameString`s"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shareable for T {}
