//! Leases: readers that outlast a frame.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use bevy_frame_arena::{FrameArenaSettings, FrameArenas};

use crate::common::settings::blocks_of;

fn small() -> FrameArenas {
    FrameArenas::new(blocks_of(64 << 10))
}

#[test]
fn a_late_reader_parks_a_generation_instead_of_crashing() {
    let mut arenas = small();
    let handle = arenas.local().share_slice_copy(&[1, 2, 3]);
    let lease = arenas.lease();
    for frame in 0..if cfg!(miri) { 20 } else { 1_000_u64 } {
        arenas.swap();
        arenas.local().share_slice_copy(&[frame; 500]);
        assert_eq!(lease[handle], [1, 2, 3]);
        let usage = arenas.usage();
        let expected = usize::from(frame >= 1);
        assert_eq!((usage.parked, usage.generations), (expected, 2 + expected));
    }
    // One for each generation, and the thread's own worker alone.
    assert_eq!(arenas.usage().reserved_bytes, 3 * (8 << 10));

    drop(lease);
    arenas.swap();
    assert_eq!(arenas.usage().parked, 0);
}

#[test]
fn a_lease_for_about_a_frame_parks_nothing() {
    let mut arenas = small();
    let mut last = None;
    for frame in 0..100 {
        arenas.swap();
        let handle = arenas.local().share(frame);
        // The old lease is dropped here, a frame after it was taken.
        last = Some((arenas.lease(), handle));
        assert_eq!((arenas.usage().parked, arenas.usage().generations), (0, 2));
    }
    let (lease, handle) = last.expect("there were frames");
    assert_eq!(lease[handle], 99);
}

#[test]
fn leases_of_several_frames_settle_on_a_fixed_number_of_generations() {
    let mut arenas = small();
    let mut leases = std::collections::VecDeque::new();
    for frame in 0..100 {
        arenas.swap();
        let handle = arenas.local().share(frame);
        leases.push_back((arenas.lease(), handle, frame));
        if leases.len() > 5 {
            leases.pop_front();
        }
        for (lease, handle, frame) in &leases {
            assert_eq!(lease.get(*handle), Some(frame));
        }
    }
    let usage = arenas.usage();
    assert!(usage.generations <= 7, "{} generations", usage.generations);
    assert_eq!(usage.reserved_bytes, usage.generations * (8 << 10));
}

#[test]
fn spare_generations_are_given_back_after_a_while() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 64 << 10,
        trim_after_periods: Some(10),
        ..Default::default()
    });
    let leases: Vec<_> = (0..5)
        .map(|n| {
            arenas.local().share(n);
            let lease = arenas.lease();
            arenas.swap();
            lease
        })
        .collect();
    arenas.swap();
    assert_eq!(arenas.usage().parked, 5);
    drop(leases);
    for _ in 0..10 {
        arenas.swap();
        assert_eq!((arenas.usage().parked, arenas.usage().generations), (0, 7));
    }
    arenas.swap();
    assert_eq!(arenas.usage().generations, 2);
}

#[test]
fn leased_values_are_dropped_when_the_lease_has_ended() {
    let mut arenas = small();
    let value = Arc::new(());
    arenas.local().share(Arc::clone(&value));
    let lease = arenas.lease();
    for _ in 0..5 {
        arenas.swap();
    }
    assert_eq!(Arc::strong_count(&value), 2);
    drop(lease);
    assert_eq!(
        Arc::strong_count(&value),
        2,
        "the swap cleans up, not the reader"
    );
    arenas.swap();
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_lease_outlives_the_arenas_and_drops_the_values_last() {
    let arenas = small();
    let value = Arc::new(7);
    let handle = arenas.local().share(Arc::clone(&value));
    let lease = arenas.lease();
    drop(arenas);
    assert_eq!(*lease[handle], 7);
    assert_eq!(Arc::strong_count(&value), 2);
    thread::spawn(move || drop(lease)).join().unwrap();
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_leased_handle_derefs_to_its_data_wherever_it_goes() {
    let mut arenas = small();
    let current = arenas.local().share_str("current");
    arenas.swap();
    let leased = arenas.lease_handle(current).unwrap();
    assert_eq!(leased.handle(), current);
    let (sender, receiver) = channel();
    let reader = thread::spawn(move || {
        receiver.recv().unwrap();
        leased.clone().to_uppercase()
    });
    for _ in 0..10 {
        arenas.swap();
        arenas.local().share_slice_copy(&[0xFF_u8; 4_000]);
    }
    assert_eq!(arenas.usage().parked, 1);
    sender.send(()).unwrap();
    assert_eq!(reader.join().unwrap(), "CURRENT");
    arenas.swap();
    assert_eq!(arenas.usage().parked, 0);
    assert_eq!(
        arenas.lease_handle(current).unwrap_err().age_in_periods(),
        Some(12)
    );
}

#[test]
fn a_lease_reads_one_frame_only() {
    let mut arenas = small();
    let before = arenas.local().share(1);
    arenas.swap();
    let lease = arenas.lease();
    let during = arenas.local().share(2);
    arenas.swap();
    let after = arenas.local().share(3);
    assert_eq!(lease.get(before), None);
    assert_eq!(lease.get(during), Some(&2));
    assert_eq!(lease.get(after), None);
}

#[test]
#[should_panic = "`FrameHandle<i32>` of another frame: made in frame 0"]
fn indexing_a_lease_with_a_handle_of_another_frame_panics() {
    let mut arenas = small();
    let handle = arenas.local().share(1);
    arenas.swap();
    let _ = arenas.lease()[handle];
}

#[test]
fn figures_are_right_while_a_lease_is_held() {
    let mut arenas = small();
    for frame in 0..10 {
        let _lease = arenas.lease();
        arenas
            .local()
            .alloc_slice_fill_copy(100 * (frame + 1), 0_u64);
        arenas.swap();
        assert_eq!(arenas.usage().used_bytes, 800 * (frame + 1));
    }
}

#[test]
fn the_debug_output_names_the_frame_and_the_data() {
    let mut arenas = small();
    arenas.swap();
    let handle = arenas.local().share("data");
    assert!(format!("{arenas:?}").contains("period: 1"));
    assert!(format!("{:?}", arenas.lease()).starts_with("FrameLease { period: 1, "));
    assert_eq!(
        format!("{:?}", arenas.lease_handle(handle).unwrap()),
        "\"data\""
    );
}

#[test]
fn a_lease_of_a_handle_is_of_its_frame() {
    let mut arenas = small();
    let old = arenas.local().share(1);
    let beside = arenas.local().share(10);
    arenas.swap();
    let new = arenas.local().share(2);
    let (of_old, of_new) = (arenas.lease_of(old).unwrap(), arenas.lease_of(new).unwrap());
    assert_eq!((of_old.period(), of_new.period()), (0, 1));
    for _ in 0..10 {
        arenas.swap();
        arenas.local().share_slice_copy(&[0xFF_u8; 4_000]);
        assert_eq!((of_old[old], of_old[beside], of_new[new]), (1, 10, 2));
        assert_eq!((of_old.get(new), of_new.get(old)), (None, None));
    }
    assert_eq!(arenas.usage().parked, 2);
    let error = arenas.lease_of(old).unwrap_err();
    assert_eq!(error.age_in_periods(), Some(11));
    let theirs = small().local().share(3);
    let text = arenas.lease_of(theirs).unwrap_err().to_string();
    assert!(text.starts_with("foreign"), "{text}");
}

#[test]
fn a_lease_says_which_frame_a_handle_is_of() {
    let mut arenas = small();
    arenas.swap();
    let before = arenas.local().share(1);
    arenas.swap();
    let lease = arenas.lease();
    arenas.swap();
    let after = arenas.local().share_str("after");
    let text = lease.resolve(before).unwrap_err().to_string();
    assert!(text.contains("made in frame 1"), "{text}");
    let text = lease.resolve(after).unwrap_err().to_string();
    assert!(
        text.starts_with("`FrameHandle<str>` of another frame: made in frame 3"),
        "{text}"
    );
    assert!(text.contains("the lease is of frame 2"), "{text}");
    let theirs = small().local().share(3);
    let text = lease.resolve(theirs).unwrap_err().to_string();
    assert!(text.starts_with("foreign"), "{text}");
}

#[test]
fn a_leased_handle_resolves_the_handles_beside_it() {
    let mut arenas = small();
    let arena = arenas.local();
    let words = ["to", "you"].map(|word| arena.share_str(word));
    let words = arena.share_slice_copy(&words);
    arenas.swap();
    let words = arenas.lease_handle(words).unwrap();
    let foreign = arenas.local().share_str("later");
    drop(arenas);
    let task = thread::spawn(move || {
        assert_eq!(words.lease().get(foreign), None);
        // What it derefs to keeps its own methods.
        assert_eq!(words.get(0..1), Some(&words[..1]));
        let lease = words.lease().clone();
        words
            .iter()
            .map(|word| lease[*word].to_owned())
            .collect::<Vec<_>>()
    });
    assert_eq!(task.join().unwrap(), ["to", "you"]);
}

#[test]
fn the_last_lease_drops_the_values_and_may_panic() {
    struct Bomb(Arc<()>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destructor breaks");
        }
    }
    let arenas = small();
    let alive = Arc::new(());
    let bomb = arenas.local().share(Bomb(Arc::clone(&alive)));
    arenas.local().share(Arc::clone(&alive));
    let leased = arenas.lease_handle(bomb).unwrap();
    drop(arenas);
    assert_eq!(Arc::strong_count(&leased.0), 3);
    let outcome = thread::spawn(move || drop(leased)).join();
    assert!(outcome.is_err());
    assert_eq!(Arc::strong_count(&alive), 1, "all of them are dropped");
}
