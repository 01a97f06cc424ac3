//! Objects with a life of their own: pools, and the free list in an arena.

#[path = "../common"]
mod common {
    pub(crate) mod address;
    pub(crate) mod droppy;
    pub(crate) mod panics;
}

#[cfg(feature = "free_list")]
mod free_list;
mod pool;
mod pool_model;

/// Cases of a model: fewer where each takes long.
fn cases(usual: u32) -> proptest::test_runner::Config {
    use proptest::test_runner::Config;
    let cases = if cfg!(miri) {
        4
    } else {
        // What the environment asks for, if it does.
        Config::default().cases.min(usual)
    };
    Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    }
}
