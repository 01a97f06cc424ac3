//! Each room of `src` knows only the rooms above it.
//!
//! A room is a file of `src`, with the folder of the same name. This reads every `crate::…` and
//! every `super::…` that leaves a room, and looks where it leads: a name that the crate re-exports
//! belongs to the room it comes from. Comments, texts and what is compiled for unit tests alone may
//! name anything.

mod imports;
mod tokens;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use imports::{imports, reexports};
use tokens::tokens;

/// The rooms, the most general first. Those of one line know each other.
const ROOMS: [&[&str]; 11] = [
    &["error"],
    &["settings"],
    &["panics"],
    &["stamp"],
    &["sites"],
    &["arena"],
    &["containers"],
    &["handles"],
    &["arenas"],
    &["free_list", "pool"],
    &["app"],
];

/// Those that come last, and that nobody knows.
const LAST: &[&str] = &["overlay"];

fn level(room: &str) -> Option<usize> {
    let all = ROOMS.iter().copied().chain([LAST]);
    all.enumerate()
        .find_map(|(level, rooms)| rooms.contains(&room).then_some(level))
}

/// Returns a line for each import that leads from a room to one below it.
///
/// `files` are paths within `src`, with `/`, and what is in them.
fn violations(files: &BTreeMap<String, String>) -> Vec<String> {
    let root = files.get("lib.rs").map_or("", String::as_str);
    let reexports = reexports(&tokens(root));
    let for_tests = files
        .iter()
        .flat_map(|(path, text)| imports::test_files(path, &tokens(text)))
        .collect::<Vec<_>>();
    let mut violations = Vec::new();
    for (path, text) in files {
        if path == "lib.rs" || for_tests.contains(path) {
            continue;
        }
        let room = path.split(['/', '.']).next().unwrap_or_default();
        let Some(own_level) = level(room) else {
            violations.push(format!("src/{path}: `{room}` is no room that is known"));
            continue;
        };
        for (line, name) in imports(path, &tokens(text)) {
            let target = reexports.get(&name).unwrap_or(&name);
            match level(target) {
                Some(level) if level <= own_level => {}
                Some(_) => violations.push(format!(
                    "src/{path}:{line}: `{room}` names `{name}`, and `{target}` is below it"
                )),
                None => violations.push(format!(
                    "src/{path}:{line}: `{name}` is in no room that is known"
                )),
            }
        }
    }
    violations
}

fn read(folder: &Path, within: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder of the crate is readable") {
        let entry = entry.expect("as above").path();
        let name = entry.file_name().and_then(|name| name.to_str());
        let name = format!("{within}{}", name.expect("names of the crate are ASCII"));
        if entry.is_dir() {
            read(&entry, &format!("{name}/"), files);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&entry).expect("a file of the crate is readable");
            files.insert(name, text);
        }
    }
}

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
#[cfg_attr(miri, ignore = "reads files, and no memory of ours")]
fn each_room_knows_only_the_rooms_above_it() {
    let mut files = BTreeMap::new();
    read(&crate_folder().join("src"), "", &mut files);
    assert!(files.len() > 20, "the crate has more files than {files:?}");
    let found = violations(&files);
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
#[cfg_attr(miri, ignore = "reads files, and no memory of ours")]
fn the_map_for_contributors_has_the_same_order() {
    let Ok(page) = fs::read_to_string(crate_folder().join("CONTRIBUTING.md")) else {
        // The published package has the tests, but not this page.
        return;
    };
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let named: Vec<&str> = rows
        .flat_map(|row| {
            let first = row.split('|').next().unwrap_or_default();
            first.split(['`', ',', '/', ' ', '[', ']'])
        })
        .filter(|word| level(word).is_some())
        .collect();
    let levels: Vec<_> = named.iter().map(|room| level(room)).collect();
    assert!(levels.is_sorted(), "another order: {named:?}");
    let all = ROOMS.iter().copied().chain([LAST]).flatten();
    for room in all {
        assert!(named.contains(room), "`{room}` is missing in {named:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "reads files, and no memory of ours")]
fn the_map_for_contributors_names_files_that_exist() {
    let page = fs::read_to_string(crate_folder().join("CONTRIBUTING.md")).unwrap_or_default();
    let missing: Vec<&str> = page
        .split(['`', ' ', '\n'])
        .filter(|word| word.ends_with(".rs"))
        .filter(|word| word.split(['/', '.']).next().and_then(level).is_some())
        .filter(|word| !crate_folder().join("src").join(word).exists())
        .collect();
    assert_eq!(missing, [""; 0], "CONTRIBUTING.md names them");
}

/// A small crate in which everything is right.
fn small_crate() -> BTreeMap<String, String> {
    let files = [
        (
            "lib.rs",
            "mod error; mod arena; mod arenas; mod app;
             pub use arena::{FrameArena, bump::Bump as Address};
             pub use arenas::FrameArenas;
             pub mod prelude { pub use crate::{FrameArenas, FrameArena}; }",
        ),
        ("error.rs", "pub struct Error; // like crate::app::App"),
        (
            "arena.rs",
            "//! See [`crate::FrameArenas`].
             mod chunk;
             use crate::{error::Error, stamp::{self, Stamp}};
             pub(in crate::arena) struct FrameArena;
             /// As `crate::app::plugin` does.
             const TEXT: &str = \"use crate::app\"; const QUOTE: char = '\"';
             const RAW: &str = r#\"crate::app \" crate::app\"#;
             fn of<'a>(x: &'a super::error::Error) {}
             #[cfg(test)]
             mod tests { use crate::{app::App, FrameArenas}; fn f() { { } } }",
        ),
        (
            "arena/chunk.rs",
            "use super::FrameArena; use super::super::error::Error;
             mod inner { use super::super::FrameArena; use crate::error; }
             #[cfg(test)] mod tests;",
        ),
        ("arena/chunk/tests.rs", "use crate::FrameArenas;"),
        (
            "arenas.rs",
            "use crate::FrameArena as A; pub struct FrameArenas(crate::arena::FrameArena);
             #[cfg(test)] use crate::app::App;",
        ),
        ("app.rs", "use crate::{FrameArenas, Address};"),
    ];
    files
        .into_iter()
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn imports_that_lead_upwards_are_fine() {
    assert_eq!(violations(&small_crate()), [""; 0]);
}

#[test]
fn an_import_that_leads_downwards_is_found_wherever_it_hides() {
    for (path, line, is_found_as) in [
        ("error.rs", "use crate::arena::FrameArena;", "`arena`"),
        ("arena.rs", "use crate::arenas::FrameArenas;", "`arenas`"),
        (
            "arena.rs",
            "use crate::{error, FrameArenas as F};",
            "`arenas`",
        ),
        ("arena.rs", "use crate::{error::{self, E}, app};", "`app`"),
        ("arena.rs", "fn f() { crate::app::run(); }", "`app`"),
        ("arena.rs", "use super::app::App;", "`app`"),
        ("arena/chunk.rs", "use super::super::app::App;", "`app`"),
        ("arena/chunk.rs", "use super::super::{error, app};", "`app`"),
        (
            "arena/chunk.rs",
            "mod m { use super::super::super::app; }",
            "`app`",
        ),
        (
            "arena/chunk.rs",
            "fn f<T: Into<crate::FrameArenas>>() {}",
            "`arenas`",
        ),
        (
            "arenas.rs",
            "#[cfg(not(test))] use crate::app::App;",
            "`app`",
        ),
        (
            "arena.rs",
            "use crate::attic::Box;",
            "`attic` is in no room",
        ),
        ("attic.rs", "use crate::error::Error;", "`attic` is no room"),
    ] {
        let mut files = small_crate();
        files
            .entry(path.to_owned())
            .or_default()
            .push_str(&format!("\n{line}\n"));
        let found = violations(&files);
        assert_eq!(found.len(), 1, "{path}: {line}: {found:?}");
        assert!(found[0].contains(is_found_as), "{line}: {}", found[0]);
        assert!(
            found[0].starts_with(&format!("src/{path}:")),
            "{}",
            found[0]
        );
    }
}
