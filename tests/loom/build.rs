//! Unit tests of the files of `src` can't run on loom's atomics.

fn main() {
    println!("cargo::rustc-cfg=frame_arena_loom");
}
