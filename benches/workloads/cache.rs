//! Runs this program under callgrind with simulated caches, and reads what it counted.

use std::fs;
use std::process::Command;

use crate::ways::REUSE;

/// Frames that are counted.
const FRAMES: u64 = 2;

/// The caches of a recent server core: 48 KiB of level one, 1.25 MiB of level two.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=49152,12,64", "--LL=1310720,20,64"];

/// What one frame costs.
pub(crate) struct Count {
    pub(crate) workload: String,
    pub(crate) way: String,
    sum: String,
    pub(crate) instructions: u64,
    /// Reads and writes of data that level one did not have.
    pub(crate) first_level_misses: u64,
    /// Those that level two did not have either.
    pub(crate) second_level_misses: u64,
}

/// Has callgrind count a few calls of `frame`.
pub(crate) fn segment(mut frame: impl FnMut()) {
    // Everything up to here is not counted, but is in the caches.
    segment_ends();
    for _ in 0..FRAMES {
        measured_frame(&mut frame);
    }
    segment_ends();
}

/// Callgrind counts what happens in here alone.
#[inline(never)]
fn measured_frame(frame: &mut impl FnMut()) {
    frame();
    std::hint::black_box(());
}

/// Callgrind writes its counters and clears them whenever this returns.
#[inline(never)]
fn segment_ends() {
    std::hint::black_box(());
}

/// Runs this program with `argument` under callgrind.
pub(crate) fn run(argument: &str) -> Result<Vec<Count>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = std::env::temp_dir().join(format!("workloads-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let out = folder.join("out").display().to_string();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--cache-sim=yes"])
        .args(CACHES)
        .args([
            "--toggle-collect=*measured_frame*",
            "--dump-after=*segment_ends*",
        ])
        .arg(format!("--callgrind-out-file={out}"))
        // valgrind counts `rep movsb` by bytes: have the C library copy by vectors.
        .env(
            "GLIBC_TUNABLES",
            "glibc.cpu.x86_rep_movsb_threshold=0x10000000",
        )
        .arg(program)
        .arg(argument)
        .output()
        .map_err(|error| format!("valgrind did not start ({error}); is it installed?"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let labels = String::from_utf8_lossy(&output.stdout).into_owned();
    let counts = labels.lines().enumerate().map(|(index, label)| {
        // Two parts for each segment: what came before, then what counts.
        let part = format!("{out}.{}", 2 * index + 2);
        let text = fs::read_to_string(&part).map_err(|error| format!("{part}: {error}"))?;
        read_part(&text, label).ok_or_else(|| format!("{part}: not as expected"))
    });
    let counts = counts.collect();
    // What can't be removed is left to the system's own cleaning.
    drop(fs::remove_dir_all(&folder));
    counts
}

fn read_part(text: &str, label: &str) -> Option<Count> {
    let line = |name| text.lines().find_map(|line| line.strip_prefix(name));
    let events: Vec<&str> = line("events: ")?.split(' ').collect();
    let totals: Vec<u64> = line("totals: ")?
        .split(' ')
        .map_while(|total| total.parse().ok())
        .collect();
    let total = |name: &str| {
        let place = events.iter().position(|event| *event == name)?;
        // Zeros at the end are left out.
        Some(totals.get(place).copied().unwrap_or(0) / FRAMES)
    };
    let mut label = label.split('\t').map(String::from);
    Some(Count {
        workload: label.next()?,
        way: label.next()?,
        sum: label.next()?,
        instructions: total("Ir")?,
        first_level_misses: total("D1mr")? + total("D1mw")?,
        second_level_misses: total("DLmr")? + total("DLmw")?,
    })
}

/// Prints the table, and returns whether all ways computed the same.
pub(crate) fn print(counts: &[Count]) -> bool {
    println!("instructions and data cache misses of one frame, simulated: {CACHES:?}\n");
    println!("| | | instructions, k | ratio | L1 misses | L2 misses | ratio of L1 misses |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    let mut is_same = true;
    for count in counts {
        let Some(reuse) = reuse_of(counts, count) else {
            continue;
        };
        is_same &= count.sum == reuse.sum;
        println!(
            "| {} | {} | {:.0} | {:.3} | {} | {} | {:.3} |",
            count.workload,
            count.way,
            count.instructions as f64 / 1e3,
            count.instructions as f64 / reuse.instructions as f64,
            count.first_level_misses,
            count.second_level_misses,
            count.first_level_misses as f64 / reuse.first_level_misses as f64,
        );
    }
    println!();
    if !is_same {
        println!("DIFFERENT: the ways computed different things");
    }
    is_same
}

/// Returns the counts of reused buffers in the same workload.
pub(crate) fn reuse_of<'c>(counts: &'c [Count], count: &Count) -> Option<&'c Count> {
    let mut all = counts.iter();
    all.find(|other| other.workload == count.workload && other.way == REUSE)
}
