//! A debug build remembers which line made a handle, and a stale one says so.
#![cfg(debug_assertions)]

use std::fmt::Debug;

use bevy_frame_arena::{FrameArenas, FrameHandle, HandleError, share_format};

/// The errors of handles that were made in a line, with the number of that line.
type Errors = Vec<(u32, HandleError)>;

fn why<T: ?Sized + Debug, const N: usize>(
    arenas: &FrameArenas,
    line: u32,
    handles: [FrameHandle<T>; N],
) -> Errors {
    let error = |handle| (line, arenas.resolve(handle).expect_err("it is stale"));
    handles.map(error).to_vec()
}

#[test]
#[rustfmt::skip]
fn a_stale_handle_names_the_line_that_made_it() {
    let mut arenas = FrameArenas::default();
    let arena = arenas.local();
    let lists = (line!(), [arena.share_slice_copy(&[1]), arena.share_iter([1])]);
    let tried = (line!(), [arena.try_share_slice_copy(&[1]).unwrap(), arena.try_share_iter([1]).unwrap()]);
    let values = (line!(), [arena.share(1), arena.try_share(1).unwrap()]);
    let texts = (line!(), [arena.share_str("1"), arena.try_share_str("1").unwrap(), arena.share_fmt(format_args!("1")), share_format!(arena, "1")]);
    let vecs = (line!(), [arena.collect([1]).share(), arena.collect([1]).try_share().unwrap()]);
    let boxes = (line!(), [arena.boxed(1).share(), arena.boxed(1).try_share().unwrap()]);
    let strings = (line!(), [arena.string().share()]);
    let full = || { let it = arenas.collector(); it.push(1); it };
    let collected = (line!(), [full().share(), full().try_share().unwrap(), full().share_sorted(), full().share_sorted_by_key(|n| *n), full().share_sorted_by(Ord::cmp)]);
    let cells = (line!(), [full().share_cells(2, |n| *n), full().try_share_cells(2, |n| *n).unwrap(), full().share_cells_sorted_by_key(2, |n| *n, |n| *n)]);
    let maps = (line!(), [full().share_cell_map(|n| *n), full().share_cell_map_sorted_by_key(|n| *n, |n| *n)]);
    arenas.swap();
    arenas.swap();
    let mut errors = why(&arenas, lists.0, lists.1);
    errors.extend(why(&arenas, tried.0, tried.1));
    errors.extend(why(&arenas, values.0, values.1));
    errors.extend(why(&arenas, texts.0, texts.1));
    errors.extend(why(&arenas, vecs.0, vecs.1));
    errors.extend(why(&arenas, boxes.0, boxes.1));
    errors.extend(why(&arenas, strings.0, strings.1));
    errors.extend(why(&arenas, collected.0, collected.1));
    errors.extend(why(&arenas, cells.0, cells.1));
    errors.extend(why(&arenas, maps.0, maps.1));
    let place = format!("{}:{}", file!(), lists.0);
    assert!(errors[0].1.to_string().contains(&place));
    for (line, error) in errors {
        let at = error.made_at().expect("a debug build remembers");
        assert_eq!((at.file(), at.line()), (file!(), line), "{error}");
    }
}
