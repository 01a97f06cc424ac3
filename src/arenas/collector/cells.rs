//! Elements in numbered cells, such as those of a grid.
#![expect(unsafe_code, reason = "resolves handles that are part of shared data")]

use std::error::Error;
use std::fmt;
use std::ops::{Index, Range};

use super::FrameCollector;
use super::batch::too_long;
use crate::error::{ArenaError, fail};
use crate::handles::FrameHandle;

/// Elements in numbered cells, e.g. those of a grid: made by [`FrameCollector::share_cells`].
///
/// All elements lie in one list, in the order of their cells, so each cell and each range of cells is a slice.
/// Store a `FrameHandle<Cells<T>>`; resolved once, it has all cells.
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
///
/// What is borrowed from it ends with its period:
///
/// ```compile_fail,E0502
/// # use bevy_frame_arena::FrameArenas;
/// # let mut arenas = FrameArenas::default();
/// let cells = arenas.collector::<u32>().share_cells(9, |_| 0);
/// let cell = &arenas[cells][0];
/// arenas.swap();
/// assert!(cell.is_empty());
/// ```
pub struct Cells<T> {
    elements: FrameHandle<[T]>,
    /// Cell `n` is `ends[n]..ends[n + 1]` of the elements.
    ends: FrameHandle<[u32]>,
}

impl<T> Cells<T> {
    /// Returns the elements of all cells, in the order of the cells.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let odd_last = arenas.collector();
    /// odd_last.batch().extend([1, 4, 3]);
    /// let cells = &arenas[odd_last.share_cells(2, |n| n % 2)];
    /// assert_eq!(cells.elements(), [4, 1, 3]);
    /// ```
    #[inline]
    pub fn elements(&self) -> &[T] {
        // SAFETY:
        // - the collector shared the elements, the ends and then `self` in one arena of one generation;
        // - there is no other way to get a `Cells`, and none to copy one: whoever borrows it has resolved a
        //   handle of that generation, which stays while it is borrowed.
        unsafe { self.elements.data() }
    }

    #[inline]
    fn ends(&self) -> &[u32] {
        // SAFETY: as above.
        unsafe { self.ends.data() }
    }

    /// Returns the number of cells, empty ones included.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let cells = arenas.collector::<u32>().share_cells(9, |_| 0);
    /// assert_eq!(arenas[cells].len(), 9);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.ends().len() - 1
    }

    /// Returns whether there are no cells.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the elements of a cell, if there is one with this number.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let cells = arenas.collector::<u32>().share_cells(9, |_| 0);
    /// assert_eq!(arenas[cells].get(8), Some(&[][..]));
    /// assert_eq!(arenas[cells].get(9), None);
    /// ```
    #[inline]
    pub fn get(&self, cell: usize) -> Option<&[T]> {
        let ends = self.ends();
        let end = *ends.get(cell.checked_add(1)?)?;
        Some(&self.elements()[ends[cell] as usize..end as usize])
    }

    /// Returns the elements of several cells that follow each other, as one slice.
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
        let [start, end] = [cells.start, cells.end].map(|cell| self.ends()[cell] as usize);
        &self.elements()[start..end]
    }

    /// Returns the cells in order, empty ones included.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let parity = arenas.collector();
    /// parity.batch().extend([1, 4, 3]);
    /// let parity = parity.share_cells(2, |n| n % 2);
    /// assert!(arenas[parity].iter().map(<[_]>::len).eq([1, 2]));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        let bounds = self.ends().windows(2);
        bounds.map(|bounds| &self.elements()[bounds[0] as usize..bounds[1] as usize])
    }

    /// Returns the elements of a cell and of those around it: 3 x 3 cells, or 3 x 3 x 3, without those beyond
    /// the border.
    ///
    /// `size` is the number of cells along each axis. The number of a cell is `x + y * size[0]` then, or
    /// `x + y * size[0] + z * size[0] * size[1]`.
    ///
    /// # Panics
    /// If there is no cell with this number, or the grid has another number of cells.
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
        assert_eq!(product, Some(len), "a grid of {size:?} has {len} cells");
        let [width, height, depth] = std::array::from_fn(|axis| *size.get(axis).unwrap_or(&1));
        let [x, y, z] = [cell % width, cell / width % height, cell / width / height];
        let near = |at: usize, size: usize| at.saturating_sub(1)..size.min(at + 2);
        let columns = near(x, width);
        let rows = near(z, depth).flat_map(move |z| near(y, height).map(move |y| y + z * height));
        rows.flat_map(move |row| self.range(row * width + columns.start..row * width + columns.end))
    }

    /// Cells without elements, to be shared in the arena of `ends` once they have some of the same arena.
    pub(super) fn new(ends: FrameHandle<[u32]>) -> Self {
        let elements = FrameHandle::default();
        Self { elements, ends }
    }

    pub(super) fn set_elements(&mut self, elements: FrameHandle<[T]>) {
        self.elements = elements;
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

impl<T: fmt::Debug> fmt::Debug for Cells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Why elements could not be put into cells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellsError {
    /// The arena is out of memory or over a limit.
    Arena(ArenaError),
    /// An element has a cell that there is not.
    OutOfRange {
        /// The cell of the element.
        cell: usize,
        /// How many cells there are: the first is 0.
        cells: usize,
    },
}

impl From<ArenaError> for CellsError {
    fn from(error: ArenaError) -> Self {
        Self::Arena(error)
    }
}

impl fmt::Display for CellsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arena(error) => error.fmt(f),
            Self::OutOfRange { cell, cells } => write!(
                f,
                "an element has cell {cell}, and there are {cells} cells, numbered from 0"
            ),
        }
    }
}

impl Error for CellsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Arena(error) => Some(error),
            Self::OutOfRange { .. } => None,
        }
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
    /// If `cell_of` returns a number that is not below `cells`, or panics, or if the arena is out of memory or
    /// over a limit. The elements are dropped first.
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

    /// Shares the elements in `cells` numbered cells.
    ///
    /// # Errors
    /// If `cell_of` returns a number that is not below `cells`, or if the arena is out of memory or over a
    /// limit; the elements are dropped then.
    ///
    /// # Panics
    /// If `cell_of` panics; the elements are dropped first.
    #[track_caller]
    pub fn try_share_cells(
        self,
        cells: usize,
        cell_of: impl FnMut(&T) -> usize,
    ) -> Result<FrameHandle<Cells<T>>, CellsError> {
        self.try_share_cells_with(cells, cell_of, |_, _| {})
    }

    /// Shares the elements in `cells` numbered cells, as [`share_cells`](Self::share_cells) does, those of each
    /// cell sorted by a key. Use it where the order must not depend on which worker was faster.
    ///
    /// # Panics
    /// If `cell_of` returns a number that is not below `cells`, or a closure panics, or if the arena is out of
    /// memory or over a limit. The elements are dropped first.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let parity = arenas.collector();
    /// parity.batch().extend([5, 4, 3, 2, 1]);
    /// let parity = &arenas[parity.share_cells_sorted_by_key(2, |n| n % 2, |n| *n)];
    /// assert_eq!((&parity[0], &parity[1]), (&[2, 4][..], &[1, 3, 5][..]));
    /// ```
    #[track_caller]
    pub fn share_cells_sorted_by_key<K: Ord>(
        self,
        cells: usize,
        cell_of: impl FnMut(&T) -> usize,
        sort_key: impl FnMut(&T) -> K,
    ) -> FrameHandle<Cells<T>> {
        or_fail(self.try_share_cells_sorted_by_key(cells, cell_of, sort_key))
    }

    /// Shares the elements in `cells` numbered cells, those of each cell sorted by a key.
    ///
    /// # Errors
    /// If `cell_of` returns a number that is not below `cells`, or if the arena is out of memory or over a
    /// limit; the elements are dropped then.
    ///
    /// # Panics
    /// If a closure panics; the elements are dropped first.
    #[track_caller]
    pub fn try_share_cells_sorted_by_key<K: Ord>(
        self,
        cells: usize,
        cell_of: impl FnMut(&T) -> usize,
        mut sort_key: impl FnMut(&T) -> K,
    ) -> Result<FrameHandle<Cells<T>>, CellsError> {
        self.try_share_cells_with(cells, cell_of, |list, ends| {
            sort_each(list, ends, &mut sort_key);
        })
    }

    #[track_caller]
    fn try_share_cells_with(
        self,
        cells: usize,
        mut cell_of: impl FnMut(&T) -> usize,
        finish: impl FnOnce(&mut [T], &[u32]),
    ) -> Result<FrameHandle<Cells<T>>, CellsError> {
        let arena = self.arenas.local();
        let mut ends = arena.vec();
        let with_zero = cells.checked_add(1).ok_or(too_long::<u32>(cells))?;
        ends.try_resize(with_zero, 0)?;
        let mut list = arena.vec();
        self.try_gather_cells(&mut list, &mut ends, |value, _| match cell_of(value) {
            cell if cell < cells => Ok(cell),
            cell => Err(CellsError::OutOfRange { cell, cells }),
        })?;
        finish(&mut list, &ends);
        let mut shared = arena.try_boxed(Cells::new(ends.try_share()?))?;
        shared.set_elements(list.try_share()?);
        Ok(shared.try_share()?)
    }
}

/// Sorts the elements of each cell.
pub(super) fn sort_each<T, K: Ord>(list: &mut [T], ends: &[u32], key: &mut impl FnMut(&T) -> K) {
    for bounds in ends.windows(2) {
        list[bounds[0] as usize..bounds[1] as usize].sort_unstable_by_key(&mut *key);
    }
}

#[track_caller]
fn or_fail<H>(result: Result<H, CellsError>) -> H {
    match result {
        Ok(handle) => handle,
        Err(CellsError::Arena(error)) => fail(error),
        Err(error) => panic!("{error}"),
    }
}
