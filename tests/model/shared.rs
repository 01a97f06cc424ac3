//! Handles of all kinds, and what they must resolve to.

use std::sync::Arc;

use bevy_frame_arena::{ArenaError, FrameArena, FrameArenas, FrameHandle, FrameLease};

use super::program::SharedKind;
use super::tracked::{Log, Tracked};

/// A handle of any kind.
#[derive(Clone, Copy)]
pub(crate) enum AnyHandle {
    Word(FrameHandle<u64>),
    Bytes(FrameHandle<[u8]>),
    Text(FrameHandle<str>),
    Tracked(FrameHandle<Tracked>),
    TrackedSlice(FrameHandle<[Tracked]>),
}

/// What a handle must resolve to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Contents {
    Word(u64),
    Bytes { byte: u8, len: usize },
    Text(String),
    Tracked(Vec<usize>),
}

/// What was shared.
pub(crate) struct Shared {
    pub(crate) handle: AnyHandle,
    pub(crate) contents: Contents,
    /// The addresses it takes.
    pub(crate) range: (usize, usize),
}

/// Shares something of about `bytes` bytes.
///
/// An error leaves nothing behind: what was to be shared is dropped.
pub(crate) fn share(
    arena: &FrameArena,
    log: &Arc<Log>,
    kind: SharedKind,
    bytes: usize,
    seed: u8,
) -> Result<Shared, ArenaError> {
    let first = log.len();
    let word = u64::from(seed) << 32 | bytes as u64;
    let text = || format!("{seed}").repeat(bytes % 999);
    let in_bytes = Contents::Bytes {
        byte: seed,
        len: bytes,
    };
    let (handle, contents) = match kind {
        SharedKind::Word => (
            AnyHandle::Word(arena.try_share(word)?),
            Contents::Word(word),
        ),
        SharedKind::Box => {
            let mut boxed = arena.try_boxed(0)?;
            *boxed = word;
            (AnyHandle::Word(boxed.try_share()?), Contents::Word(word))
        }
        SharedKind::Copy => {
            let mut vec = arena.vec();
            vec.try_reserve(bytes)
                .map_err(|_| ArenaError::AllocationFailed { requested: bytes })?;
            vec.resize(bytes, seed);
            (AnyHandle::Bytes(vec.try_share()?), in_bytes)
        }
        SharedKind::Iter => {
            let iter = std::iter::repeat_n(seed, bytes % 5000);
            let contents = Contents::Bytes {
                byte: seed,
                len: bytes % 5000,
            };
            (AnyHandle::Bytes(arena.try_share_iter(iter)?), contents)
        }
        SharedKind::Vec => {
            let mut vec = arena.vec();
            for _ in 0..bytes % 99 {
                vec.try_reserve(1)
                    .map_err(|_| ArenaError::AllocationFailed { requested: 1 })?;
                vec.push(seed);
            }
            let contents = Contents::Bytes {
                byte: seed,
                len: bytes % 99,
            };
            (AnyHandle::Bytes(vec.try_share()?), contents)
        }
        SharedKind::Str | SharedKind::Text => {
            let mut string = arena.string();
            let text = text();
            for piece in text.as_bytes().chunks(1 + bytes % 64) {
                string.try_push_str(str::from_utf8(piece).expect("digits"))?;
            }
            (AnyHandle::Text(string.share()), Contents::Text(text))
        }
        SharedKind::Tracked | SharedKind::Bomb => {
            let value = log.track();
            let contents = Contents::Tracked(vec![value.id]);
            let handle = arena.try_share(value)?;
            if kind == SharedKind::Bomb {
                // Not before: a value that can't be shared is dropped at once.
                arena.get(handle).expect("it is fresh").arm();
            }
            (AnyHandle::Tracked(handle), contents)
        }
        SharedKind::TrackedSlice => {
            let len = bytes % 9;
            let values = (0..len).map(|_| log.track());
            let handle = arena.try_share_iter(values)?;
            let ids = (first..first + len).collect();
            (AnyHandle::TrackedSlice(handle), Contents::Tracked(ids))
        }
    };
    let range = handle.range(arena);
    Ok(Shared {
        handle,
        contents,
        range,
    })
}

impl Contents {
    /// Returns the numbers of the tracked values among them.
    pub(crate) fn tracked(&self) -> &[usize] {
        match self {
            Self::Tracked(ids) => ids,
            _ => &[],
        }
    }
}

impl AnyHandle {
    /// Resolves the handle and compares; returns whether it resolved.
    pub(crate) fn check(self, expected: &Contents, places: &impl Resolve) -> bool {
        let found = match self {
            Self::Word(handle) => places.resolve(handle).map(|word| Contents::Word(*word)),
            Self::Bytes(handle) => places.resolve(handle).map(in_bytes),
            Self::Text(handle) => places
                .resolve(handle)
                .map(|text| Contents::Text(text.to_owned())),
            Self::Tracked(handle) => places
                .resolve(handle)
                .map(|value| Contents::Tracked(vec![value.id])),
            Self::TrackedSlice(handle) => places
                .resolve(handle)
                .map(|values| Contents::Tracked(values.iter().map(|value| value.id).collect())),
        };
        match found {
            None => false,
            Some(Contents::Bytes { len: 0, .. }) => {
                assert!(matches!(expected, Contents::Bytes { len: 0, .. }));
                true
            }
            Some(found) => {
                assert_eq!(&found, expected, "a handle resolved to other data");
                true
            }
        }
    }

    fn range(self, arena: &FrameArena) -> (usize, usize) {
        fn of<T: ?Sized>(data: Option<&T>) -> (usize, usize) {
            let data = data.expect("the handle is fresh");
            let start = std::ptr::from_ref(data).addr();
            (start, start + size_of_val(data))
        }
        match self {
            Self::Word(handle) => of(arena.get(handle)),
            Self::Bytes(handle) => of(arena.get(handle)),
            Self::Text(handle) => of(arena.get(handle)),
            Self::Tracked(handle) => of(arena.get(handle)),
            Self::TrackedSlice(handle) => of(arena.get(handle)),
        }
    }
}

fn in_bytes(bytes: &[u8]) -> Contents {
    let byte = bytes.first().copied().unwrap_or(0);
    assert!(bytes == vec![byte; bytes.len()], "mixed bytes");
    Contents::Bytes {
        byte,
        len: bytes.len(),
    }
}

/// Where handles are resolved.
pub(crate) trait Resolve {
    fn resolve<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T>;
}

impl Resolve for FrameArenas {
    fn resolve<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.get(handle)
    }
}

impl Resolve for FrameArena {
    fn resolve<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.get(handle)
    }
}

impl Resolve for FrameLease {
    fn resolve<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.get(handle)
    }
}
