//! Instructions of a frame.

use crate::callgrind::{self, Segment};
use crate::counted_frames;

/// Frames that are counted.
const FRAMES: u64 = 4;

/// The instructions of one frame.
pub(crate) struct Count {
    pub(crate) scene: String,
    pub(crate) way: String,
    pub(crate) instructions: u64,
}

/// Has callgrind count a few calls of `frame`, each after one of `prepare`, which is not counted.
pub(crate) fn segment<S>(
    state: &mut S,
    mut prepare: impl FnMut(&mut S, u32),
    mut frame: impl FnMut(&mut S),
) {
    counted_frames::count(FRAMES, |number, measure| {
        prepare(state, number as u32);
        measure(&mut || frame(state));
    });
}

/// Runs this program with `argument` under callgrind.
pub(crate) fn run(argument: &str) -> Result<Vec<Count>, String> {
    let segments = callgrind::run(argument, &[counted_frames::OPTION])?;
    let counts = segments
        .iter()
        .map(|segment| read(segment).ok_or_else(|| format!("{}: odd counters", segment.label)));
    counts.collect()
}

fn read(segment: &Segment) -> Option<Count> {
    let (scene, way) = segment.label.split_once('\t')?;
    Some(Count {
        scene: scene.into(),
        way: way.into(),
        instructions: segment.total("Ir")? / FRAMES,
    })
}
