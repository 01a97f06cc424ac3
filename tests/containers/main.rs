//! The containers of an arena: what they do, what they withstand, and how they fail.

mod attacks;
mod behaviour;
mod elements;
mod limits;
mod maps;
mod model;
mod text;
