//! The containers of an arena: what they do, what they withstand, and how they fail.

#[path = "containers/attacks.rs"]
mod attacks;
#[path = "containers/behaviour.rs"]
mod behaviour;
#[path = "containers/elements.rs"]
mod elements;
#[path = "containers/limits.rs"]
mod limits;
#[path = "containers/locations.rs"]
mod locations;
#[path = "containers/maps.rs"]
mod maps;
#[path = "containers/model.rs"]
mod model;
