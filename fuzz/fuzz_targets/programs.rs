//! Programs of the model test, chosen by coverage.
#![no_main]

#[path = "../../tests/model"]
mod model {
    pub(crate) mod held;
    pub(crate) mod interpreter;
    pub(crate) mod live;
    pub(crate) mod lone;
    pub(crate) mod program;
    pub(crate) mod reference;
    pub(crate) mod shared;
    pub(crate) mod tasks;
    pub(crate) mod tracked;
    pub(crate) mod worker;
}

use libfuzzer_sys::fuzz_target;
use model::program::Program;

fuzz_target!(|program: Program| {
    model::lone::run_alone(&program);
    model::interpreter::run(&program);
});
