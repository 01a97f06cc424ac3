//! Short names for threads, in an order that people expect.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::fmt;

/// The letters that a short name may have.
const MAX_LETTERS: usize = 6;

/// The name of a thread: `C3` for `Compute Task Pool (3)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortName<'a> {
    pool: &'a str,
    number: Option<u32>,
}

impl<'a> ShortName<'a> {
    pub(crate) fn of(thread: &'a str) -> Self {
        let numbered = thread.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
        let numbered = numbered.and_then(|(pool, number)| Some((pool, number.parse().ok()?)));
        let Some((pool, number)) = numbered else {
            return Self {
                pool: thread,
                number: None,
            };
        };
        let pool = match pool {
            "Compute Task Pool" => "C",
            "Async Compute Task Pool" => "A",
            "IO Task Pool" => "IO",
            other => other,
        };
        Self {
            pool,
            number: Some(number),
        }
    }
}

impl fmt::Display for ShortName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.pool.chars().take(MAX_LETTERS) {
            write!(f, "{letter}")?;
        }
        match self.number {
            Some(number) => write!(f, "{number}"),
            None => Ok(()),
        }
    }
}

/// Threads without a number come first, then the pools, each in the order of its numbers.
pub(super) fn natural_order(one: &str, other: &str) -> Ordering {
    let (one, other) = (ShortName::of(one), ShortName::of(other));
    let has_number = one.number.is_some().cmp(&other.number.is_some());
    let pools = has_number.then_with(|| one.pool.cmp(other.pool));
    pools.then_with(|| one.number.cmp(&other.number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        for (thread, name) in [
            ("Compute Task Pool (12)", "C12"),
            ("Async Compute Task Pool (0)", "A0"),
            ("IO Task Pool (3)", "IO3"),
            ("main", "main"),
            ("Render thread", "Render"),
            ("loader (7)", "loader7"),
            ("(x)", "(x)"),
            ("", ""),
        ] {
            assert_eq!(ShortName::of(thread).to_string(), name);
        }
    }

    #[test]
    fn numbers_are_in_their_order() {
        let mut names = [
            "Compute Task Pool (10)",
            "Compute Task Pool (9)",
            "main",
            "IO Task Pool (1)",
            "Compute Task Pool (1)",
            "Async Compute Task Pool (2)",
        ];
        names.sort_by(|one, other| natural_order(one, other));
        let short = names.map(|name| ShortName::of(name).to_string());
        assert_eq!(short, ["main", "A2", "C1", "C9", "C10", "IO1"]);
    }
}
