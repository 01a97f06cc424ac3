//! The place of a system: its name.
#![forbid(unsafe_code)]

use std::sync::{Mutex, PoisonError};

use super::place::{AnyPlace, Place};

/// The name of a system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemName(&'static str);

impl Place for SystemName {
    #[inline(always)]
    fn key(self) -> usize {
        self.0.as_ptr().addr()
    }
}

impl From<SystemName> for AnyPlace {
    fn from(SystemName(name): SystemName) -> Self {
        Self::System(name)
    }
}

/// The place of one system, which is known once it has run.
#[derive(Debug, Default)]
pub(crate) struct SystemPlace(Option<SystemName>);

impl SystemPlace {
    /// Returns the place of the system, which has this name.
    #[inline]
    pub(crate) fn named(&mut self, name: &str) -> SystemName {
        *self.0.get_or_insert_with(|| SystemName(lasting(name)))
    }
}

/// Returns a copy of a name that stays for ever: figures that a game has copied name it.
#[cold]
fn lasting(name: &str) -> &'static str {
    // One for each name, however many worlds have such a system.
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = names.iter().copied().find(|known| *known == name);
    known.unwrap_or_else(|| {
        let name = Box::leak(Box::from(name));
        names.push(name);
        name
    })
}
