//! The README's code, as doctests.
#![doc = include_str!("../../README.md")]
