//! What a worker holds during a frame, beside what it must contain.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use bevy_frame_arena::{ArenaError, FrameArena, FrameBox, FrameString, FrameVec};
use hashbrown::DefaultHashBuilder;

use super::program::Method;
use super::tracked::{Log, Tracked};

type Map<'a> = hashbrown::HashMap<u32, u64, DefaultHashBuilder, &'a FrameArena>;

/// A page, aligned like one.
#[derive(Clone, Copy)]
#[repr(C, align(4096))]
pub(crate) struct Page([u8; 4096]);

/// A live allocation and its expected contents.
pub(crate) enum Live<'a> {
    Word(&'a mut u64, u64),
    Page(&'a mut Page, u8),
    Bytes(&'a mut [u8], u8),
    Str(&'a mut str, String),
    /// Raw memory: its address and size.
    Raw(usize, usize),
    Boxed(FrameBox<'a, Tracked>, usize),
    Vec(FrameVec<'a, u8>, Vec<u8>),
    Tracked(FrameVec<'a, Tracked>, Vec<usize>),
    Map(Map<'a>, BTreeMap<u32, u64>),
    Text(FrameString<'a>, String),
}

/// What every new allocation needs.
pub(crate) struct Request<'a> {
    pub(crate) arena: &'a FrameArena,
    pub(crate) log: &'a Arc<Log>,
    pub(crate) bytes: usize,
    pub(crate) align: usize,
    pub(crate) seed: u8,
}

impl<'a> Live<'a> {
    pub(crate) fn new(method: Method, request: &Request<'a>) -> Result<Self, ArenaError> {
        let &Request {
            arena,
            log,
            bytes,
            align,
            seed,
        } = request;
        let word = u64::from(seed) * 0x0101_0101;
        Ok(match method {
            Method::Word => Self::Word(arena.try_alloc(word)?, word),
            Method::WordWith => Self::Word(arena.try_alloc_with(|| word)?, word),
            Method::Page => Self::Page(arena.try_alloc_with(|| Page([seed; 4096]))?, seed),
            Method::Layout => {
                let layout = Layout::from_size_align(bytes, align).expect("a valid layout");
                let memory = arena.try_alloc_layout(layout)?;
                Self::Raw(memory.addr().get(), bytes)
            }
            Method::Copy => Self::Bytes(arena.try_alloc_slice_copy(&vec![seed; bytes])?, seed),
            Method::FillCopy => {
                let len = bytes % 5000;
                Self::Bytes(arena.try_alloc_slice_fill_copy(len, seed)?, seed)
            }
            Method::FillWith => {
                let make = |_| arena.try_alloc(seed).map_or(seed, |nested| *nested);
                Self::Bytes(arena.try_alloc_slice_fill_with(bytes % 500, make)?, seed)
            }
            Method::FillIter => {
                // No hint, and an allocation between any two elements.
                let mut left = bytes % 500;
                let iter = std::iter::from_fn(|| {
                    left = left.checked_sub(1)?;
                    Some(arena.try_alloc(seed).map_or(seed, |nested| *nested))
                });
                Self::Bytes(arena.try_collect(iter).map(FrameVec::leak)?, seed)
            }
            Method::Str => {
                let text = format!("{seed}").repeat(bytes % 5000);
                Self::Str(arena.try_alloc_str(&text)?, text)
            }
            Method::Fmt => {
                let text = format!("{seed}{bytes:>300}");
                let mut made = arena.string();
                made.try_write_fmt(format_args!("{seed}{bytes:>300}"))?;
                Self::Str(made.leak(), text)
            }
            Method::BoxTracked => {
                let boxed = arena.try_boxed(log.track())?;
                let id = boxed.id;
                Self::Boxed(boxed, id)
            }
            Method::Vec => Self::Vec(arena.vec(), Vec::new()),
            Method::VecTracked => Self::Tracked(arena.vec(), Vec::new()),
            Method::Map => Self::Map(
                Map::with_hasher_in(Default::default(), arena),
                BTreeMap::new(),
            ),
            Method::Text => Self::Text(arena.string(), String::new()),
        })
    }

    /// Overwrites the contents, where that is possible in place.
    pub(crate) fn write(&mut self, seed: u8) {
        match self {
            Self::Word(word, expected) => {
                *expected = u64::from(seed);
                **word = *expected;
            }
            Self::Page(page, expected) => {
                *expected = seed;
                page.0.fill(seed);
            }
            Self::Bytes(bytes, expected) => {
                *expected = seed;
                bytes.fill(seed);
            }
            Self::Str(text, expected) => {
                text.make_ascii_uppercase();
                expected.make_ascii_uppercase();
            }
            Self::Vec(vec, expected) => {
                vec.fill(seed);
                expected.fill(seed);
            }
            Self::Raw(..)
            | Self::Boxed(..)
            | Self::Tracked(..)
            | Self::Map(..)
            | Self::Text(..) => {}
        }
    }

    /// Grows a container. An error leaves it as it was.
    pub(crate) fn grow(&mut self, by: usize, seed: u8, log: &Arc<Log>) -> Result<(), ArenaError> {
        let failed = ArenaError::AllocationFailed { requested: by };
        match self {
            Self::Vec(vec, expected) => {
                vec.try_reserve(by).map_err(|_| failed)?;
                vec.resize(vec.len() + by, seed);
                expected.resize(expected.len() + by, seed);
            }
            Self::Tracked(vec, expected) => {
                for _ in 0..by % 17 {
                    vec.try_reserve(1).map_err(|_| failed)?;
                    vec.push(log.track());
                    expected.push(vec[vec.len() - 1].id);
                }
            }
            Self::Map(map, expected) => {
                for key in 0..by % 200 {
                    map.try_reserve(1).map_err(|_| failed)?;
                    let key = u32::from(seed) << 8 | key as u32;
                    map.insert(key, u64::from(seed));
                    expected.insert(key, u64::from(seed));
                }
            }
            Self::Text(text, expected) => {
                text.try_push_str(&"ä".repeat(by % 300))?;
                expected.push_str(&"ä".repeat(by % 300));
                if write!(text, "{by}").is_ok() {
                    write!(expected, "{by}").expect("a `String` takes everything");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Shrinks a container. A map moves for that, which aborts where there may be no memory.
    pub(crate) fn shrink(&mut self, to: usize, limited: bool) {
        match self {
            Self::Vec(vec, expected) => {
                vec.truncate(to);
                vec.shrink_to_fit();
                expected.truncate(to);
            }
            Self::Tracked(vec, expected) => {
                vec.truncate(to % 5);
                vec.shrink_to_fit();
                expected.truncate(to % 5);
            }
            Self::Map(map, expected) => {
                map.retain(|key, _| *key as usize % 3 == to % 3);
                expected.retain(|key, _| *key as usize % 3 == to % 3);
                if !limited {
                    map.shrink_to_fit();
                }
            }
            Self::Text(text, expected) => {
                text.clear();
                expected.clear();
            }
            _ => {}
        }
    }

    /// Compares the contents.
    pub(crate) fn check(&self) {
        match self {
            Self::Word(word, expected) => assert_eq!(**word, *expected),
            Self::Page(page, expected) => assert!(page.0 == [*expected; 4096]),
            Self::Bytes(bytes, expected) => assert!(**bytes == vec![*expected; bytes.len()]),
            Self::Str(text, expected) => assert_eq!(**text, **expected),
            Self::Raw(..) => {}
            Self::Boxed(boxed, expected) => assert_eq!(boxed.id, *expected),
            Self::Vec(vec, expected) => assert!(**vec == **expected),
            Self::Tracked(vec, expected) => {
                assert!(vec.iter().map(|v| v.id).eq(expected.iter().copied()));
            }
            Self::Map(map, expected) => {
                assert_eq!(map.len(), expected.len());
                for (key, value) in expected {
                    assert_eq!(map.get(key), Some(value));
                }
            }
            Self::Text(text, expected) => assert_eq!(**text, **expected),
        }
    }

    /// Returns the addresses that it takes, where that can be known.
    pub(crate) fn range(&self) -> Option<(usize, usize)> {
        fn of<T: ?Sized>(data: &T) -> Option<(usize, usize)> {
            let start = std::ptr::from_ref(data).addr();
            Some((start, start + size_of_val(data)))
        }
        fn with_capacity<T>(start: *const T, capacity: usize) -> Option<(usize, usize)> {
            Some((start.addr(), start.addr() + capacity * size_of::<T>()))
        }
        match self {
            Self::Word(word, _) => of(&**word),
            Self::Page(page, _) => of(&**page),
            Self::Bytes(bytes, _) => of(&**bytes),
            Self::Str(text, _) => of(&**text),
            Self::Raw(start, bytes) => Some((*start, start + bytes)),
            Self::Boxed(boxed, _) => of(&**boxed),
            Self::Vec(vec, _) => with_capacity(vec.as_ptr(), vec.capacity()),
            Self::Tracked(vec, _) => with_capacity(vec.as_ptr(), vec.capacity()),
            Self::Map(..) => None,
            Self::Text(text, _) => of(text.as_str()),
        }
    }

    /// Returns the numbers of the tracked values in it.
    pub(crate) fn tracked(&self) -> &[usize] {
        match self {
            Self::Boxed(_, id) => std::slice::from_ref(id),
            Self::Tracked(_, ids) => ids,
            _ => &[],
        }
    }
}
