//! A spatial hash: who is near, without looking at everybody.

use bevy_math::Vec3;

/// How far a walker sees, and the side of a cell.
pub const RADIUS: f32 = 8.0;

const CELLS: usize = 1 << 12;
/// The length of the list of where each cell starts.
pub const STARTS: usize = CELLS + 1;

/// What others can know of a walker.
#[derive(Clone, Copy, Default)]
pub struct Entry {
    pub at: Vec3,
    pub velocity: Vec3,
}

fn cell(x: i32, z: i32) -> usize {
    let hash = x.wrapping_mul(73_856_093) ^ z.wrapping_mul(19_349_663);
    hash as usize % CELLS
}

fn cell_place(at: f32) -> i32 {
    (at / RADIUS).floor() as i32
}

/// Sorts walkers by their cells. `starts` is all zeros before, `entries` has room for everybody.
pub fn sort_into_cells(
    walkers: impl Iterator<Item = Entry> + Clone,
    starts: &mut [u32],
    entries: &mut [Entry],
) {
    let cell_of = |walker: &Entry| cell(cell_place(walker.at.x), cell_place(walker.at.z));
    for walker in walkers.clone() {
        starts[cell_of(&walker)] += 1;
    }
    let mut end = 0;
    for start in starts.iter_mut() {
        end += *start;
        *start = end;
    }
    // Each cell is filled from its end, which so becomes its start.
    for walker in walkers {
        let start = &mut starts[cell_of(&walker)];
        *start -= 1;
        entries[*start as usize] = walker;
    }
}

/// The walkers, sorted by their cells.
#[derive(Clone, Copy)]
pub struct GridView<'a> {
    pub starts: &'a [u32],
    pub entries: &'a [Entry],
}

impl<'a> GridView<'a> {
    /// Returns the places, in the list of entries, of those that are near.
    pub fn near(self, at: Vec3) -> impl Iterator<Item = u32> + 'a {
        let (x, z) = (cell_place(at.x), cell_place(at.z));
        let cells = (-1..=1).flat_map(move |dz| (-1..=1).map(move |dx| cell(x + dx, z + dz)));
        let places = cells.flat_map(move |cell| self.starts[cell]..self.starts[cell + 1]);
        places.filter(move |place| {
            let distance = self.entries[*place as usize].at.distance_squared(at);
            // Not oneself.
            distance > 0.0 && distance < RADIUS * RADIUS
        })
    }
}
