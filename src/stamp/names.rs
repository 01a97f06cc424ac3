//! Whose runs they are, for the texts of errors.
#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Stamp, is_same_run};

/// A stamp of each run that has a name, and the name.
static NAMED: Mutex<Vec<(Stamp, &'static str)>> = Mutex::new(Vec::new());

fn named() -> MutexGuard<'static, Vec<(Stamp, &'static str)>> {
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a run its name, for as long as it lives.
#[derive(Debug)]
pub(crate) struct RunName(Stamp);

impl RunName {
    /// Names the run that has given `stamp`.
    pub(crate) fn new(stamp: Stamp, name: &'static str) -> Self {
        named().push((stamp, name));
        Self(stamp)
    }
}

impl Drop for RunName {
    fn drop(&mut self) {
        named().retain(|&(stamp, _)| stamp != self.0);
    }
}

/// Returns the name of the run that has given `stamp`, if it has one.
pub(crate) fn name_of_run(stamp: Stamp) -> Option<&'static str> {
    let named = named();
    let of_run = named.iter().find(|&&(other, _)| is_same_run(stamp, other));
    of_run.map(|&(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::super::StampRun;
    use super::*;

    #[test]
    fn a_run_has_its_name_while_that_lives() {
        let [mut a, mut b] = [StampRun::new(), StampRun::new()];
        let (first, other) = (a.advance(), b.advance());
        let name = RunName::new(first, "a");
        assert_eq!(name_of_run(a.advance()), Some("a"));
        assert_eq!(name_of_run(other), None);
        drop(name);
        assert_eq!(name_of_run(first), None);
    }
}
