//! Elements in numbered cells, such as those of a grid.
#![expect(
    unsafe_code,
    reason = "resolves handles that are part of shared data, and trusts the ends of cells"
)]

use std::fmt;
use std::iter::from_fn;
use std::ops::{Deref, Index, Range};
use std::slice;

use super::FrameCollector;
use crate::arena::too_long;
use crate::containers::or_fail;
use crate::error::ArenaError;
use crate::handles::FrameHandle;

/// Elements in numbered cells, e.g. those of a grid: made by [`FrameCollector::share_cells`].
///
/// All elements lie in one list, in the order of their cells, so each cell and each range of cells is a slice.
/// Store a `FrameHandle<Cells<T>>`: one look-up gives access to all cells.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::prelude::*;
///
/// const SIZE: [usize; 2] = [32, 32];
///
/// #[derive(Component)]
/// struct Place { x: usize, y: usize }
///
/// #[derive(Resource, Default)]
/// struct Grid(FrameHandle<Cells<(usize, Entity)>>);
///
/// fn sort_into_cells(arenas: Res<FrameArenas>, all: Query<(Entity, &Place)>, mut grid: ResMut<Grid>) {
///     let cells = arenas.collector();
///     all.par_iter().for_each_init(|| cells.batch(), |batch, (entity, place)| {
///         batch.push((place.x + place.y * SIZE[0], entity));
///     });
///     grid.0 = cells.share_cells(SIZE[0] * SIZE[1], |it| it.0);
/// }
///
/// fn meet(arenas: Res<FrameArenas>, grid: Res<Grid>) {
///     let cells = &arenas[grid.0];
///     println!("{} in cell 7, {} around it", cells[7].len(), cells.around(7, SIZE).count());
/// }
/// ```
pub struct Cells<T> {
    pub(super) elements: Within<[T]>,
    /// Cell `n` is `ends[n]..ends[n + 1]` of the elements. The ends ascend from 0 to the number of elements.
    pub(super) ends: Within<[u32]>,
}

impl<T> Cells<T> {
    /// Returns the elements of all cells, in the order of the cells.
    #[inline]
    pub fn elements(&self) -> &[T] {
        &self.elements
    }

    /// Returns the number of cells, empty ones included.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// Returns whether there are no cells.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements of a cell, or `None` if there is no cell with this number.
    #[inline]
    pub fn get(&self, cell: usize) -> Option<&[T]> {
        let [start, end] = *self.ends.get(cell..)?.first_chunk()?;
        // SAFETY: these are two consecutive ends.
        Some(unsafe { self.between(start, end) })
    }

    /// # Safety
    /// Both must be entries of `ends`, and `end` must not come before `start`.
    #[inline]
    unsafe fn between(&self, start: u32, end: u32) -> &[T] {
        let (elements, cell) = (self.elements(), start as usize..end as usize);
        debug_assert!(elements.get(cell.clone()).is_some(), "ends ascend");
        // SAFETY: the collector counted the elements: ends ascend, and none is beyond the last element.
        unsafe { elements.get_unchecked(cell) }
    }

    /// Returns the elements of consecutive cells, as one slice.
    ///
    /// # Panics
    /// If the range is reversed or ends beyond the last cell.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let tens = arenas.collector();
    /// tens.batch().extend([35, 11, 12]);
    /// let tens = tens.share_cells(10, |n| n / 10);
    /// assert_eq!(arenas[tens].range(1..4), [11, 12, 35]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn range(&self, cells: Range<usize>) -> &[T] {
        let len = self.len();
        assert!(
            cells.start <= cells.end && cells.end <= len,
            "cells {cells:?} of {len} cells"
        );
        let [start, end] = [cells.start, cells.end].map(|cell| self.ends[cell]);
        // SAFETY: the range is not reversed.
        unsafe { self.between(start, end) }
    }

    /// Returns the cells in order, empty ones included.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.len()).map(|cell| &self[cell])
    }

    /// Returns the elements of a cell and of its neighbours: 3 x 3 cells of a grid with two axes, 3 x 3 x 3 of one
    /// with three. Cells beyond the border are left out.
    ///
    /// `size` is the number of cells along each axis. The number of a cell must be `x + y * size[0]`, or
    /// `x + y * size[0] + z * size[0] * size[1]`.
    ///
    /// # Panics
    /// If there is no cell with this number, or if a grid of this size does not have [`len`](Self::len) cells.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let grid = arenas.collector();
    /// grid.batch().extend(0..20);
    /// let grid = &arenas[grid.share_cells(20, |n| *n)];
    /// assert!(grid.around(6, [5, 4]).eq(&[0, 1, 2, 5, 6, 7, 10, 11, 12]));
    /// assert!(grid.around(4, [5, 4]).eq(&[3, 4, 8, 9]));
    /// ```
    // The size is usually a constant, which saves the divisions.
    #[inline(always)]
    #[track_caller]
    pub fn around<const N: usize>(
        &self,
        cell: usize,
        size: [usize; N],
    ) -> impl Iterator<Item = &T> {
        const { assert!(N > 0 && N <= 3, "a grid has one, two or three axes") };
        let len = self.len();
        assert!(cell < len, "cell {cell} of {len} cells");
        let product = size
            .iter()
            .try_fold(1, |cells: usize, n| cells.checked_mul(*n));
        let is_grid = product == Some(len);
        assert!(is_grid, "these are {len} cells, not a grid of {size:?}");
        let [width, height, depth] = std::array::from_fn(|axis| *size.get(axis).unwrap_or(&1));
        let [x, y, z] = [cell % width, cell / width % height, cell / width / height];
        let near = |at: usize, size: usize| at.saturating_sub(1)..size.min(at + 2);
        let (columns, rows, layers) = (near(x, width), near(y, height), near(z, depth));
        let (mut y, mut z) = (rows.start, layers.start);
        let rows = from_fn(move || {
            if y == rows.end {
                (y, z) = (rows.start, z + 1);
            }
            let row = (z < layers.end).then_some((z * height + y) * width)?;
            y += 1;
            Some(self.range(row + columns.start..row + columns.end))
        });
        Flat::new(rows)
    }
}

/// A handle inside a shared value, to data in the same arena. It is read without a check.
///
/// The collector is the only one to make it, as a part of [`Cells`] or a `CellMap` that is shared afterwards in
/// the arena of the handle, and can be neither copied nor moved from there.
pub(super) struct Within<T: ?Sized>(pub(super) FrameHandle<T>);

impl<T: ?Sized> Deref for Within<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY:
        // - the collector shared the data, and then the value that this handle is part of, in one arena of one
        //   generation;
        // - a reference to the value comes from a handle of that generation, which is not recycled while the
        //   reference lives.
        unsafe { self.0.data() }
    }
}

/// Returns the elements of a cell.
impl<T> Index<usize> for Cells<T> {
    type Output = [T];

    /// # Panics
    /// If there is no cell with this number.
    #[inline]
    #[track_caller]
    fn index(&self, cell: usize) -> &[T] {
        match self.get(cell) {
            Some(elements) => elements,
            None => panic!("cell {cell} of {} cells", self.len()),
        }
    }
}

/// The elements of all slices that an iterator yields. `flatten` takes twice as many instructions for an element.
pub(super) struct Flat<'c, T, I> {
    slices: I,
    /// The rest of the current slice.
    elements: slice::Iter<'c, T>,
}

impl<'c, T, I: Iterator<Item = &'c [T]>> Flat<'c, T, I> {
    #[inline]
    pub(super) fn new(slices: I) -> Self {
        let elements = [].iter();
        Self { slices, elements }
    }
}

impl<'c, T, I: Iterator<Item = &'c [T]>> Iterator for Flat<'c, T, I> {
    type Item = &'c T;

    #[inline]
    fn next(&mut self) -> Option<&'c T> {
        loop {
            if let Some(element) = self.elements.next() {
                return Some(element);
            }
            self.elements = self.slices.next()?.iter();
        }
    }

    /// Loops over each slice, so that e.g. a sum needs no check between two elements.
    #[inline]
    fn fold<A, F: FnMut(A, &'c T) -> A>(self, first: A, mut f: F) -> A {
        let first = self.elements.fold(first, &mut f);
        let of_slice = |sum, slice: &'c [T]| slice.iter().fold(sum, &mut f);
        self.slices.fold(first, of_slice)
    }
}

impl<T: fmt::Debug> fmt::Debug for Cells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// # One list for each cell
impl<T: Send + Sync + 'static> FrameCollector<'_, T> {
    /// Shares the elements in `cells` numbered cells. Use it for a grid, and wherever keys are small numbers:
    /// the elements are counted and placed, not sorted, and `cell_of` is called once for each.
    ///
    /// Within a cell, elements are in no particular order, unless all batches have a number
    /// ([`batch_at`](Self::batch_at)); see also
    /// [`share_cells_sorted_by_key`](Self::share_cells_sorted_by_key).
    ///
    /// # Panics
    /// If `cell_of` returns a number that is not below `cells`, or panics, or if memory is refused. The elements
    /// are dropped.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let tens = arenas.collector();
    /// tens.batch().extend([35, 11, 12]);
    /// let tens = &arenas[tens.share_cells(10, |n| n / 10)];
    /// assert_eq!((&tens[1], &tens[3]), (&[11, 12][..], &[35][..]));
    /// ```
    #[track_caller]
    pub fn share_cells(
        self,
        cells: usize,
        cell_of: impl FnMut(&T) -> usize,
    ) -> FrameHandle<Cells<T>> {
        or_fail(self.try_share_cells(cells, cell_of))
    }

    /// Shares as [`share_cells`](Self::share_cells) does, or returns an error and drops the elements.
    #[track_caller]
    pub fn try_share_cells(
        self,
        cells: usize,
        cell_of: impl FnMut(&T) -> usize,
    ) -> Result<FrameHandle<Cells<T>>, ArenaError> {
        self.try_share_cells_with(cells, cell_of, |_, _| {})
    }

    /// Shares the elements in `cells` numbered cells, as [`share_cells`](Self::share_cells) does, and sorts each
    /// cell by a key. Use it where the order must not depend on which worker was faster.
    #[track_caller]
    pub fn share_cells_sorted_by_key<K: Ord>(
        self,
        cells: usize,
        cell_of: impl FnMut(&T) -> usize,
        sort_key: impl FnMut(&T) -> K,
    ) -> FrameHandle<Cells<T>> {
        let sort = |list: &mut [T], ends: &[u32]| sort_each(list, ends, sort_key);
        or_fail(self.try_share_cells_with(cells, cell_of, sort))
    }

    #[track_caller]
    fn try_share_cells_with(
        self,
        cells: usize,
        mut cell_of: impl FnMut(&T) -> usize,
        finish: impl FnOnce(&mut [T], &[u32]),
    ) -> Result<FrameHandle<Cells<T>>, ArenaError> {
        // Cells are numbered by `u32` while the elements move.
        if cells >= u32::MAX as usize {
            return Err(too_long::<u32>(cells));
        }
        let arena = self.arenas.local();
        let mut ends = arena.vec();
        ends.try_resize(cells + 1, 0)?;
        let mut list =
            self.try_gather_cells(&mut &mut ends[1..], |value, ends| match cell_of(value) {
                cell if cell < ends.len() => Ok(cell),
                cell => Err(ArenaError::NoSuchCell { cell, cells }),
            })?;
        finish(&mut list, &ends);
        let mut shared = arena.try_boxed(Cells {
            elements: Within(FrameHandle::default()),
            ends: Within(ends.try_share()?),
        })?;
        // The last step that can fail: until then, the list drops the elements.
        shared.elements = Within(list.try_share()?);
        shared.try_share()
    }
}

/// Sorts the elements of each cell.
pub(super) fn sort_each<T, K: Ord>(list: &mut [T], ends: &[u32], mut key: impl FnMut(&T) -> K) {
    for bounds in ends.windows(2) {
        list[bounds[0] as usize..bounds[1] as usize].sort_unstable_by_key(&mut key);
    }
}
