//! Names of types, as people write them.
#![forbid(unsafe_code)]

use std::fmt::{self, Write};

/// A type's name without the paths of its modules: `[Entity]` for `[bevy_ecs::entity::Entity]`.
pub(crate) struct Short(pub(crate) &'static str);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while !rest.is_empty() {
            let is_in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let end = rest.find(|c| !is_in_path(c)).unwrap_or(rest.len());
            let (path, behind) = rest.split_at(end);
            f.write_str(path.rsplit("::").next().unwrap_or(path))?;
            let mut behind = behind.chars();
            if let Some(between) = behind.next() {
                f.write_char(between)?;
            }
            rest = behind.as_str();
        }
        Ok(())
    }
}

/// The resource of a pace, which is the type with this name; the frame's without one.
pub(crate) struct Arenas(pub(crate) Option<&'static str>);

impl fmt::Display for Arenas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("`FrameArenas`"),
            Some(pace) => write!(f, "`ArenasOf<{}>`", Short(pace)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_modules_and_nothing_else() {
        for (name, short) in [
            ("u8", "u8"),
            ("[bevy_ecs::entity::Entity]", "[Entity]"),
            ("alloc::vec::Vec<(a::B, &str), c::D>", "Vec<(B, &str), D>"),
            (
                "dyn core::fmt::Debug + core::marker::Send",
                "dyn Debug + Send",
            ),
            ("größe::Maß", "Maß"),
            ("", ""),
        ] {
            assert_eq!(Short(name).to_string(), short);
        }
    }
}
