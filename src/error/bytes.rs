//! Sizes as people read them.
#![forbid(unsafe_code)]

use std::fmt;

/// Shows a number of bytes with two digits or more, and the unit: `900 B`, `1.4 KiB`, `16 MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) usize);

const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        if bytes < 1024 {
            return write!(f, "{bytes} B");
        }
        let mut amount = bytes as f64 / 1024.0;
        let mut units = UNITS.iter();
        let mut unit = units.next().unwrap_or(&"");
        // What would be rounded up to 1024 is one of the next unit.
        while amount >= 1023.5
            && let Some(next) = units.next()
        {
            amount /= 1024.0;
            unit = next;
        }
        // What would be rounded up to 10.0 has no need of the last digit.
        let digits = usize::from(amount < 9.95);
        write!(f, "{amount:.digits$} {unit}")
    }
}

/// Shows a number of bytes to the last one: `900 bytes`, `16 MiB`, `5000 bytes (4.9 KiB)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exactly(pub(super) usize);

impl fmt::Display for Exactly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KIB: usize = 1 << 10;
        const MIB: usize = 1 << 20;
        match self.0 {
            1 => f.write_str("1 byte"),
            bytes if bytes < KIB => write!(f, "{bytes} bytes"),
            bytes if bytes.is_multiple_of(MIB) => write!(f, "{} MiB", bytes / MIB),
            bytes if bytes.is_multiple_of(KIB) => write!(f, "{} KiB", bytes / KIB),
            bytes => write!(f, "{bytes} bytes ({})", Bytes(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits_or_more_and_a_unit() {
        const KIB: usize = 1 << 10;
        const MIB: usize = 1 << 20;
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (KIB, "1.0 KiB"),
            (KIB * 3 / 2, "1.5 KiB"),
            (10 * KIB - 1, "10 KiB"),
            (170 * KIB, "170 KiB"),
            (MIB - 1, "1.0 MiB"),
            (MIB * 14 / 10, "1.4 MiB"),
            (16 * MIB, "16 MiB"),
            (608 * MIB, "608 MiB"),
            (3 << 30, "3.0 GiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn sizes_are_shown_to_the_last_byte_where_that_counts() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (5000, "5000 bytes (4.9 KiB)"),
            (170 << 10, "170 KiB"),
            (3 << 19, "1536 KiB"),
            (1 << 20, "1 MiB"),
            ((64 << 20) - 8, "67108856 bytes (64 MiB)"),
            (3 << 30, "3072 MiB"),
        ] {
            assert_eq!(Exactly(bytes).to_string(), text);
        }
    }

    #[test]
    fn the_largest_size_has_a_text() {
        assert!(Bytes(usize::MAX).to_string().ends_with("iB"));
    }
}
