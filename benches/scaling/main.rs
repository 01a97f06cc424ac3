//! How the costs grow, drawn as plots: `cargo bench -p frame_arena_benches --bench scaling` writes them to `docs/`.

mod measure;
mod svg;

use std::path::Path;

use crate::svg::{Plot, Scale};

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: run it with `cargo bench -p frame_arena_benches --bench scaling`");
        return;
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let plots = [
        Plot {
            file: "allocations.svg",
            title: "Cost of one allocation (u64), frames of growing size",
            x: ("allocations in the frame", Scale::Logarithmic),
            y: ("ns for each, warm", Scale::Logarithmic),
            series: measure::allocations(),
        },
        Plot {
            file: "workers.svg",
            title: "Cost of one allocation (u64), growing number of threads",
            x: ("threads that allocate at once", Scale::Logarithmic),
            y: ("ns of a core for each", Scale::Logarithmic),
            series: measure::workers(),
        },
        Plot {
            file: "swap.svg",
            title: "Cost of the swap, all workers active",
            x: ("workers", Scale::Logarithmic),
            y: ("ns", Scale::Logarithmic),
            series: measure::swaps(),
        },
        Plot {
            file: "generations.svg",
            title: "Cost of the swap, generations kept by leases",
            x: ("live generations", Scale::Linear),
            y: ("ns", Scale::Linear),
            series: measure::generations(),
        },
        Plot {
            file: "memory.svg",
            title: "Memory around a spike, given back after 120 frames",
            x: ("frame", Scale::Linear),
            y: ("MiB", Scale::Linear),
            series: measure::memory(),
        },
    ];
    for plot in &plots {
        plot.print();
        let file = docs.join(plot.file);
        match std::fs::write(&file, plot.to_svg()) {
            Ok(()) => println!("written to docs/{}\n", plot.file),
            Err(error) => println!("docs/{} not written: {error}\n", plot.file),
        }
    }
}
