//! Runs a program on real arenas and on the reference, and compares after each step.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use bevy_frame_arena::{FrameArenas, FrameLease, LeasedHandle};

use super::program::{Policy, Program, Step};
use super::reference::{FrameId, Record, Reference};
use super::shared::AnyHandle;
use super::tasks::Tasks;
use super::tracked::{Log, Tracked};
use super::worker::{Order, Pair, Worker};

const WORKERS: usize = 8;

/// Runs a program; panics where the arenas and the reference differ.
pub(crate) fn run(program: &Program) {
    let mut machine = Machine::new(program.policies);
    for &step in &program.steps {
        machine.step(step);
        machine.check();
    }
    machine.finish();
}

/// A lease of a whole frame, or of one handle.
enum AnyLease {
    Frame(FrameLease),
    Tracked(LeasedHandle<Tracked>),
    Bytes(LeasedHandle<[u8]>),
}

pub(crate) struct Machine {
    pub(crate) arenas: Pair,
    pub(crate) references: [Reference; 2],
    workers: [Option<Worker>; WORKERS],
    pub(crate) records: Vec<Record>,
    leases: Vec<(FrameId, AnyLease)>,
    pub(crate) tasks: Tasks,
    pub(crate) log: Arc<Log>,
    pub(crate) bombs: Vec<usize>,
    /// For numbers that are not used again.
    pub(crate) counter: usize,
}

impl Machine {
    fn new(policies: [Policy; 2]) -> Self {
        let settings = policies.map(Policy::settings);
        let mut machine = Self {
            arenas: settings
                .clone()
                .map(|settings| Arc::new(RwLock::new(FrameArenas::new(settings)))),
            references: [
                Reference::new(0, settings[0].clone()),
                Reference::new(1, settings[1].clone()),
            ],
            workers: Default::default(),
            records: Vec::new(),
            leases: Vec::new(),
            tasks: Tasks::default(),
            log: Arc::default(),
            bombs: Vec::new(),
            counter: 2,
        };
        for arenas in [0, 1] {
            machine.keep_ticket(arenas);
        }
        machine
    }

    fn step(&mut self, step: Step) {
        self.counter += 1;
        let seed = self.counter as u8;
        match step {
            Step::Allocate {
                worker,
                arenas,
                method,
                bytes,
                align_shift,
            } => {
                let order = Order::Allocate {
                    arenas: usize::from(arenas % 2),
                    method,
                    bytes: bytes as usize % ((1 << 20) + 1),
                    align: 1 << (align_shift % 13),
                    seed,
                };
                self.order(worker, order);
            }
            Step::Write { worker, nth } => self.order(worker, Order::Write(nth.into(), seed)),
            Step::Grow { worker, nth, by } => {
                self.order(worker, Order::Grow(nth.into(), by.into(), seed));
            }
            Step::Shrink { worker, nth, to } => {
                self.order(worker, Order::Shrink(nth.into(), to.into()));
            }
            Step::Free { worker, nth } => self.order(worker, Order::Free(nth.into())),
            Step::Share {
                worker,
                arenas,
                kind,
                bytes,
            } => {
                let order = Order::Share {
                    arenas: usize::from(arenas % 2),
                    kind,
                    bytes: bytes as usize % ((1 << 20) + 1),
                    seed,
                };
                self.order(worker, order);
            }
            Step::Get {
                worker,
                arenas,
                nth,
            } => self.get(worker, usize::from(arenas % 2), nth.into()),
            Step::Lease { arenas } => {
                let index = usize::from(arenas % 2);
                let lease = read(&self.arenas[index]).lease();
                let frame = self.references[index].current();
                self.leases.push((frame, AnyLease::Frame(lease)));
            }
            Step::LeaseHandle { arenas, nth } => {
                self.lease_handle(usize::from(arenas % 2), nth.into());
            }
            Step::GetLeased { lease, nth } => self.get_leased(lease.into(), nth.into()),
            Step::EndLease { lease } => {
                if !self.leases.is_empty() {
                    let index = usize::from(lease) % self.leases.len();
                    let lease = self.leases.swap_remove(index);
                    self.expect_bombs(|_| drop(lease));
                }
            }
            Step::Swap { arenas } => self.swap(usize::from(arenas % 2)),
            Step::RecycleParked { arenas } => self.recycle_parked(usize::from(arenas % 2)),
            Step::Trim { arenas } => self.trim(usize::from(arenas % 2)),
            Step::Scratch {
                worker,
                arenas,
                bytes,
                forgets,
            } => {
                let order = Order::Scratch {
                    arenas: usize::from(arenas % 2),
                    bytes: bytes as usize % ((1 << 20) + 1),
                    seed,
                    forgets,
                };
                self.order(worker, order);
            }
            Step::Task(step) => self.task_step(step, seed),
            Step::ExitThread { worker } => self.exit(usize::from(worker) % WORKERS),
            Step::Replace { arenas, policy } => self.replace(usize::from(arenas % 2), policy),
        }
    }

    pub(crate) fn order(&mut self, worker: u8, order: Order) {
        let index = usize::from(worker) % WORKERS;
        self.counter += 1;
        let worker = self.workers[index].get_or_insert_with(|| {
            Worker::spawn(self.counter, format!("w{index}"), &self.arenas, &self.log)
        });
        let to = match order {
            Order::Share { arenas, .. } | Order::Adopt { arenas, .. } => arenas,
            _ => 0,
        };
        let shared = worker.order(order);
        for (reference, figures) in self.references.iter_mut().zip(worker.last.figures) {
            if let Some(figures) = figures {
                reference.figures.insert(worker.number, figures);
            }
        }
        if let Some(shared) = shared {
            self.references[to].sharers.insert(worker.number);
            let record = Record::new(shared, self.references[to].current());
            if matches!(record.handle, AnyHandle::Tracked(handle) if is_bomb(handle, &self.arenas[to]))
            {
                self.bombs.extend(record.tracked());
            }
            self.records.push(record);
        }
    }

    fn get(&mut self, worker: u8, arenas: usize, nth: usize) {
        if self.records.is_empty() {
            return;
        }
        let record = &self.records[nth % self.records.len()];
        let resolves = self.references[arenas].resolves(record.made_in);
        self.references[arenas].stale_lookups += u64::from(!resolves);
        let order = Order::Get {
            arenas,
            handle: record.handle,
            contents: record.contents.clone(),
            resolves,
        };
        self.order(worker, order);
    }

    fn lease_handle(&mut self, arenas: usize, nth: usize) {
        if self.records.is_empty() {
            return;
        }
        let record = &self.records[nth % self.records.len()];
        let guard = read(&self.arenas[arenas]);
        let lease = match record.handle {
            AnyHandle::Tracked(handle) => guard.lease_handle(handle).map(AnyLease::Tracked),
            AnyHandle::Bytes(handle) => guard.lease_handle(handle).map(AnyLease::Bytes),
            _ => return,
        };
        let reference = &mut self.references[arenas];
        assert_eq!(lease.is_ok(), reference.resolves(record.made_in));
        match lease {
            Ok(lease) => self.leases.push((record.made_in, lease)),
            Err(stale) => {
                reference.stale_lookups += 1;
                let age = reference.frame.wrapping_sub(record.made_in.frame);
                let is_ours = record.made_in.arenas == reference.id;
                assert_eq!(stale.age_in_periods(), is_ours.then_some(age));
            }
        }
    }

    fn get_leased(&mut self, lease: usize, nth: usize) {
        if self.leases.is_empty() || self.records.is_empty() {
            return;
        }
        let record = &self.records[nth % self.records.len()];
        let (frame, lease) = &self.leases[lease % self.leases.len()];
        match lease {
            AnyLease::Frame(lease) => {
                let resolves = *frame == record.made_in;
                assert_eq!(record.handle.check(&record.contents, lease), resolves);
                for reference in &mut self.references {
                    reference.stale_lookups += u64::from(!resolves && reference.id == frame.arenas);
                }
            }
            AnyLease::Tracked(lease) => assert_eq!(self.log.drops_of(lease.id), 0),
            AnyLease::Bytes(lease) => {
                let first = lease.first().copied().unwrap_or(0);
                assert!(lease.iter().all(|&byte| byte == first));
            }
        }
    }

    fn swap(&mut self, arenas: usize) {
        self.end_frame();
        self.expect_bombs(|machine| {
            write(&machine.arenas[arenas]).swap();
        });
        let leases = &self.leases;
        let is_leased = |frame| leases.iter().any(|(leased, _)| *leased == frame);
        let guard = read(&self.arenas[arenas]);
        self.references[arenas].swap(&guard, is_leased);
        self.tasks
            .compare(self.references[arenas].id, guard.usage());
    }

    fn recycle_parked(&mut self, arenas: usize) {
        self.end_frame();
        self.expect_bombs(|machine| {
            write(&machine.arenas[arenas]).recycle_parked();
        });
        let leases = &self.leases;
        let is_leased = |frame| leases.iter().any(|(leased, _)| *leased == frame);
        self.references[arenas].recycle_parked(&read(&self.arenas[arenas]), is_leased);
    }

    fn trim(&mut self, arenas: usize) {
        self.end_frame();
        write(&self.arenas[arenas]).trim();
        self.references[arenas].trim(read(&self.arenas[arenas]).usage());
    }

    fn replace(&mut self, arenas: usize, policy: Policy) {
        self.end_frame();
        self.counter += 1;
        let fresh = FrameArenas::new(policy.settings());
        self.references[arenas] = Reference::new(self.counter, policy.settings());
        let old = std::mem::replace(&mut *write(&self.arenas[arenas]), fresh);
        self.keep_ticket(arenas);
        self.expect_bombs(|_| drop(old));
    }

    /// Has all workers drop what borrows the arenas.
    fn end_frame(&mut self) {
        for index in 0..WORKERS {
            if self.workers[index].is_some() {
                self.order(index as u8, Order::EndFrame);
            }
        }
    }

    fn exit(&mut self, index: usize) {
        if self.workers[index].is_some() {
            self.order(index as u8, Order::EndFrame);
        }
        if let Some(worker) = self.workers[index].take() {
            worker.exit();
        }
    }

    /// Does something that panics if, and only if, it drops a bomb.
    pub(crate) fn expect_bombs(&mut self, work: impl FnOnce(&mut Self)) {
        let dropped = |machine: &Self| {
            let drops = machine.bombs.iter().map(|&id| machine.log.drops_of(id));
            drops.sum::<u32>()
        };
        let before = dropped(self);
        let panicked = catch_unwind(AssertUnwindSafe(|| work(self))).is_err();
        assert_eq!(
            panicked,
            dropped(self) > before,
            "a bomb and no panic, or a panic and no bomb"
        );
    }

    /// Compares what can be seen from outside.
    fn check(&mut self) {
        let (references, leases) = (&self.references, &self.leases);
        let is_leased = |frame| leases.iter().any(|(leased, _)| *leased == frame);
        let is_held = |frame| is_leased(frame) || references.iter().any(|r| r.resolves(frame));
        let waits = |frame| references.iter().any(|r| r.waits(frame));
        self.tasks
            .retain_adopted(|frame| is_held(frame) || waits(frame));
        for (arenas, reference) in self.arenas.iter().zip(&self.references) {
            assert_eq!(read(arenas).used_bytes_so_far(), reference.used_bytes());
        }
        let mut held = BTreeSet::<usize>::new();
        let mut ranges = Vec::new();
        for worker in self.workers.iter().flatten() {
            ranges.extend(&worker.last.ranges);
            held.extend(&worker.last.tracked);
        }
        let mut waiting = BTreeSet::<usize>::new();
        for record in &self.records {
            let made_in = record.made_in;
            let frame = self.tasks.adopted_by(made_in).unwrap_or(made_in);
            if is_held(frame) || self.tasks.hold(made_in) {
                ranges.push(record.range);
                held.extend(record.tracked());
            } else if waits(frame) {
                waiting.extend(record.tracked());
            }
        }
        assert_apart(ranges);
        for id in 0..self.log.len() {
            let drops = self.log.drops_of(id);
            match (held.contains(&id), waiting.contains(&id)) {
                (true, _) => assert_eq!(drops, 0, "value {id} was dropped in use"),
                (_, true) => assert!(drops <= 1, "value {id} was dropped twice"),
                _ => assert_eq!(drops, 1, "value {id} was lost or dropped twice"),
            }
        }
    }

    /// Ends everything, in the order of an app's exit: arenas first, then leases, then tasks.
    fn finish(mut self) {
        for index in 0..WORKERS {
            self.exit(index);
        }
        for arenas in [0, 1] {
            self.replace(arenas, Policy::NoFirstChunk);
        }
        self.check();
        for lease in std::mem::take(&mut self.leases) {
            self.expect_bombs(|_| drop(lease));
        }
        self.check();
        self.end_tasks();
        self.check();
    }
}

fn is_bomb(handle: bevy_frame_arena::FrameHandle<Tracked>, arenas: &RwLock<FrameArenas>) -> bool {
    read(arenas).get(handle).is_some_and(Tracked::is_bomb)
}

/// Live ranges do not overlap.
pub(crate) fn assert_apart(mut ranges: Vec<(usize, usize)>) {
    ranges.retain(|(start, end)| start < end);
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "live ranges overlap: {pair:x?}");
    }
}

pub(crate) fn read(arenas: &RwLock<FrameArenas>) -> std::sync::RwLockReadGuard<'_, FrameArenas> {
    arenas.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(arenas: &RwLock<FrameArenas>) -> std::sync::RwLockWriteGuard<'_, FrameArenas> {
    arenas.write().unwrap_or_else(PoisonError::into_inner)
}
