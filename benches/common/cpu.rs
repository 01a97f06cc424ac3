//! The CPU time of the process.
#![expect(unsafe_code, reason = "asks the C library for the CPU time")]

use std::time::Duration;

/// Returns the CPU time that all threads of the process have used.
pub(crate) fn cpu_time() -> Duration {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    const PROCESS_CPU_TIME: i32 = 2;
    let mut time = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the C library of 64-bit Linux writes one `timespec` of this layout.
    let result = unsafe { clock_gettime(PROCESS_CPU_TIME, &raw mut time) };
    assert_eq!(result, 0, "Linux has this clock");
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}
