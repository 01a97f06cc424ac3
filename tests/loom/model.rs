//! A store that threads of loom use, and a cell for each block that loom watches.

use std::alloc::Layout;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread::JoinHandle;

use super::block::Block;
use super::sizes::Purpose;
use super::store::{Refused, Store};
use crate::allocator::{begin, live_bytes};
use crate::settings::FrameArenaSettings;

/// What the threads of a model have in common.
pub(super) struct Model {
    pub(super) store: Store,
    /// Stand for the memory of the blocks, by address. Only loom's cells are seen by loom; the table
    /// itself is used by one thread at a time, because loom runs one at a time.
    cells: RefCell<BTreeMap<usize, Rc<UnsafeCell<()>>>>,
}

// SAFETY: loom's threads are all on one thread of the system.
unsafe impl Send for Model {}
// SAFETY: as above.
unsafe impl Sync for Model {}

/// A block in the hands of one thread.
pub(super) struct Taken<'a> {
    model: &'a Model,
    block: Block,
}

/// Runs `work` in every order of its threads that interrupts them up to twice where they need not wait,
/// with a store that has a budget.
pub(super) fn check(budget_bytes: usize, work: fn(&Arc<Model>)) {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(move || {
        let run = spawn(move || run(budget_bytes, work));
        run.join().expect("no panic");
    });
}

fn run(budget_bytes: usize, work: fn(&Arc<Model>)) {
    begin();
    assert_eq!(live_bytes(), 0);
    let settings = FrameArenaSettings {
        block_bytes: 1024,
        budget_bytes: Some(budget_bytes),
        ..FrameArenaSettings::default()
    };
    let model = Arc::new(Model {
        store: Store::new(&settings, usize::MAX),
        cells: RefCell::default(),
    });
    work(&model);
    // No thread is at work: what is counted is what there is.
    assert_eq!(model.store.memory().reserved_bytes, live_bytes());
    drop(model);
    assert_eq!(live_bytes(), 0, "blocks were lost");
}

/// The stacks of loom's threads are too small for a store in a debug build.
fn spawn(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = loom::thread::Builder::new().stack_size(1 << 16);
    thread.spawn(work).expect("a thread starts")
}

pub(super) trait Spawn {
    fn spawn(&self, work: impl FnOnce(&Model) + Send + 'static) -> JoinHandle<()>;
}

impl Spawn for Arc<Model> {
    fn spawn(&self, work: impl FnOnce(&Model) + Send + 'static) -> JoinHandle<()> {
        let model = Arc::clone(self);
        spawn(move || work(&model))
    }
}

impl Model {
    /// Takes a block for an allocation of `size` bytes, and writes to it.
    pub(super) fn take(&self, size: usize) -> Result<Taken<'_>, Refused> {
        let sizes = self.store.sizes();
        let layout = Layout::from_size_align(size, 8).expect("a size");
        let request = sizes.next(0, layout, Purpose::Fixed).expect("a size");
        let block = match self.store.take_free(request) {
            Some(block) => block,
            None => self.store.take_new(request)?,
        };
        assert!(block.data_bytes() >= size);
        let taken = Taken { model: self, block };
        taken.write();
        Ok(taken)
    }

    /// Takes a block for a task, which may move to another thread with it.
    pub(super) fn take_for_task(&self, size: usize) -> Block {
        let mut taken = self.take(size).expect("there is no limit");
        self.store.count_for_task(&mut taken.block);
        taken.block
    }

    /// Goes on with the block of a task, and writes to it.
    pub(super) fn resume(&self, block: Block) -> Taken<'_> {
        let taken = Taken { model: self, block };
        taken.write();
        taken
    }

    /// Checks what must be true at any moment.
    pub(super) fn look(&self) {
        let memory = self.store.memory();
        assert!(memory.reserved_bytes <= self.store.limit_bytes());
        assert!(memory.free_bytes <= memory.reserved_bytes);
    }
}

impl Taken<'_> {
    /// Uses the block's memory: loom finds whoever does so at the same time, or without order.
    fn write(&self) {
        let address = self.block.start().addr();
        let cell = Rc::clone(self.model.cells.borrow_mut().entry(address).or_default());
        cell.with_mut(|_| ());
    }

    pub(super) fn put_back(self) {
        self.write();
        self.model.store.returning().put(self.block);
    }
}
