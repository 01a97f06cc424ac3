//! Many threads: each has its own arena, whoever starts, reads, waits or dies.

mod concurrency;
mod workers;
