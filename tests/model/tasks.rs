//! Tasks: their arenas on any thread, their results, and what becomes of both.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use bevy_frame_arena::{
    FrameArenas, FrameHandle, FrameUsage, TaskArena, TaskArenas, TaskMemory, TaskResult,
};

use super::interpreter::{Machine, read};
use super::program::{SharedKind, TaskStep};
use super::reference::{FrameId, Record};
use super::shared::{AnyHandle, Contents, Resolve, Shared, share};
use super::worker::Order;

/// All tasks of a program, and what they made.
#[derive(Default)]
pub(crate) struct Tasks {
    running: Vec<(Origin, TaskArena)>,
    done: Vec<(Origin, TaskResult<u64>)>,
    /// With the frames that adopted them.
    adopted: Vec<(Origin, FrameId)>,
    /// Of all arenas that there were.
    tickets: Vec<(usize, bool, TaskArenas)>,
}

/// Where the memory of a task comes from.
#[derive(Clone, Copy)]
struct Origin {
    /// In the place of a frame in the records of what was shared in the task.
    id: FrameId,
    /// The `FrameArenas` that it was taken from.
    arenas: usize,
    /// Whether an allocation may fail.
    is_limited: bool,
    held_bytes: usize,
}

impl Resolve for TaskMemory {
    fn resolve<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.get(handle)
    }
}

impl Tasks {
    /// Whether what was shared in a task is alive for certain: in the task, or in its result.
    pub(crate) fn hold(&self, id: FrameId) -> bool {
        self.running.iter().any(|(origin, _)| origin.id == id)
            || self.done.iter().any(|(origin, _)| origin.id == id)
    }

    /// Returns the frame that adopted the memory of a task.
    pub(crate) fn adopted_by(&self, id: FrameId) -> Option<FrameId> {
        let adopted = self.adopted.iter().find(|(origin, _)| origin.id == id);
        adopted.map(|(_, frame)| *frame)
    }

    /// Forgets what was adopted by frames that are gone.
    pub(crate) fn retain_adopted(&mut self, is_alive: impl Fn(FrameId) -> bool) {
        self.adopted.retain(|(_, frame)| is_alive(*frame));
    }

    /// Compares the figures of the period that a swap of `arenas` has ended.
    pub(crate) fn compare(&self, arenas: usize, usage: &FrameUsage) {
        let of = |origin: &&Origin| origin.arenas == arenas;
        let running = || self.running.iter().map(|(origin, _)| origin).filter(of);
        let done = || self.done.iter().map(|(origin, _)| origin).filter(of);
        // The swap may have recycled what was adopted.
        let adopted = || self.adopted.iter().map(|(origin, _)| origin).filter(of);
        assert_eq!(usage.task_arenas, running().count());
        assert_eq!(usage.oldest_task.is_some(), usage.task_arenas > 0);
        let results = done().count();
        assert!((results..=results + adopted().count()).contains(&usage.task_results));
        let bytes = |origin: &Origin| origin.held_bytes;
        let least: usize = running().chain(done()).map(bytes).sum();
        let most = least + adopted().map(bytes).sum::<usize>();
        assert!((least..=most).contains(&usage.task_bytes));
    }
}

impl Machine {
    /// Keeps a ticket of arenas, which outlives them.
    pub(crate) fn keep_ticket(&mut self, arenas: usize) {
        let reference = &self.references[arenas];
        let ticket = read(&self.arenas[arenas]).tasks();
        let tickets = &mut self.tasks.tickets;
        tickets.push((reference.id, reference.is_limited(), ticket));
    }

    pub(crate) fn task_step(&mut self, step: TaskStep, seed: u8) {
        match step {
            TaskStep::Take { nth } => self.take_task(nth.into()),
            TaskStep::Work { task, kind, bytes } => {
                let bytes = bytes as usize % ((1 << 18) + 1);
                self.work(task.into(), kind, bytes, seed);
            }
            TaskStep::Finish { task } => self.finish_task(task.into(), seed),
            TaskStep::Abandon { task, panics } => {
                if let Some((_, arena)) = remove(&mut self.tasks.running, task.into()) {
                    // A task that panics drops its bombs while it unwinds, and they are silent.
                    match panics {
                        true => assert!(on_another_thread(move || fail_with(&arena)).is_err()),
                        false => self.expect_bombs(|_| drop_elsewhere(arena)),
                    }
                }
            }
            TaskStep::Get { result, nth } => self.get_in_result(result.into(), nth.into()),
            TaskStep::Adopt {
                worker,
                arenas,
                result,
            } => self.adopt(worker, usize::from(arenas % 2), result.into()),
            TaskStep::DropResult { result } => {
                if let Some((_, result)) = remove(&mut self.tasks.done, result.into()) {
                    self.expect_bombs(|_| drop_elsewhere(result));
                }
            }
        }
    }

    fn take_task(&mut self, nth: usize) {
        // The arenas of the last tickets are alive; those of others may not be.
        let tickets = &self.tasks.tickets;
        let (arenas, is_limited, ticket) = &tickets[tickets.len() - 1 - nth % tickets.len()];
        let origin = Origin {
            id: FrameId {
                arenas: self.counter,
                frame: 0,
            },
            arenas: *arenas,
            is_limited: *is_limited,
            held_bytes: 0,
        };
        let arena = ticket.arena();
        self.tasks.running.push((origin, arena));
    }

    /// Moves a task to another thread, where it makes a list and shares something.
    fn work(&mut self, task: usize, kind: SharedKind, bytes: usize, seed: u8) {
        let Some((mut origin, arena)) = remove(&mut self.tasks.running, task) else {
            return;
        };
        let log = Arc::clone(&self.log);
        let worked = on_another_thread(move || {
            let mut list = arena.vec();
            if list.try_reserve(bytes / 2).is_ok() {
                list.resize(bytes / 2, seed);
            }
            assert!(list.iter().all(|byte| *byte == seed));
            drop(list);
            let shared = share(&arena, &log, kind, bytes, seed);
            (arena, shared)
        });
        let (arena, shared) = worked.unwrap_or_else(|panic| resume_unwind(panic));
        match shared {
            Ok(shared) => self.record(shared, kind == SharedKind::Bomb, origin.id),
            Err(error) => assert!(origin.is_limited, "{error}"),
        }
        origin.held_bytes = arena.held_bytes();
        self.tasks.running.push((origin, arena));
    }

    fn record(&mut self, shared: Shared, is_bomb: bool, made_in: FrameId) {
        let record = Record::new(shared, made_in);
        if is_bomb {
            self.bombs.extend(record.tracked());
        }
        self.records.push(record);
    }

    fn finish_task(&mut self, task: usize, seed: u8) {
        let Some((mut origin, arena)) = remove(&mut self.tasks.running, task) else {
            return;
        };
        let Ok(handle) = arena.try_share(u64::from(seed)) else {
            assert!(origin.is_limited);
            return self.expect_bombs(|_| drop_elsewhere(arena));
        };
        origin.held_bytes = arena.held_bytes();
        let finished = on_another_thread(move || arena.finish(handle));
        let result = finished.unwrap_or_else(|panic| resume_unwind(panic));
        let start = std::ptr::from_ref(&*result).addr();
        let shared = Shared {
            handle: AnyHandle::Word(handle),
            contents: Contents::Word(*result),
            range: (start, start + size_of::<u64>()),
        };
        self.record(shared, false, origin.id);
        self.tasks.done.push((origin, result));
    }

    fn get_in_result(&mut self, result: usize, nth: usize) {
        if self.tasks.done.is_empty() || self.records.is_empty() {
            return;
        }
        let (origin, result) = &self.tasks.done[result % self.tasks.done.len()];
        let record = &self.records[nth % self.records.len()];
        let resolves = origin.id == record.made_in;
        let found = record.handle.check(&record.contents, result.memory());
        assert_eq!(found, resolves);
        for reference in &mut self.references {
            let is_counted = !resolves && reference.id == origin.arenas;
            reference.stale_lookups += u64::from(is_counted);
        }
    }

    fn adopt(&mut self, worker: u8, arenas: usize, result: usize) {
        let Some((origin, result)) = remove(&mut self.tasks.done, result) else {
            return;
        };
        let frame = self.references[arenas].current();
        let records = self.records.len();
        let result = Box::new(result);
        self.order(worker, Order::Adopt { arenas, result });
        // One that a limit refuses is gone.
        if self.records.len() > records {
            self.tasks.adopted.push((origin, frame));
        }
    }

    /// Ends all tasks and drops their results, after the arenas.
    pub(crate) fn end_tasks(&mut self) {
        self.tasks.tickets.clear();
        for (_, arena) in std::mem::take(&mut self.tasks.running) {
            self.expect_bombs(|_| drop_elsewhere(arena));
        }
        for (_, result) in std::mem::take(&mut self.tasks.done) {
            self.expect_bombs(|_| drop(result));
        }
    }
}

/// Shares something, and panics while that lives.
fn fail_with(arena: &TaskArena) {
    let _ = arena.try_share(vec![1, 2, 3]);
    resume_unwind(Box::new("a task failed"));
}

fn on_another_thread<R: Send>(work: impl FnOnce() -> R + Send) -> thread::Result<R> {
    thread::scope(|scope| scope.spawn(work).join())
}

/// Drops a value on another thread; panics if that does.
fn drop_elsewhere(value: impl Send) {
    if let Err(panic) = on_another_thread(move || drop(value)) {
        resume_unwind(panic);
    }
}

fn remove<T>(list: &mut Vec<T>, nth: usize) -> Option<T> {
    let index = nth.checked_rem(list.len())?;
    Some(list.swap_remove(index))
}

/// Adopts a result on the calling thread, unless a limit refuses.
pub(crate) fn adopt(
    arenas: &FrameArenas,
    result: TaskResult<u64>,
    is_limited: bool,
) -> Option<Shared> {
    let word = *result;
    let adopted = catch_unwind(AssertUnwindSafe(|| arenas.adopt(result)));
    let handle = match adopted {
        Ok(handle) => handle,
        Err(_) if is_limited => return None,
        Err(panic) => resume_unwind(panic),
    };
    Some(Shared {
        handle: AnyHandle::Word(handle),
        contents: Contents::Word(word),
        // That of the task's own record.
        range: (0, 0),
    })
}
