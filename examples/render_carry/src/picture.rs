//! What is drawn in a frame, and whether a screenshot shows it.

use bevy::color::{ColorToComponents, ColorToPacked, LinearRgba, Oklcha, Srgba};
use bevy::image::Image;
use bevy::math::{UVec2, Vec2, Vec3Swizzles, vec3};

/// The size of the window in pixels.
pub const WINDOW: UVec2 = UVec2::new(640, 360);
/// The width and height of a tile in pixels: odd, so that a pixel is in its centre.
const TILE: u32 = 5;
const COLUMNS: u32 = WINDOW.x / TILE;
const ROWS: u32 = WINDOW.y / TILE;
/// All tiles of the picture. The last row is the number of the frame, in binary.
pub const TILES: usize = (COLUMNS * ROWS) as usize;

/// Centre and half size in clip space, then the colour in linear light: the layout of
/// `instances.wgsl`.
pub type Instance = [f32; 8];

/// Returns the instance that shows a tile in a frame.
pub fn instance(frame: u32, tile: usize) -> Instance {
    let at = place(tile);
    let color = match at.y == ROWS - 1 {
        true => bit(frame, at.x),
        false => wave(frame, at),
    };
    let grid = UVec2::new(COLUMNS, ROWS).as_vec2();
    let center = (at.as_vec2() + 0.5) / grid * Vec2::new(2.0, -2.0) + Vec2::new(-1.0, 1.0);
    let half = 0.8 / grid;
    let [red, green, blue, alpha] = color.to_f32_array();
    [center.x, center.y, half.x, half.y, red, green, blue, alpha]
}

fn place(tile: usize) -> UVec2 {
    let tile = tile as u32;
    UVec2::new(tile % COLUMNS, tile / COLUMNS)
}

/// Waves from three places that move around.
fn wave(frame: u32, at: UVec2) -> LinearRgba {
    let time = frame as f32 / 40.0;
    let point = at.as_vec2() / ROWS as f32;
    let height: f32 = [
        vec3(0.4, 0.3, 0.0),
        vec3(1.4, 0.4, 2.0),
        vec3(0.9, 0.8, 4.0),
    ]
    .iter()
    .map(|source| {
        let orbit = Vec2::from_angle(time * 0.7 + source.z) * 0.2;
        (point.distance(source.xy() + orbit) * 11.0 - time * 3.0).sin() / 3.0
    })
    .sum();
    let hue = 250.0 + 130.0 * height + 40.0 * (point.x - point.y);
    Oklcha::lch(0.62 + 0.2 * height, 0.16, hue.rem_euclid(360.0)).into()
}

fn bit(frame: u32, index: u32) -> LinearRgba {
    match frame.checked_shr(index) {
        Some(rest) if rest & 1 == 1 => LinearRgba::WHITE,
        Some(_) => LinearRgba::rgb(0.02, 0.02, 0.03),
        None => LinearRgba::BLACK,
    }
}

/// Reads the number of a frame from its picture, and checks that all tiles are of that frame.
///
/// # Errors
/// With a sentence on what is wrong.
pub fn check(image: &Image) -> Result<u32, String> {
    let size = image.size();
    if size != WINDOW {
        return Err(format!("the screenshot has {size} pixels, not {WINDOW}"));
    }
    let pixel = |tile: usize| {
        let at = place(tile) * TILE + TILE / 2;
        let color = image.get_color_at(at.x, at.y);
        color.map(|color| Srgba::from(color).to_u8_array_no_alpha())
    };
    let frame = (0..u32::BITS)
        .filter(|index| {
            let tile = (ROWS - 1) * COLUMNS + index;
            pixel(tile as usize).is_ok_and(|[red, ..]| red > 127)
        })
        .fold(0, |frame, index| frame | 1 << index);
    let wrong = (0..TILES).filter(|&tile| {
        let [.., red, green, blue, _] = instance(frame, tile);
        let expected = Srgba::from(LinearRgba::rgb(red, green, blue)).to_u8_array_no_alpha();
        let is_close = |(a, b): (u8, u8)| a.abs_diff(b) <= 2;
        !pixel(tile).is_ok_and(|seen| seen.into_iter().zip(expected).all(is_close))
    });
    match wrong.count() {
        0 => Ok(frame),
        wrong => Err(format!(
            "{wrong} of {TILES} tiles do not have the colour of frame {frame}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use bevy::asset::RenderAssetUsages;
    use bevy::color::Color;
    use bevy::image::ToExtents;
    use bevy::render::render_resource::{TextureDimension, TextureFormat};

    use super::*;

    /// A picture of one frame, with other colours for some tiles.
    fn image(frame: u32, color: impl Fn(usize) -> Option<Color>) -> Image {
        let mut image = Image::new_fill(
            WINDOW.to_extents(),
            TextureDimension::D2,
            &[0; 4],
            TextureFormat::Rgba8UnormSrgb,
            RenderAssetUsages::all(),
        );
        for tile in 0..TILES {
            let [.., red, green, blue, _] = instance(frame, tile);
            let color = color(tile).unwrap_or(Color::linear_rgb(red, green, blue));
            let at = place(tile) * TILE + TILE / 2;
            image
                .set_color_at(at.x, at.y, color)
                .expect("it is in the picture");
        }
        image
    }

    #[test]
    fn the_picture_of_a_frame_passes() {
        assert_eq!(check(&image(1234, |_| None)), Ok(1234));
    }

    #[test]
    fn a_single_tile_of_another_colour_is_found() {
        let color = |tile| (tile == 777).then_some(Color::BLACK);
        assert!(check(&image(7, color)).is_err_and(|error| error.starts_with("1 of")));
    }

    #[test]
    fn tiles_of_the_frame_before_are_found() {
        let color = |tile| {
            let [.., red, green, blue, _] = instance(6, tile);
            (tile < TILES / 2).then_some(Color::linear_rgb(red, green, blue))
        };
        assert!(check(&image(7, color)).is_err());
    }
}
