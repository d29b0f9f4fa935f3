//! Prints how much longer a turn takes than its warm and its measured part, with two real servers in the order of a
//! study: for reads, during which no server is frozen, and for writes, where one server is frozen and the other thawed
//! between turns of different servers. Also prints how much slower the measured part is after the other server's turn
//! than in the next turn, which follows without a switch. Names of systems (`mysql@8.0`) replace the usual ones.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench fails by panicking")]

#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::time::{Duration, Instant};

use assay_load::{RunBound, Stretch};
use assay_plan::round_order;
use assay_testkit::TestServer;
use common::{Side, client_cpu, named_systems, side};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const SYSTEMS: [&str; 4] = ["mariadb@10.11", "mariadb@11.8", "mysql@8.0", "postgres@16"];
const TESTS: [(&str, bool); 3] =
    [("point-query", false), ("update-nonindex", true), ("update-index", true)];
const TURNS: u32 = 2000;
/// Turns before those that are counted.
const UNCOUNTED: u32 = 20;

/// The time of turns, by what took it.
struct Costs {
    /// From one server to the other; nothing if a server follows itself.
    switch: Option<Duration>,
    device: Duration,
    hand_over: Duration,
    follows_itself: bool,
    /// Time of an event in the measured part, seconds.
    event: f64,
}

fn main() {
    if assay_testkit::is_supervisor() {
        return assay_testkit::supervise_if_asked();
    }
    println!("microseconds of a turn beyond its warm and measured part, medians of {TURNS} turns");
    for system in &named_systems(&SYSTEMS) {
        for (test, freezes) in TESTS {
            let mut sides = [(); 2].map(|()| side(system, test));
            if freezes {
                sides.iter_mut().for_each(|it| it.server.server().freeze().unwrap());
            }
            let all_cpus = sched_getaffinity(None).unwrap();
            let mut cpus = CpuSet::new();
            cpus.set(client_cpu());
            sched_setaffinity(None, &cpus).unwrap();
            let mut running = None;
            let order = (0..TURNS + UNCOUNTED).flat_map(|number| round_order(1, 0, 0, number, 2));
            let costs = (0..TURNS + UNCOUNTED).zip(order).map(|(turn, side)| {
                let follows_itself = running.replace(side) == Some(side);
                let switches = freezes && !follows_itself;
                let switch = switches.then(|| switch(&mut sides, side));
                let costs = one_turn(&mut sides[side], freezes, turn);
                Costs { switch, follows_itself, ..costs }
            });
            let costs: Vec<Costs> = costs.skip(UNCOUNTED as usize).collect();
            sched_setaffinity(None, &all_cpus).unwrap();
            tell(system, test, threads(&sides[0].server), &costs);
        }
    }
}

/// Lets one server run instead of the other, as the executor of a study does.
fn switch(sides: &mut [Side; 2], to: usize) -> Duration {
    let began = Instant::now();
    sides[1 - to].server.server().freeze().unwrap();
    sides[to].server.server().thaw().unwrap();
    began.elapsed()
}

/// One turn, as the executor of a study takes it.
fn one_turn(side: &mut Side, freezes: bool, turn: u32) -> Costs {
    let Side { session, probe, .. } = side;
    let bound = |events, ms| match freezes {
        true => RunBound::Events(events),
        false => RunBound::Time(Duration::from_millis(ms)),
    };
    let stretch =
        |part: u64, bound| Stretch { first_sequence: (u64::from(turn) * 2 + part) << 20, bound };
    let (warm, measured) = (stretch(0, bound(50, 1)), stretch(1, bound(200, 5)));
    let began = Instant::now();
    let before = probe.device().unwrap();
    let mut device = began.elapsed();
    let began_turn = Instant::now();
    let work = session.turn(Some(warm), measured).unwrap();
    let ended = Instant::now();
    let after = probe.device().unwrap();
    assert_eq!(before.is_some(), after.is_some());
    device += ended.elapsed();
    Costs {
        switch: None,
        device,
        hand_over: (ended - began_turn).saturating_sub(work.warm_elapsed + work.elapsed),
        follows_itself: false,
        event: work.elapsed.as_secs_f64() / work.measured.events as f64,
    }
}

fn threads(server: &TestServer) -> usize {
    fs_err::read_dir(format!("/proc/{}/task", server.pid())).unwrap().count()
}

fn tell(system: &str, test: &str, threads: usize, costs: &[Costs]) {
    let median = |cost: &dyn Fn(&Costs) -> Option<Duration>| {
        let mut all: Vec<Duration> = costs.iter().filter_map(cost).collect();
        all.sort();
        all.get(all.len() / 2).map_or(0.0, |it| it.as_secs_f64() * 1e6)
    };
    let switch = median(&|it| it.switch);
    let switches = costs.iter().filter(|it| it.switch.is_some()).count();
    let share = switches as f64 / costs.len() as f64;
    let (hand_over, device) = (median(&|it| Some(it.hand_over)), median(&|it| Some(it.device)));
    println!(
        "{system:14} {threads:3} threads {test:16} {:5.0} (hand-over {hand_over:.0}, device {device:.0}, {:.0}% of a \
         switch, {switch:.0}); slower after a switch by {}",
        switch * share + hand_over + device,
        share * 100.0,
        burden(costs),
    );
}

/// Time of an event after the other server's turn against the next turn, percent (± two standard errors). A tenth of
/// the pairs is left out at either end.
fn burden(costs: &[Costs]) -> String {
    let pairs = costs.windows(2).filter(|it| !it[0].follows_itself && it[1].follows_itself);
    let mut logs: Vec<f64> = pairs.map(|it| 100.0 * (it[0].event / it[1].event).ln()).collect();
    logs.sort_by(f64::total_cmp);
    let kept = &logs[logs.len() / 10..logs.len() - logs.len() / 10];
    let count = kept.len() as f64;
    let mean = kept.iter().sum::<f64>() / count;
    let squares: f64 = kept.iter().map(|it| (it - mean).powi(2)).sum();
    format!("{mean:.2} ± {:.2}%", 2.0 * (squares / (count - 1.0) / count).sqrt())
}
