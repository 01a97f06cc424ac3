//! Scratch as the parameter of a system.

use bevy_ecs::prelude::*;
use bevy_ecs::system::{ReadOnlySystemParam, SystemState};
use bevy_frame_arena::{FrameArenas, Scratch};
use static_assertions::assert_impl_all;

use crate::address;

assert_impl_all!(Scratch<'static>: ReadOnlySystemParam);

#[test]
fn a_system_asks_for_scratch_without_naming_the_resource() {
    fn two(a: Scratch, b: Scratch, arenas: Res<FrameArenas>) -> usize {
        assert_ne!(address(&a), address(&b));
        assert_ne!(address(&a), address(arenas.local()));
        a.alloc_slice_fill_with(4, |n| n * n).iter().sum()
    }
    let mut world = World::new();
    world.init_resource::<FrameArenas>();
    for _ in 0..3 {
        assert_eq!(world.run_system_cached(two).unwrap(), 14);
        let arenas = world.resource::<FrameArenas>();
        assert_eq!(arenas.scratch().used_bytes(), 0);
        world.resource_mut::<FrameArenas>().swap();
    }
}

#[test]
fn without_the_resource_the_system_is_told_so() {
    fn one(_: Scratch) {}
    let mut world = World::new();
    let error = world.run_system_cached(one).unwrap_err().to_string();
    assert!(error.contains("FrameArenas"), "{error}");
}

#[test]
#[should_panic(expected = "conflicts")]
fn it_conflicts_with_a_system_that_changes_the_arenas() {
    fn swap(_: Scratch, _: ResMut<FrameArenas>) {}
    let mut world = World::new();
    world.init_resource::<FrameArenas>();
    let _conflict = world.run_system_cached(swap);
}

#[test]
fn a_system_state_lends_it_for_as_long_as_the_world() {
    let mut world = World::new();
    world.init_resource::<FrameArenas>();
    let mut state = SystemState::<Scratch>::new(&mut world);
    let scratch = state.get(&world).unwrap();
    assert_eq!(*scratch.alloc(1), 1);
}
