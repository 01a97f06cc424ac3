//! Each room of `src` knows only the rooms above it.
//!
//! A room is a file of `src`, with the folder of the same name. This reads every `crate::name` outside of
//! comments, up to the unit tests of a file.

use std::fs;
use std::path::Path;

/// The rooms, the most general first. Those of one line know each other.
const ROOMS: [&[&str]; 13] = [
    &["error"],
    &["settings"],
    &["panics"],
    &["stamp"],
    &["figures"],
    &["sites"],
    &["arena"],
    &["containers"],
    &["handles"],
    &["arenas"],
    &["free_list", "pool"],
    &["app"],
    &["overlay"],
];

fn level(room: &str) -> Option<usize> {
    ROOMS.iter().position(|rooms| rooms.contains(&room))
}

/// Returns the first word of a path within `src`, or of code behind `crate::`.
fn first_word(text: &str) -> &str {
    let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
    text.split(is_end).next().unwrap_or_default()
}

/// Returns the names that a file takes from a room below its own, or from none.
fn wrong_names<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let own = level(first_word(path));
    let code = text.lines().take_while(|line| *line != "#[cfg(test)]");
    let code = code.filter(|line| !line.trim_start().starts_with("//"));
    let names = code.flat_map(|line| line.split("crate::").skip(1).map(first_word));
    names
        .filter(|name| level(name).is_none_or(|level| own.is_none_or(|own| level > own)))
        .collect()
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(folder: &Path, within: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of the crate is readable") {
        let entry = entry.expect("as above").path();
        let name = entry.file_name().and_then(|name| name.to_str());
        let name = format!("{within}{}", name.expect("names of the crate are ASCII"));
        if entry.is_dir() {
            read(&entry, &format!("{name}/"), files);
        } else if name.ends_with(".rs") && name != "lib.rs" {
            let text = fs::read_to_string(&entry).expect("a file of the crate is readable");
            files.push((name, text));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "reads files, and no memory of ours")]
fn each_room_knows_only_the_rooms_above_it() {
    let mut files = Vec::new();
    read(&folder().join("src"), "", &mut files);
    assert!(files.len() > 20, "the crate has more files");
    for (path, text) in &files {
        assert_eq!(wrong_names(path, text), [""; 0], "in src/{path}");
    }
}

#[test]
fn a_name_from_below_is_found() {
    let found = |path, text| wrong_names(path, text).join(" ");
    assert_eq!(
        found("arena/bump.rs", "use crate::error::Error;\n// crate::app"),
        ""
    );
    assert_eq!(found("arena.rs", "use crate::arenas::Ring;"), "arenas");
    assert_eq!(found("arena.rs", "fn f() { crate::app::run() }"), "app");
    assert_eq!(found("arena.rs", "use crate::FrameArenas;"), "FrameArenas");
    assert_eq!(found("attic.rs", "use crate::error::Error;"), "error");
    assert_eq!(found("app.rs", "#[cfg(test)]\nuse crate::overlay;"), "");
}

#[test]
#[cfg_attr(miri, ignore = "reads files, and no memory of ours")]
fn the_map_for_contributors_names_all_rooms_in_order_and_files_that_exist() {
    // The published package has neither the page nor this test.
    let page = fs::read_to_string(folder().join("CONTRIBUTING.md")).expect("it is here");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let named = rows.flat_map(|row| {
        let first = row.split('|').next().unwrap_or_default();
        first.split(['`', ',', '/', ' ', '[', ']'])
    });
    let levels: Vec<_> = named.filter_map(level).collect();
    assert!(levels.is_sorted(), "another order: {levels:?}");
    assert!((0..ROOMS.len()).all(|level| levels.contains(&level)));
    let missing: Vec<&str> = page
        .split(['`', ' ', '\n'])
        .filter(|word| word.ends_with(".rs") && level(first_word(word)).is_some())
        .filter(|word| !folder().join("src").join(word).exists())
        .collect();
    assert_eq!(missing, [""; 0], "CONTRIBUTING.md names them");
}
