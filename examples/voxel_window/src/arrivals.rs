//! Chunks that come into view light up: the sorted list of this frame, compared with the last frame's.

use bevy::prelude::*;
use bevy_frame_arena::prelude::*;

use crate::ways::Way;
use crate::ways::arena::Draws;

/// How fast the light fades, in shares of it a second. Slowly: a chunk is in the list before it is on the
/// screen, because its surroundings are a sphere.
const FADE: f32 = 0.7;

pub(crate) struct ArrivalsPlugin;

impl Plugin for ArrivalsPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<InView>()
            .init_resource::<Lights>()
            .add_systems(PostUpdate, (list_view, light_arrivals).chain());
    }
}

/// The numbers of the chunks in view, in this frame and in the one before it.
#[derive(Resource, Default)]
struct InView(TwoFrames<u32>);

/// How bright each chunk is lit, from 0 to 1; for the render world.
#[derive(Resource, Clone, Default)]
pub(crate) struct Lights(pub(crate) Vec<f32>);

fn list_view(arenas: Res<FrameArenas>, draws: Res<Draws>, mut in_view: ResMut<InView>) {
    let chunks = arenas.slice(draws.0).iter().map(|draw| draw.chunk);
    let mut chunks = chunks.collect_in(arenas.local());
    chunks.sort_unstable();
    in_view.0.set(chunks.share());
}

fn light_arrivals(
    arenas: Res<FrameArenas>,
    in_view: Res<InView>,
    way: Res<Way>,
    time: Res<Time>,
    mut lights: ResMut<Lights>,
) {
    for light in &mut lights.0 {
        *light = (*light - FADE * time.delta_secs()).max(0.0);
    }
    // After a change of the way, everything is new.
    if *way != Way::Arena || way.is_changed() || in_view.0.has_gap(&arenas) {
        return;
    }
    for &chunk in in_view.0.changes(&arenas).filter_map(Change::added) {
        let chunk = chunk as usize;
        if lights.0.len() <= chunk {
            lights.0.resize(chunk + 1, 0.0);
        }
        lights.0[chunk] = 1.0;
    }
}
