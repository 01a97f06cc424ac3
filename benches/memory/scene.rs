//! What the ways of the benchmark `frames` compute, with its work spread over the workers.

use crate::frames::scene;
use crate::workers::spread;

pub(crate) use scene::{
    AGENTS, Checksum, Frame, Id, Instance, LABELS, Position, app, instance, neighbours, sort_key,
    sum_of_instances, write_label,
};

/// Whether the camera sees an entity. After some of them another worker has its turn.
pub(crate) fn is_visible(frame: u32, id: u32) -> bool {
    if id.is_multiple_of(512) {
        spread();
    }
    scene::is_visible(frame, id)
}
