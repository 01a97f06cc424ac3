//! Runs this program under callgrind, and hands out what it wrote for each segment of the run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Callgrind writes its counters and clears them whenever this returns.
///
/// A segment is what lies between two calls. The program prints a line for each: its label.
#[inline(never)]
pub(crate) fn segment_ends() {
    std::hint::black_box(());
}

/// What callgrind wrote for one segment.
pub(crate) struct Segment {
    /// What the program printed for it: parts, with tabs between them.
    pub(crate) label: String,
    /// The counters, as callgrind writes them.
    pub(crate) text: String,
}

/// Runs this program with `argument` under callgrind.
pub(crate) fn run(argument: &str, options: &[&str]) -> Result<Vec<Segment>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = Folder::new()?;
    let out = folder.0.join("out").display().to_string();
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .args(options)
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
    let segments = labels.lines().enumerate().map(|(index, label)| {
        // Two parts for each segment: what came before, then what counts.
        let part = format!("{out}.{}", 2 * index + 2);
        let text = fs::read_to_string(&part).map_err(|error| format!("{part}: {error}"))?;
        let label = label.to_owned();
        Ok(Segment { label, text })
    });
    segments.collect()
}

/// A folder that is removed with all it holds.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("callgrind-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What can't be removed is left to the system's own cleaning.
        drop(fs::remove_dir_all(&self.0));
    }
}
