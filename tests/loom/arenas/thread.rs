//! Which thread of a model is running.

use std::hash::{DefaultHasher, Hash, Hasher};

pub(super) type ThreadToken = u64;

pub(super) const NOBODY: ThreadToken = 0;

pub(super) fn current_token() -> ThreadToken {
    let mut hasher = DefaultHasher::new();
    loom::thread::current().id().hash(&mut hasher);
    hasher.finish()
}
