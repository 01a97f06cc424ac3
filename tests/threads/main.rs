//! Many threads: each has its own arena, whoever starts, reads, waits or dies.

#[path = "../common"]
mod common {
    pub(crate) mod address;
    pub(crate) mod droppy;
    pub(crate) mod settings;
}

mod blocks;
mod concurrency;
mod workers;
