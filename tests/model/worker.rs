//! Worker threads that do one step at a time, when they are told to.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use bevy_frame_arena::{FrameArena, FrameArenas, TaskResult};

use super::held::{Held, is_limited};
use super::live::Request;
use super::program::{Method, SharedKind};
use super::shared::{AnyHandle, Contents, Shared};
use super::tasks::adopt;
use super::tracked::Log;

/// The two `FrameArenas`, as the workers see them.
pub(crate) type Pair = [Arc<RwLock<FrameArenas>>; 2];

/// What a worker is told to do.
pub(crate) enum Order {
    Allocate {
        arenas: usize,
        method: Method,
        bytes: usize,
        align: usize,
        seed: u8,
    },
    Write(usize, u8),
    Grow(usize, usize, u8),
    Shrink(usize, usize),
    Free(usize),
    Share {
        arenas: usize,
        kind: SharedKind,
        bytes: usize,
        seed: u8,
    },
    Get {
        arenas: usize,
        handle: AnyHandle,
        contents: Contents,
        resolves: bool,
    },
    Scratch {
        arenas: usize,
        bytes: usize,
        seed: u8,
        forgets: bool,
    },
    Adopt {
        arenas: usize,
        result: Box<TaskResult<u64>>,
    },
    /// Drops everything that borrows the arenas, and the locks.
    EndFrame,
}

/// The figures of a worker's arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) used_bytes: usize,
    pub(crate) peak_bytes: usize,
    pub(crate) held_bytes: usize,
}

/// What a worker answers.
#[derive(Default)]
pub(crate) struct Report {
    /// The addresses of what it holds.
    pub(crate) ranges: Vec<(usize, usize)>,
    /// The tracked values that it holds.
    pub(crate) tracked: Vec<usize>,
    /// Of each arenas that it used in this frame.
    pub(crate) figures: [Option<Figures>; 2],
    pub(crate) shared: Option<Shared>,
}

/// A worker thread.
pub(crate) struct Worker {
    /// A number that no other thread of the program has.
    pub(crate) number: usize,
    pub(crate) last: Report,
    orders: Option<Sender<Order>>,
    reports: Receiver<Report>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn spawn(number: usize, name: String, arenas: &Pair, log: &Arc<Log>) -> Self {
        let (orders, inbox) = channel();
        let (outbox, reports) = channel();
        let (arenas, log) = (arenas.clone(), Arc::clone(log));
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || {
                // A frame starts with its first order, and ends with `EndFrame`.
                while let Ok(first) = inbox.recv() {
                    live_for_a_frame(first, &inbox, &outbox, &arenas, &log);
                }
            })
            .expect("a thread");
        Self {
            number,
            last: Report::default(),
            orders: Some(orders),
            reports,
            thread: Some(thread),
        }
    }

    /// Has an order carried out; fails as the worker fails.
    pub(crate) fn order(&mut self, order: Order) -> Option<Shared> {
        let orders = self.orders.as_ref().expect("the worker was not ended");
        let report = orders
            .send(order)
            .ok()
            .and_then(|()| self.reports.recv().ok());
        let Some(report) = report else {
            let thread = self.thread.take().expect("the worker was not ended");
            std::panic::resume_unwind(thread.join().expect_err("the worker panicked"));
        };
        self.last = report;
        self.last.shared.take()
    }

    /// Ends the thread and waits for it.
    pub(crate) fn exit(mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            thread
                .join()
                .expect("the worker has carried out all orders");
        }
    }
}

fn live_for_a_frame(
    first: Order,
    inbox: &Receiver<Order>,
    outbox: &Sender<Report>,
    arenas: &Pair,
    log: &Arc<Log>,
) {
    let locks =
        [0, 1].map(|index: usize| arenas[index].read().unwrap_or_else(PoisonError::into_inner));
    let mut frame = Frame {
        arenas: [&locks[0], &locks[1]],
        used: [false; 2],
        held: Held::new(log),
    };
    let mut next = Some(first);
    while let Some(order) = next {
        let ends = matches!(order, Order::EndFrame);
        let shared = frame.carry_out(order);
        let mut report = frame.report();
        report.shared = shared;
        if ends {
            drop(frame);
            drop(locks);
            // Nobody waits for a worker that outlives the program.
            let _ = outbox.send(report);
            return;
        }
        let _ = outbox.send(report);
        next = inbox.recv().ok();
    }
}

/// What a worker holds between two swaps.
struct Frame<'a> {
    arenas: [&'a FrameArenas; 2],
    used: [bool; 2],
    held: Held<'a>,
}

impl<'a> Frame<'a> {
    fn carry_out(&mut self, order: Order) -> Option<Shared> {
        match order {
            Order::Allocate {
                arenas,
                method,
                bytes,
                align,
                seed,
            } => {
                let request = Request {
                    arena: self.arena(arenas),
                    log: self.held.log,
                    bytes,
                    align,
                    seed,
                };
                self.held
                    .allocate(method, &request, self.is_limited(arenas));
            }
            Order::Write(nth, seed) => self.held.write(nth, seed),
            Order::Grow(nth, by, seed) => {
                let limited = self.is_limited(0) || self.is_limited(1);
                self.held.grow(nth, by, seed, limited);
            }
            Order::Shrink(nth, to) => {
                let limited = self.is_limited(0) || self.is_limited(1);
                self.held.shrink(nth, to, limited);
            }
            Order::Free(nth) => self.held.free(nth),
            Order::Share {
                arenas,
                kind,
                bytes,
                seed,
            } => {
                let arena = self.arena(arenas);
                let limited = self.is_limited(arenas);
                return self.held.share(arena, kind, bytes, seed, limited);
            }
            Order::Get {
                arenas,
                handle,
                contents,
                resolves,
            } => assert_eq!(handle.check(&contents, self.arenas[arenas]), resolves),
            Order::Scratch {
                arenas,
                bytes,
                seed,
                forgets,
            } => self.use_scratch(arenas, bytes, seed, forgets),
            Order::Adopt { arenas, result } => {
                self.used[arenas] = true;
                return adopt(self.arenas[arenas], *result, self.is_limited(arenas));
            }
            Order::EndFrame => self.held.end_frame(),
        }
        None
    }

    fn arena(&mut self, arenas: usize) -> &'a FrameArena {
        self.used[arenas] = true;
        self.arenas[arenas].local()
    }

    /// Fills a list that grows, between two values with a destructor.
    fn use_scratch(&self, arenas: usize, bytes: usize, seed: u8, forgets: bool) {
        let scratch = self.arenas[arenas].scratch();
        let first = scratch.try_share(vec![seed; 10]);
        let mut list = scratch.vec();
        while list.len() < bytes && list.try_reserve(1).is_ok() {
            let len = list.capacity().min(bytes);
            list.resize(len, seed);
        }
        assert!(list.len() == bytes || self.is_limited(arenas));
        assert!(list.iter().all(|&byte| byte == seed));
        let second = scratch.try_share(vec![seed; 10]);
        for shared in [first, second].into_iter().flatten() {
            assert_eq!(scratch.get(shared), Some(&vec![seed; 10]));
        }
        drop(list);
        if forgets {
            std::mem::forget(scratch);
        }
    }

    fn is_limited(&self, arenas: usize) -> bool {
        is_limited(self.arenas[arenas].settings())
    }

    fn report(&self) -> Report {
        let figures = |arenas: usize| {
            self.used[arenas].then(|| {
                let arena = self.arenas[arenas].local();
                Figures {
                    used_bytes: arena.used_bytes(),
                    peak_bytes: arena.peak_bytes(),
                    held_bytes: arena.held_bytes(),
                }
            })
        };
        Report {
            ranges: self.held.ranges().collect(),
            tracked: self.held.tracked().collect(),
            figures: [figures(0), figures(1)],
            shared: None,
        }
    }
}
