//! Random programs over the whole interface of `FrameVec`, beside `std::vec::Vec`.

use std::cell::Cell;
use std::io::Write;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_frame_arena::{CollectIn, FrameArena, FrameVec};
use proptest::prelude::*;

use crate::attacks::{Fickle, Liar};
use crate::elements::{
    Aligned, AlignedNothing, Element, Nothing, Tracked, arm_clone, arm_drop, count_down, live,
};

thread_local! {
    /// Elements that were leaked on purpose.
    static LEAKED: Cell<isize> = const { Cell::new(0) };
}

/// One call: which, and two numbers that it makes its arguments of.
type Step = (u8, u16, u16);

const KINDS: u8 = 41;

/// Lists that are compared after each step.
struct Lists<'a, T> {
    arena: &'a FrameArena,
    ours: FrameVec<'a, T>,
    theirs: Vec<T>,
    next: u32,
}

impl<'a, T: Element> Lists<'a, T> {
    fn new(arena: &'a FrameArena) -> Self {
        Self {
            arena,
            ours: arena.vec(),
            theirs: Vec::new(),
            next: 0,
        }
    }

    /// Returns a number for an element; one in two is that of the one before.
    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next / 2
    }

    /// Returns a range in bounds.
    fn range(&self, a: u16, b: u16) -> std::ops::Range<usize> {
        let len = self.theirs.len();
        let (a, b) = (a as usize % (len + 1), b as usize % (len + 1));
        a.min(b)..a.max(b)
    }

    fn numbers(&mut self, count: u16) -> Vec<u32> {
        (0..count % 20).map(|_| self.number()).collect()
    }

    fn check(&self) {
        assert_eq!(self.ours.len(), self.theirs.len());
        assert!(self.ours.len() <= self.ours.capacity());
        let numbers = |list: &[T]| list.iter().map(T::number).collect::<Vec<_>>();
        assert_eq!(numbers(&self.ours), numbers(&self.theirs));
        assert_eq!(self.ours, self.theirs);
        assert_eq!(format!("{:?}", self.ours), format!("{:?}", self.theirs));
    }

    /// After a panic the lists may differ: what matters is that ours is a list.
    fn take_over(&mut self) {
        self.theirs = self.ours.iter().map(|e| T::make(e.number())).collect();
    }

    fn step(&mut self, (kind, a, b): Step) {
        match kind % KINDS {
            0..7 => self.grow(kind, a, b),
            7..14 => self.remove(kind - 7, a, b),
            14..20 => self.many(kind - 14, a, b),
            20..26 => self.reshape(kind - 20, a, b),
            26..32 => self.memory(kind - 26, a),
            32..36 => self.hostile(kind - 32, a, b),
            _ => {
                self.panicking(kind - 36, a, b);
                arm_clone(-1);
                arm_drop(-1);
                self.take_over();
            }
        }
        self.check();
    }

    fn grow(&mut self, kind: u8, a: u16, b: u16) {
        let number = self.number();
        match kind {
            0 | 1 => {
                self.ours.push(T::make(number));
                self.theirs.push(T::make(number));
            }
            2 => {
                self.ours
                    .try_push(T::make(number))
                    .expect("there is no limit");
                self.theirs.push(T::make(number));
            }
            3 => {
                let index = self.range(0, a).end;
                self.ours.insert(index, T::make(number));
                self.theirs.insert(index, T::make(number));
            }
            4 => {
                let new_len = b as usize % 40;
                self.ours.resize(new_len, T::make(number));
                self.theirs.resize(new_len, T::make(number));
            }
            5 => {
                let new_len = b as usize % 40;
                self.ours.resize_with(new_len, || T::make(number));
                self.theirs.resize_with(new_len, || T::make(number));
            }
            _ => {
                let numbers = self.numbers(a);
                let source: Vec<T> = numbers.into_iter().map(T::make).collect();
                self.ours.extend_from_slice(&source);
                self.theirs.extend_from_slice(&source);
            }
        }
    }

    fn remove(&mut self, kind: u8, a: u16, b: u16) {
        let range = self.range(a, b);
        match kind {
            0 => assert_eq!(self.ours.pop(), self.theirs.pop()),
            1 if !range.is_empty() => {
                assert_eq!(
                    self.ours.remove(range.start),
                    self.theirs.remove(range.start)
                );
            }
            2 if !range.is_empty() => {
                let ours = self.ours.swap_remove(range.start);
                assert_eq!(ours, self.theirs.swap_remove(range.start));
            }
            3 => {
                let keep = |e: &T| e.number() % 3 != u32::from(a % 3);
                self.ours.retain(keep);
                self.theirs.retain(keep);
            }
            4 => {
                self.ours.dedup();
                self.theirs.dedup();
            }
            5 => {
                self.ours.dedup_by_key(|e| e.number() / 4);
                self.theirs.dedup_by_key(|e| e.number() / 4);
            }
            _ => {
                self.ours.truncate(range.end);
                self.theirs.truncate(range.end);
            }
        }
    }

    fn many(&mut self, kind: u8, a: u16, b: u16) {
        let range = self.range(a, b);
        match kind {
            0 => {
                let mut ours = self.ours.drain(range.clone());
                let mut theirs = self.theirs.drain(range);
                for turn in 0..b % 8 {
                    assert_eq!(ours.len(), theirs.len());
                    if turn % 2 == 0 {
                        assert_eq!(ours.next(), theirs.next());
                    } else {
                        assert_eq!(ours.next_back(), theirs.next_back());
                    }
                }
            }
            1 => {
                let mut ours = self.ours.drain(range.start..).collect_in(self.arena);
                let mut theirs = self.theirs.split_off(range.start);
                assert_eq!(ours, theirs);
                ours.append(&mut self.ours);
                theirs.append(&mut self.theirs);
                (self.ours, self.theirs) = (ours, theirs);
            }
            2 => {
                let numbers = self.numbers(b);
                // Unknown length, and it uses the arena.
                let arena = self.arena;
                let unknown = numbers.iter().filter(|&&n| *arena.alloc(n) == n);
                self.ours.extend(unknown.map(|&n| T::make(n)));
                self.theirs.extend(numbers.into_iter().map(T::make));
            }
            3 => {
                let numbers = self.numbers(b);
                self.ours.extend(numbers.iter().map(|&n| T::make(n)));
                self.theirs.extend(numbers.into_iter().map(T::make));
            }
            4 => {
                let numbers = self.numbers(b);
                let mut more = numbers.iter().map(|&n| T::make(n)).collect_in(self.arena);
                self.ours.append(&mut more);
                assert!(more.is_empty());
                self.theirs.extend(numbers.into_iter().map(T::make));
            }
            _ => {
                let tail = self.ours.drain(range.start..).collect_in(self.arena);
                assert_eq!(tail, self.theirs.split_off(range.start));
                // One in two goes on with the tail.
                if b.is_multiple_of(2) {
                    self.theirs = tail.iter().cloned().collect();
                    self.ours = tail;
                }
            }
        }
    }

    /// Gives the list up and makes one of what is left.
    fn reshape(&mut self, kind: u8, a: u16, b: u16) {
        let ours = mem::replace(&mut self.ours, self.arena.vec());
        let theirs = mem::take(&mut self.theirs);
        match kind {
            0 => {
                let (mut ours, mut theirs) = (ours.into_iter(), theirs.into_iter());
                for turn in 0..a % 8 {
                    assert_eq!(ours.len(), theirs.len());
                    if turn % 2 == b % 2 {
                        assert_eq!(ours.next(), theirs.next());
                    } else {
                        assert_eq!(ours.next_back(), theirs.next_back());
                    }
                }
                self.ours = self.arena.collect(ours.rev());
                self.theirs = theirs.rev().collect();
                return;
            }
            1 => {
                self.ours = ours;
                self.ours.shrink_to_fit();
            }
            2 => {
                self.ours = ours.iter().take(3).cloned().collect_in(self.arena);
                self.ours.clone_from(&ours);
            }
            3 => {
                drop(ours);
                drop(theirs);
                return;
            }
            4 => {
                let mut copy = self.arena.vec_with_capacity(a as usize % 30);
                copy.extend_from_slice(&ours);
                self.ours = copy;
            }
            _ => self.ours = ours.into_iter().filter(|_| true).collect_in(self.arena),
        }
        self.theirs = theirs;
    }

    fn memory(&mut self, kind: u8, a: u16) {
        match kind {
            0 => self.ours.shrink_to_fit(),
            1 | 2 => self.ours.reserve(a as usize % 200),
            3 => _ = self.ours.try_reserve(a as usize % 50),
            // The list is not the newest any more.
            4 => _ = self.arena.alloc(a),
            _ => {
                self.ours.clear();
                self.theirs.clear();
            }
        }
    }

    /// Ranges that change their mind, iterators that lie about their length, and what is left of
    /// the interface.
    fn hostile(&mut self, kind: u8, a: u16, b: u16) {
        // What is asked for first counts, whatever is said later.
        let range = self.range(a, b);
        let fickle = Fickle::new(range.clone(), b as usize);
        match kind {
            0 => assert!(self.ours.drain(fickle).eq(self.theirs.drain(range))),
            1 => {
                let numbers = self.numbers(b);
                let liar = Liar::new(a, numbers.iter().map(|&n| T::make(n)));
                self.ours.extend(liar);
                self.theirs.extend(numbers.into_iter().map(T::make));
            }
            2 => {
                let numbers = self.numbers(b);
                let liar = Liar::new(a, numbers.iter().map(|&n| T::make(n)));
                self.ours = self.arena.collect(liar);
                self.theirs = numbers.into_iter().map(T::make).collect();
            }
            _ => {
                // One that is leaked has no element that the list has.
                if T::MAY_LEAK {
                    mem::forget(self.ours.drain(range.clone()));
                    LEAKED.set(LEAKED.get() + T::counted(range.len()));
                    self.theirs.drain(range);
                }
                let odd = |e: &mut T| e.number() % 2 == 1;
                self.ours.retain_mut(odd);
                self.theirs.retain_mut(odd);
            }
        }
    }

    /// Calls in which a closure, a clone or a destructor panics.
    fn panicking(&mut self, kind: u8, a: u16, b: u16) {
        let after = i32::from(a % 6);
        let fuse = Cell::new(after);
        let numbers = self.numbers(b);
        let range = self.range(a, b);
        let ours = &mut self.ours;
        let _ = catch_unwind(AssertUnwindSafe(|| match kind {
            0 => ours.retain_mut(|e| {
                count_down(&fuse);
                e.number() % 2 == 0
            }),
            1 => ours.dedup_by(|a, b| {
                count_down(&fuse);
                a.number() == b.number()
            }),
            2 => ours.extend(numbers.iter().map(|&n| {
                count_down(&fuse);
                T::make(n)
            })),
            3 => {
                arm_clone(after);
                let clones = ours.clone();
                ours.extend_from_slice(&clones);
                ours.resize(30, T::make(1));
            }
            _ => {
                arm_drop(after);
                match b % 3 {
                    0 => drop(ours.drain(range)),
                    1 => ours.truncate(range.start),
                    _ => ours.retain(|e| e.number() % 2 == 0),
                }
            }
        }));
    }
}

fn run<T: Element>(program: &[Step]) {
    let before = live();
    // Small, so that lists move to other chunks.
    let arena = FrameArena::new(512);
    let mut lists = Lists::<T>::new(&arena);
    for &step in program {
        lists.step(step);
    }
    drop(lists);
    let leaked = LEAKED.take();
    assert_eq!(live(), before + leaked, "each element is dropped once");
}

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let longest = if cfg!(miri) { 20 } else { 80 };
    prop::collection::vec((0..KINDS, any::<u16>(), any::<u16>()), 0..longest)
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 300 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_list_of_numbers_does_what_vec_does(program in programs()) {
        run::<u32>(&program);
    }

    #[test]
    fn a_list_of_values_with_destructors_does_what_vec_does(program in programs()) {
        run::<Tracked>(&program);
    }

    #[test]
    fn a_list_of_values_of_no_size_does_what_vec_does(program in programs()) {
        run::<Nothing>(&program);
    }

    #[test]
    fn a_list_of_aligned_values_of_no_size_does_what_vec_does(program in programs()) {
        run::<AlignedNothing>(&program);
    }

    #[test]
    fn a_list_of_aligned_values_does_what_vec_does(program in programs()) {
        run::<Aligned>(&program);
    }

    #[test]
    fn a_list_of_bytes_is_written_to_like_vec(parts in prop::collection::vec(any::<Vec<u8>>(), 0..6)) {
        let arena = FrameArena::new(64);
        let (mut ours, mut theirs) = (arena.vec(), Vec::new());
        for part in &parts {
            ours.write_all(part).unwrap();
            theirs.write_all(part).unwrap();
            prop_assert_eq!(ours.write(part).unwrap(), theirs.write(part).unwrap());
            arena.alloc(1_u8);
        }
        ours.flush().unwrap();
        prop_assert_eq!(ours, theirs);
    }
}
