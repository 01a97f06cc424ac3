//! Numbers that look random and are the same each time.

/// Returns a number that has little to do with its neighbours.
pub fn hash(number: u32) -> u32 {
    let number = (number ^ (number >> 16)).wrapping_mul(0x7feb_352d);
    let number = (number ^ (number >> 15)).wrapping_mul(0x846c_a68b);
    number ^ (number >> 16)
}

/// Returns a hash as a number from 0 to 1.
pub fn unit(number: u32) -> f32 {
    (hash(number) >> 8) as f32 / (1 << 24) as f32
}

/// Returns a smooth height from 0 to 1 for each point of the plane, with hills `scale` wide.
pub fn hills(x: usize, z: usize, scale: usize) -> f32 {
    let corner = |x: usize, z: usize| unit((x * 7919 + z * 104_729 + scale) as u32);
    let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
    let (cell_x, cell_z) = (x / scale, z / scale);
    let part = |t: usize| smooth((t % scale) as f32 / scale as f32);
    let (right, far) = (part(x), part(z));
    let mix = |a: f32, b: f32, part: f32| a + (b - a) * part;
    mix(
        mix(corner(cell_x, cell_z), corner(cell_x + 1, cell_z), right),
        mix(
            corner(cell_x, cell_z + 1),
            corner(cell_x + 1, cell_z + 1),
            right,
        ),
        far,
    )
}
