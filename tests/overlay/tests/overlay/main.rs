//! The overlay, read back from the world: its texts and bars, its layout, and what a pointer does.

mod colors;
mod despawned;
mod figures;
mod layout;
mod pointer;
mod screen;
#[cfg(feature = "sites")]
mod sites;
