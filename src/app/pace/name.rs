//! The name of a type, in words for people and for diagnostics.
#![forbid(unsafe_code)]

/// Returns the last part of a type's name in words: `fixed step` for `game::FixedStep`.
pub(in crate::app) fn words_of(type_name: &str) -> String {
    let path = type_name.split('<').next().unwrap_or(type_name);
    let name = path.rsplit("::").next().unwrap_or(path);
    let mut words = String::new();
    let mut ends_a_word = false;
    for letter in name.chars() {
        if letter.is_uppercase() && ends_a_word {
            words.push(' ');
        }
        ends_a_word = !letter.is_uppercase();
        words.extend(letter.to_lowercase());
    }
    words
}

/// Returns what the names of the diagnostics begin with, for arenas with this name in words.
pub(in crate::app) fn prefix_of(words: &str) -> String {
    // A path is split at `/`, and people type it.
    let is_kept = |letter: char| letter.is_alphanumeric();
    let name = words.replace(|letter| !is_kept(letter), "_");
    format!("{name}_arena")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        for (name, words) in [
            ("bevy_frame_arena::app::FixedStep", "fixed step"),
            ("Level", "level"),
            ("game::net::Tick<game::Server>", "tick"),
            ("AITick", "aitick"),
            ("Wave2Boss", "wave2 boss"),
            ("Öl", "öl"),
            ("()", "()"),
        ] {
            assert_eq!(words_of(name), words);
        }
    }

    #[test]
    fn prefixes_have_no_parts() {
        assert_eq!(prefix_of("fixed step"), "fixed_step_arena");
        assert_eq!(prefix_of("a/(b)"), "a__b__arena");
    }
}
