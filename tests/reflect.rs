//! Handles in types that derive `Reflect`.

use bevy_frame_arena::{FrameArenas, FrameHandle};
use bevy_reflect::{PartialReflect, Reflect, ReflectRef, TypePath, TypeRegistry};

#[derive(Reflect, Default)]
struct Visible {
    meshes: FrameHandle<[u32]>,
    label: FrameHandle<str>,
    score: FrameHandle<u64>,
}

#[test]
fn a_type_that_holds_handles_reflects_them_as_opaque() {
    let arenas = FrameArenas::default();
    let visible = Visible {
        meshes: arenas.local().share_slice_copy(&[1, 2]),
        label: arenas.local().share_str("two"),
        score: FrameHandle::default(),
    };
    let ReflectRef::Struct(fields) = visible.reflect_ref() else {
        panic!("it is a struct");
    };
    let meshes = fields.field("meshes").expect("a field");
    assert!(matches!(meshes.reflect_ref(), ReflectRef::Opaque(_)));
    let meshes = meshes.try_downcast_ref::<FrameHandle<[u32]>>();
    assert_eq!(arenas[*meshes.expect("its type")], [1, 2]);

    let mut copy = Visible::default();
    copy.apply(&visible);
    assert_eq!(arenas.text(copy.label), "two");
    assert!(copy.score.is_unset());
    assert_eq!(visible.label.reflect_partial_eq(&copy.label), Some(true));
}

#[test]
fn handles_are_registered_by_their_path() {
    let mut registry = TypeRegistry::default();
    registry.register::<Visible>();
    let path = FrameHandle::<[u32]>::type_path();
    assert_eq!(path, "bevy_frame_arena::FrameHandle<[u32]>");
    assert!(registry.get_with_type_path(path).is_some());
}
