use bevy_frame_arena::{FrameMap, FrameVec};

/// What Bevy asks of a component, a resource or a message.
trait Component: Send + Sync + 'static {}

struct Visible(FrameVec<'static, u32>);

impl Component for Visible {}

struct Damage(FrameMap<'static, u32, u32>);

impl Component for Damage {}

fn main() {}
