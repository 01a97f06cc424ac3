//! Runs this program under callgrind and reads what it counted.

use std::fs;
use std::process::Command;

/// Frames that are counted.
const FRAMES: u64 = 4;

/// The instructions of one frame.
pub(crate) struct Count {
    pub(crate) scene: String,
    pub(crate) way: String,
    pub(crate) instructions: u64,
}

/// Has callgrind count a few calls of `frame`.
pub(crate) fn segment(mut frame: impl FnMut()) {
    // Everything up to here is not counted.
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
    let folder = std::env::temp_dir().join(format!("collect-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let out = folder.join("out").display().to_string();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*measured_frame*"])
        .arg("--dump-after=*segment_ends*")
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
        let (scene, way) = label
            .split_once('\t')
            .ok_or_else(|| format!("odd label `{label}`"))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        let total: u64 = total
            .and_then(|total| total.trim().parse().ok())
            .ok_or_else(|| format!("{part}: no totals"))?;
        Ok(Count {
            scene: scene.into(),
            way: way.into(),
            instructions: total / FRAMES,
        })
    });
    let counts = counts.collect();
    // What can't be removed is left to the system's own cleaning.
    drop(fs::remove_dir_all(&folder));
    counts
}
