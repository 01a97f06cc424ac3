//! Notices when a sub-app is no longer handed its frames.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bevy_app::{App, InternedAppLabel};
use bevy_ecs::system::Local;
use tracing::warn;

use super::frame_start::FrameArenaSchedule;

/// Frames of the main world without an extract that are nothing to speak of.
const PATIENCE: u32 = 10;

/// Set at each extract, and looked at by the main world once a frame.
///
/// An extract function that is set after `App::finish` takes the place of the one that hands over,
/// and nothing else tells: the other world would go on with an empty [`ExtractedFrame`].
///
/// [`ExtractedFrame`]: super::ExtractedFrame
pub(super) struct HandOverWatch(Arc<AtomicBool>);

impl HandOverWatch {
    /// Starts to watch, in the main world.
    pub(super) fn add_to(app: &mut App, label: InternedAppLabel) -> Self {
        let was_extracted = Arc::new(AtomicBool::new(true));
        let watch = Self(Arc::clone(&was_extracted));
        app.add_systems(FrameArenaSchedule, move |mut missed: Local<u32>| {
            if was_extracted.swap(false, Relaxed) {
                *missed = 0;
                return;
            }
            *missed = missed.saturating_add(1);
            if *missed == PATIENCE {
                warn!(
                    "no frame was handed to the sub-app `{label:?}` for {PATIENCE} frames. If its \
                     extract function was set after `App::finish`: take the one that was there \
                     with `SubApp::take_extract`, and call it from yours"
                );
            }
        });
        watch
    }

    /// Notes an extract.
    pub(super) fn note(&self) {
        self.0.store(true, Relaxed);
    }
}
