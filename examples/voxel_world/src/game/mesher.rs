//! Greedy meshing: the visible sides of a chunk's blocks, merged into few large rectangles.

use super::terrain::{AIR, Block, SIDE};

/// A chunk with one block of each neighbour around it.
pub const PADDED_SIDE: usize = SIDE + 2;
pub const PADDED_BLOCKS: usize = PADDED_SIDE * PADDED_SIDE * PADDED_SIDE;

pub fn padded_index(x: usize, y: usize, z: usize) -> usize {
    (y * PADDED_SIDE + z) * PADDED_SIDE + x
}

/// A corner of a rectangle: its place within the chunk, and `8 * block + face`.
pub type Vertex = [f32; 4];

/// A rectangle of equal blocks that look to the same side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quad {
    /// First, so that rectangles sort by it: one material after the other.
    pub block: Block,
    /// The axis, and 3 more if it looks towards smaller numbers.
    pub face: u8,
    /// How far along its axis.
    pub slice: u8,
    /// The first block, and the number of blocks, along the two other axes.
    pub start: [u8; 2],
    pub size: [u8; 2],
}

impl Quad {
    /// Returns its corners, counter-clockwise for somebody who looks at its outside.
    pub fn corners(&self) -> [Vertex; 4] {
        let axis = usize::from(self.face % 3);
        let is_positive = self.face < 3;
        let along = f32::from(self.slice) + f32::from(u8::from(is_positive));
        let code = f32::from(self.block) * 8.0 + f32::from(self.face);
        let corner = |right: bool, up: bool| {
            let place = |n: usize, is_far: bool| {
                f32::from(self.start[n]) + f32::from(self.size[n]) * f32::from(u8::from(is_far))
            };
            let mut vertex = [0.0, 0.0, 0.0, code];
            vertex[axis] = along;
            vertex[(axis + 1) % 3] = place(0, right);
            vertex[(axis + 2) % 3] = place(1, up);
            vertex
        };
        match is_positive {
            true => [(false, false), (true, false), (true, true), (false, true)],
            false => [(false, false), (false, true), (true, true), (true, false)],
        }
        .map(|(right, up)| corner(right, up))
    }
}

/// Calls `emit` for each rectangle of a padded chunk.
pub fn mesh(padded: &[Block], mut emit: impl FnMut(Quad)) {
    for face in 0..6 {
        for slice in 0..SIDE as u8 {
            let mut mask = visible_sides(padded, face, slice);
            if let Some(mask) = &mut mask {
                merge(mask, |block, start, size| {
                    emit(Quad {
                        block,
                        face,
                        slice,
                        start,
                        size,
                    });
                });
            }
        }
    }
}

type Mask = [[Block; SIDE]; SIDE];

/// Returns the blocks of a slice that have air in front of them, if there are any.
fn visible_sides(padded: &[Block], face: u8, slice: u8) -> Option<Mask> {
    const STEPS: [usize; 3] = [1, PADDED_SIDE * PADDED_SIDE, PADDED_SIDE];
    let axis = usize::from(face % 3);
    let [along, right, up] = [axis, axis + 1, axis + 2].map(|axis| STEPS[axis % 3]);
    let first = padded_index(1, 1, 1) + usize::from(slice) * along;
    let mut mask = [[AIR; SIDE]; SIDE];
    let mut any = AIR;
    for (v, row) in mask.iter_mut().enumerate() {
        for (u, side) in row.iter_mut().enumerate() {
            let at = first + u * right + v * up;
            let front = if face < 3 { at + along } else { at - along };
            if padded[front] == AIR {
                *side = padded[at];
                any |= *side;
            }
        }
    }
    (any != AIR).then_some(mask)
}

/// Takes rectangles out of a mask until it is empty: each as wide as it can be, then as high.
fn merge(mask: &mut Mask, mut emit: impl FnMut(Block, [u8; 2], [u8; 2])) {
    for v in 0..SIDE {
        let mut u = 0;
        while u < SIDE {
            let block = mask[v][u];
            if block == AIR {
                u += 1;
                continue;
            }
            let is_same = |side: &Block| *side == block;
            let width = mask[v][u..].iter().take_while(|side| is_same(side)).count();
            let fits = |row: &&mut [Block; SIDE]| row[u..u + width].iter().all(is_same);
            let mut height = 0;
            for row in mask[v..].iter_mut().take_while(fits) {
                row[u..u + width].fill(AIR);
                height += 1;
            }
            emit(block, [u as u8, v as u8], [width as u8, height]);
            u += width;
        }
    }
}
