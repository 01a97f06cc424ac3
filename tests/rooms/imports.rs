//! Which names of the crate's root a file uses.

use std::collections::BTreeMap;

use super::tokens::Token;

/// Returns the lines and the names of the root that a file mentions, outside its unit tests.
pub(crate) fn imports(path: &str, tokens: &[Token<'_>]) -> Vec<(usize, String)> {
    let folders = path.trim_end_matches(".rs").split('/').count();
    let mut found = Vec::new();
    // For each open brace, whether it is that of a module.
    let mut braces = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if let Some(end) = end_of_test_item(tokens, at) {
            at = end;
            continue;
        }
        match tokens[at].text {
            "{" => braces.push(at >= 2 && tokens[at - 2].text == "mod"),
            "}" => {
                braces.pop();
            }
            // `pub(in crate::arena)` says who may look, and looks at nothing.
            "crate" if at > 0 && tokens[at - 1].text == "in" => {}
            "crate" if text(tokens, at + 1) == "::" => names(tokens, at + 2, &mut found),
            "super" if text(tokens, at.wrapping_sub(1)) != "::" => {
                let supers = tokens[at..]
                    .chunks(2)
                    .take_while(|pair| pair[0].text == "super" && text(pair, 1) == "::")
                    .count();
                let depth = folders + braces.iter().filter(|is_module| **is_module).count();
                if supers == depth {
                    names(tokens, at + 2 * supers, &mut found);
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns the name at the root of each item that `pub use room::…` exports, with its room.
pub(crate) fn reexports(tokens: &[Token<'_>]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for at in 0..tokens.len() {
        if text(tokens, at) == "pub"
            && text(tokens, at + 1) == "use"
            && text(tokens, at + 3) == "::"
        {
            let room = text(tokens, at + 2);
            // What the prelude takes from the root is known already.
            if room == "crate" {
                continue;
            }
            let end = tokens[at..].iter().position(|token| token.text == ";");
            let item = &tokens[at..at + end.unwrap_or(0)];
            for (index, token) in item.iter().enumerate() {
                // The last word of a path is what it is called.
                if ["::", "{", "as", "}", ","].contains(&token.text) {
                    continue;
                }
                if ["", ",", "}"].contains(&text(item, index + 1)) {
                    found.insert(token.text.to_owned(), room.to_owned());
                }
            }
        }
    }
    found
}

/// Returns the files of modules that are compiled for unit tests alone.
pub(crate) fn test_files(path: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let folder = path.trim_end_matches(".rs");
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if let Some(end) = end_of_test_item(tokens, at)
            && let Some([keyword, name, semicolon]) = tokens[..end].last_chunk::<3>()
            && (keyword.text, semicolon.text) == ("mod", ";")
        {
            found.push(format!("{folder}/{}.rs", name.text));
        }
    }
    found
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

/// Notes the first name of each path of what follows `crate::`: one path, or several in braces.
fn names(tokens: &[Token<'_>], at: usize, found: &mut Vec<(usize, String)>) {
    let Some(first) = tokens.get(at) else {
        return;
    };
    if first.text != "{" {
        found.push((first.line, first.text.to_owned()));
        return;
    }
    let mut depth = 0;
    let mut is_start = true;
    for token in &tokens[at..] {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," => is_start = depth == 1,
            name => {
                if is_start && depth == 1 && name != "self" {
                    found.push((token.line, name.to_owned()));
                }
                is_start = false;
            }
        }
        if depth == 0 {
            break;
        }
    }
}

/// Returns where an item ends that begins here and is compiled for unit tests alone.
fn end_of_test_item(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    if text(tokens, at) != "#" || text(tokens, at + 2) != "cfg" {
        return None;
    }
    let end = tokens[at..].iter().position(|token| token.text == "]")? + at;
    let condition: Vec<&str> = tokens[at + 4..end].iter().map(|token| token.text).collect();
    let is_for_tests = match condition.as_slice() {
        ["test", ")"] => true,
        ["all", "(", rest @ ..] => rest.contains(&"test") && !rest.contains(&"not"),
        _ => false,
    };
    if !is_for_tests {
        return None;
    }
    // To the end of its braces, or to the semicolon if none opens before.
    let mut depth = 0_i32;
    for (index, token) in tokens.iter().enumerate().skip(end + 1) {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth -= 1;
                if depth == 0 && token.text == "}" && text(tokens, index + 1) != ";" {
                    return Some(index + 1);
                }
            }
            ";" if depth == 0 => return Some(index + 1),
            _ => {}
        }
    }
    Some(tokens.len())
}
