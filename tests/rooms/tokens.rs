//! As much of Rust's lexer as it takes to find paths.

/// A word or a sign, with the line it is on. Comments, texts and numbers are left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let len = skipped(rest).unwrap_or_else(|| {
            let len = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() && !first.is_ascii_digit() {
                let text = &rest[..len];
                tokens.push(Token { text, line });
            }
            len
        });
        line += rest[..len].matches('\n').count();
        rest = &rest[len..];
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the comment, text or character that `rest` begins with.
fn skipped(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    let text = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let prefix = rest.len() - text.len();
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let inside = &raw[hashes + 1..];
            let len = inside.find(&end).map_or(inside.len(), |at| at + end.len());
            return Some(prefix + 1 + hashes + 1 + len);
        }
    }
    if text.starts_with('"') {
        return Some(prefix + quoted(text, '"'));
    }
    // A lifetime has no closing quote.
    let inside = rest.strip_prefix('\'')?;
    let mut characters = inside.chars();
    let is_character = characters.next() == Some('\\') || characters.next() == Some('\'');
    is_character.then(|| quoted(rest, '\''))
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the length of what begins with a quote and ends with the next that is not escaped.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    rest.len()
}
