//! Meshing in tasks: which chunks wait for one, and when a mesh is needed.

use std::collections::VecDeque;

use bevy_ecs::prelude::*;
use bevy_tasks::{AsyncComputeTaskPool, Task};

use super::Load;
use super::paths::wait_for;
use super::terrain::Chunk;

/// Tasks that begin in a frame at most: all chunks of the world need a mesh at first.
const MOST_IN_A_FRAME: usize = 64;
/// A mesh is needed this many frames after its task began.
const NEEDED_AFTER_FRAMES: u32 = 2;

/// Whether chunks are meshed in tasks: otherwise their meshes are ready in the frame that changed them.
pub fn is_in_tasks(load: Res<Load>) -> bool {
    load.meshes_in_tasks
}

/// Chunks that wait, and tasks that run, each of which returns a `T`.
pub struct Meshing<T> {
    frame: u32,
    waiting: VecDeque<Chunk>,
    is_waiting: Vec<bool>,
    begun: usize,
    running: VecDeque<Running<T>>,
}

struct Running<T> {
    chunk: u32,
    since: u32,
    task: Task<T>,
}

impl<T> Default for Meshing<T> {
    fn default() -> Self {
        Self {
            frame: 0,
            waiting: VecDeque::new(),
            is_waiting: Vec::new(),
            begun: 0,
            running: VecDeque::new(),
        }
    }
}

impl<T: Send + 'static> Meshing<T> {
    /// Begins a frame in which chunks have changed.
    pub fn begin_frame<'a>(&mut self, changed: impl IntoIterator<Item = &'a Chunk>) {
        self.frame += 1;
        self.begun = 0;
        for chunk in changed {
            let number = chunk.number as usize;
            if self.is_waiting.len() <= number {
                self.is_waiting.resize(number + 1, false);
            }
            if !std::mem::replace(&mut self.is_waiting[number], true) {
                self.waiting.push_back(*chunk);
            }
        }
    }

    /// Returns the next chunk to mesh, unless enough tasks have begun in this frame.
    pub fn next_chunk(&mut self) -> Option<Chunk> {
        let has_room = self.begun < MOST_IN_A_FRAME;
        let chunk = self.waiting.pop_front_if(|_| has_room)?;
        self.is_waiting[chunk.number as usize] = false;
        self.begun += 1;
        Some(chunk)
    }

    /// Meshes a chunk in a task.
    pub fn run(&mut self, chunk: Chunk, work: impl FnOnce() -> T + Send + 'static) {
        let task = AsyncComputeTaskPool::get().spawn(async move { work() });
        self.running.push_back(Running {
            chunk: chunk.number,
            since: self.frame,
            task,
        });
    }

    /// Returns the next mesh that is needed in this frame, and its chunk. In most games it would be as soon as
    /// it is there; here all runs shall be the same.
    pub fn next_mesh(&mut self) -> Option<(u32, T)> {
        let first = self.running.front_mut()?;
        if self.frame < first.since + NEEDED_AFTER_FRAMES {
            return None;
        }
        let made = wait_for(&mut first.task)?;
        let chunk = first.chunk;
        self.running.pop_front();
        Some((chunk, made))
    }
}
