//! Briefly sets the clock of the machine during a measurement. A program of its own, which CI runs when no other test
//! runs.

use assay_model::Trouble;
use assay_probe::{ProbeConfig, UsageProbe};
use rustix::io::Errno;
use rustix::thread::gettid;
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};

const JUMP_NS: i64 = 80_000_000;

fn jump(by: i64) -> Result<(), Errno> {
    const SECOND: i64 = 1_000_000_000;
    let now = clock_gettime(ClockId::Realtime);
    let nanoseconds = now.tv_nsec + by;
    clock_settime(
        ClockId::Realtime,
        Timespec {
            tv_sec: now.tv_sec + nanoseconds.div_euclid(SECOND),
            tv_nsec: nanoseconds.rem_euclid(SECOND),
        },
    )
}

#[test]
#[ignore = "sets the clock that everybody on the machine uses: run by `cargo xtask ci`"]
fn a_clock_that_is_set_is_trouble() {
    let mut probe = UsageProbe::new(ProbeConfig {
        client_tids: vec![gettid().as_raw_nonzero().get()],
        server: None,
    })
    .unwrap();
    let start = probe.snapshot().unwrap();
    let still = probe.snapshot().unwrap();
    assert!(!still.since(&start).trouble().contains(&Trouble::ClockJump));
    jump(JUMP_NS).expect("only root may set the clock");
    let after = probe.snapshot();
    jump(-JUMP_NS).unwrap();
    let after = after.unwrap();
    assert!(after.since(&still).trouble().contains(&Trouble::ClockJump));
    // The clock was set back within the interval, so the interval as a whole is sound.
    let back = probe.snapshot().unwrap();
    assert!(!back.since(&still).trouble().contains(&Trouble::ClockJump));
}
