//! The code of the README and of the guide, as doctests.
#![doc = include_str!("../../README.md")]

/// The guide.
#[doc = include_str!("../../docs/GUIDE.md")]
pub struct Guide;
