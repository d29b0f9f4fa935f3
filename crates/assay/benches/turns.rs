//! Prints how much longer a turn takes than its warm and its measured part, with real servers: for reads, during which
//! no server is frozen, and for writes, where the server is thawed for its turn and frozen after it. Names of systems,
//! such as `mysql@8.0`, replace the usual ones.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench fails by panicking")]

#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::time::{Duration, Instant};

use assay_load::{Bound, Session, Stretch};
use assay_probe::Probe;
use assay_testkit::TestServer;
use common::{Side, client_cpu, named_systems, side};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const SYSTEMS: [&str; 4] = ["mariadb@10.11", "mariadb@11.8", "mysql@8.0", "postgres@16"];
const TURNS: u32 = 400;
/// Turns of each server that are not counted.
const UNCOUNTED: u32 = 20;

/// The time of turns, by what took it.
struct Costs {
    device: Duration,
    thaw: Duration,
    hand_over: Duration,
    freeze: Duration,
}

fn main() {
    if assay_testkit::is_supervisor() {
        return assay_testkit::supervise_if_asked();
    }
    println!("microseconds of a turn beyond its warm and measured part, median of {TURNS} turns");
    for system in &named_systems(&SYSTEMS) {
        for (test, freezes) in [("point-query", false), ("update-nonindex", true)] {
            let mut sides = [(); 2].map(|()| side(system, test));
            if freezes {
                sides.iter_mut().for_each(|it| it.server.server().freeze().unwrap());
            }
            let all_cpus = sched_getaffinity(None).unwrap();
            let mut cpus = CpuSet::new();
            cpus.set(client_cpu());
            sched_setaffinity(None, &cpus).unwrap();
            let costs = (0..TURNS + UNCOUNTED).map(|turn| {
                let Side { server, session, probe, .. } = &mut sides[(turn % 2) as usize];
                one_turn(server, session, probe, freezes, turn)
            });
            let costs: Vec<Costs> = costs.skip(UNCOUNTED as usize).collect();
            sched_setaffinity(None, &all_cpus).unwrap();
            tell(system, test, threads(&sides[0].server), &costs);
        }
    }
}

/// One turn, as the executor of a study takes it.
fn one_turn(
    server: &mut TestServer,
    session: &mut Session,
    probe: &mut Probe,
    freezes: bool,
    turn: u32,
) -> Costs {
    let bound = |events, ms| match freezes {
        true => Bound::Events(events),
        false => Bound::Time(Duration::from_millis(ms)),
    };
    let stretch =
        |part: u64, bound| Stretch { first_sequence: (u64::from(turn) * 2 + part) << 20, bound };
    let (warm, measured) = (stretch(0, bound(50, 1)), stretch(1, bound(200, 5)));
    let began = Instant::now();
    if freezes {
        server.server().thaw().unwrap();
    }
    let thawed = Instant::now();
    let before = probe.device().unwrap();
    let mut device = thawed.elapsed();
    let began_turn = Instant::now();
    let work = session.turn(Some(warm), measured).unwrap();
    let ended = Instant::now();
    let after = probe.device().unwrap();
    assert_eq!(before.is_some(), after.is_some());
    device += ended.elapsed();
    let began_freeze = Instant::now();
    if freezes {
        server.server().freeze().unwrap();
    }
    Costs {
        device,
        thaw: thawed - began,
        hand_over: (ended - began_turn).saturating_sub(work.warm_elapsed + work.elapsed),
        freeze: began_freeze.elapsed(),
    }
}

fn threads(server: &TestServer) -> usize {
    fs_err::read_dir(format!("/proc/{}/task", server.pid())).unwrap().count()
}

fn tell(system: &str, test: &str, threads: usize, costs: &[Costs]) {
    let median = |of: &dyn Fn(&Costs) -> Duration| {
        let mut all: Vec<Duration> = costs.iter().map(of).collect();
        all.sort();
        all[all.len() / 2].as_secs_f64() * 1e6
    };
    println!(
        "{system:14} {threads:3} threads {test:16} {:5.0} (thaw {:.0}, hand-over {:.0}, device {:.0}, freeze {:.0})",
        median(&|it| it.thaw + it.hand_over + it.device + it.freeze),
        median(&|it| it.thaw),
        median(&|it| it.hand_over),
        median(&|it| it.device),
        median(&|it| it.freeze),
    );
}
