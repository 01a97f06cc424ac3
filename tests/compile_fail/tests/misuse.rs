//! Rules that the compiler enforces, with the message it gives.

use std::process::Command;

/// The version whose messages are recorded in `cases`.
const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn misuse_does_not_compile() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = String::from_utf8(version.expect("rustc runs").stdout).expect("it is text");
    if !version.starts_with(RECORDED_WITH) {
        // The rules are the same, and doctests check them; the messages are worded anew.
        println!("not compared: messages of {version}are not those of {RECORDED_WITH}");
        return;
    }
    let tests = trybuild::TestCases::new();
    // With a program that passes, all of them are built and not only checked: the refusal of
    // destructors shows when code is generated.
    tests.pass("cases/use_as_intended.rs");
    tests.compile_fail("cases/*_is_refused.rs");
}
