//! All workers' arenas: the collector, and sharing what has a destructor.

use bevy_frame_arena::{FrameArenas, FrameCollector};

use crate::common::limits::limit_of;

fn limited(bytes: usize) -> FrameArenas {
    FrameArenas::new(limit_of(bytes))
}

#[test]
fn collecting_names_the_line() {
    let arenas = &limited(1024);
    let collector = &arenas.collector();
    let mut batch = collector.batch();
    check!((0..1000).fold((), |(), n| batch.push(n)));
    check!(batch.extend(0..1000));
    check!((0..1000).fold((), |(), n| collector.push(n)));
    let another = &arenas.collector::<u64>();
    check!(another.batch());
    check!(arenas.collector().push(7));
}

#[test]
fn making_one_list_names_the_line() {
    /// Fills more than half of the memory, so that there is no room for the list.
    fn fill(arenas: &FrameArenas) -> FrameCollector<'_, u64> {
        let collector = arenas.collector();
        (0..600).for_each(|n| collector.push(n));
        collector
    }
    let arenas = &[(); 8].map(|()| limited(8192));
    check!(fill(&arenas[0]).share());
    check!(fill(&arenas[1]).share_sorted());
    check!(fill(&arenas[2]).share_sorted_by_key(|n| *n));
    check!(fill(&arenas[3]).share_cells(600, |n| *n as usize));
    check!(fill(&arenas[5]).share_cell_map(|n| n % 7));
    check!(fill(&arenas[6]).gather_into(&mut arenas[6].local().vec()));
    check!(fill(&arenas[7]).share_cells(1, |n| *n as usize));
    check!(fill(&arenas[4]).share_sorted_by(Ord::cmp));
}

#[test]
fn sharing_what_has_a_destructor_names_the_line() {
    let arenas = limited(256);
    let arena = arenas.local();
    let text = || String::from("dropped");
    let (list, value) = (arena.collect([text()]), arena.boxed(text()));
    arena.alloc_slice_fill_copy(arena.block_remaining_bytes(), 0_u8);
    check!(list.share());
    check!(value.share());
}
