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

/// The report as the Bevy Remote Protocol serialises it: `world.get_resources`.
#[cfg(feature = "bevy")]
#[test]
fn the_report_is_registered_and_serialised_with_its_figures() {
    use bevy_app::App;
    use bevy_ecs::reflect::{AppTypeRegistry, ReflectComponent, ReflectResource};
    use bevy_frame_arena::{FrameArenaPlugin, FrameArenaReport};
    use bevy_reflect::serde::ReflectSerializer;

    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default());
    let arenas = app.world().resource::<FrameArenas>();
    arenas.local().alloc([0_u64; 100]);
    let stale = arenas.local().share(1_u8);
    let _running = arenas.task_arena();
    (0..2).for_each(|_| app.update());
    let arenas = app.world().resource::<FrameArenas>();
    arenas.local().alloc([0_u64; 200]);
    assert_eq!(arenas.get(stale), None);
    app.update();

    let registry = app.world().resource::<AppTypeRegistry>().read();
    let path = "bevy_frame_arena::FrameArenaReport";
    let registration = registry.get_with_type_path(path).expect("registered");
    assert!(registration.data::<ReflectResource>().is_some());
    assert!(registration.data::<ReflectComponent>().is_some());
    let report = app.world().resource::<FrameArenaReport>();
    let report = serde_json::to_value(ReflectSerializer::new(report, &registry));
    let report = report.expect("all of it is serialised");

    let usage = app.world().resource::<FrameArenas>().usage();
    let frame = &report[path]["arenas"][0];
    assert_eq!(frame["label"], "Frame arenas");
    let shown = &frame["usage"];
    assert_eq!(shown["figures"]["used_bytes"], usage.used_bytes);
    assert_eq!(usage.used_bytes, 1600);
    assert_eq!(shown["workers"][0]["name"], *usage.workers[0].name);
    assert_eq!(shown["workers"][0]["figures"]["used_bytes"], 1600);
    let first = usage.first_stale_lookup.expect("one was stale");
    assert_eq!(shown["first_stale_lookup"], first.to_string());
    let oldest = usage.oldest_task.expect("one is running");
    assert_eq!(shown["oldest_task"], oldest.to_string());
}
