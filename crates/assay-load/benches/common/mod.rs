//! Runs assay's clients and sysbench and measures their cost.

pub(crate) mod replay;

use std::process::{Command, Output};
use std::time::Duration;

use assay_load::{ClientSession, RunBound};
use assay_model::DataSet;
use assay_wire::{Address, ConnectOptions};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

pub(crate) const DATABASE: &str = "sbtest";
pub(crate) const CPU: usize = 0;
const SECONDS: u64 = 3;

#[derive(Clone, Copy)]
pub(crate) struct ClientCost {
    pub(crate) queries_per_second: f64,
    pub(crate) client_cpu_us_per_query: f64,
}

pub(crate) fn sysbench(options: &ConnectOptions, data: DataSet, threads: u32) -> Command {
    let Address::Unix(socket) = &options.address else { panic!("the server has a unix socket") };
    let mut command = Command::new("sysbench");
    command
        .arg(format!("--mysql-socket={}", socket.display()))
        .arg(format!("--mysql-user={}", options.user))
        .arg(format!("--mysql-password={}", options.password.as_deref().unwrap_or_default()))
        .arg(format!("--mysql-db={DATABASE}"))
        .arg(format!("--tables={}", data.tables))
        .arg(format!("--table-size={}", data.rows))
        .arg(format!("--threads={threads}"))
        .arg("--rand-type=uniform");
    command
}

pub(crate) fn run_session(session: &mut ClientSession, round: usize) -> ClientCost {
    let cpu_ns =
        |session: &ClientSession| session.client_tids().into_iter().map(thread_cpu_ns).sum::<u64>();
    let before = cpu_ns(session);
    let start = 10_000 + round as u64 * 1_000_000;
    let counters = session.run(start, RunBound::Time(Duration::from_secs(SECONDS))).unwrap();
    let queries = counters.queries() as f64;
    ClientCost {
        queries_per_second: queries / (counters.elapsed_ns as f64 / 1e9),
        client_cpu_us_per_query: (cpu_ns(session) - before) as f64 / 1e3 / queries,
    }
}

pub(crate) fn run_sysbench(
    options: &ConnectOptions,
    data: DataSet,
    clients: u32,
    confined: bool,
) -> ClientCost {
    run_script(options, data, clients, "oltp_point_select", confined)
}

pub(crate) fn run_script(
    options: &ConnectOptions,
    data: DataSet,
    clients: u32,
    script: &str,
    confined: bool,
) -> ClientCost {
    let before = children_cpu_us();
    let mut command = sysbench(options, data, clients);
    command.arg(format!("--time={SECONDS}")).args([script, "run"]);
    let output = output_of(&mut command, confined);
    let text = String::from_utf8_lossy(&output.stdout);
    let line =
        text.lines().find(|line| line.trim_start().starts_with("queries:")).unwrap_or_else(|| {
            let why = text.lines().filter(|line| line.starts_with("FATAL")).take(3);
            panic!("no result from sysbench: {}", why.collect::<Vec<_>>().join("; "))
        });
    let numbers: Vec<f64> = line
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter_map(|word| word.parse().ok())
        .collect();
    ClientCost {
        queries_per_second: numbers[1],
        client_cpu_us_per_query: (children_cpu_us() - before) / numbers[0],
    }
}

pub(crate) fn output_of(command: &mut Command, confined: bool) -> Output {
    let all_cpus = sched_getaffinity(None).unwrap();
    if confined {
        // A child inherits the CPUs of the thread that starts it.
        confine(None);
    }
    let output = command.output();
    sched_setaffinity(None, &all_cpus).unwrap();
    output.unwrap()
}

pub(crate) fn has_sysbench() -> bool {
    Command::new("sysbench").arg("--version").output().is_ok()
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

pub(crate) fn thread_cpu_ns(tid: i32) -> u64 {
    let path = format!("/proc/self/task/{tid}/schedstat");
    fs_err::read_to_string(path).unwrap().split(' ').next().unwrap().parse().unwrap()
}

/// CPU time of all children that ended, microseconds, in steps of 10 ms.
pub(crate) fn children_cpu_us() -> f64 {
    let stat = fs_err::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    // Fields 16 and 17 of the line, counted from the state, which is field 3.
    let ticks: f64 = fields[13].parse::<f64>().unwrap() + fields[14].parse::<f64>().unwrap();
    ticks * 1e6 / rustix::param::clock_ticks_per_second() as f64
}

pub(crate) fn confine(thread: Option<Pid>) {
    let mut cpus = CpuSet::new();
    cpus.set(CPU);
    sched_setaffinity(thread, &cpus).unwrap();
}

/// Puts every server thread on the client's CPU. On two CPUs, the benchmark would measure how fast an idle CPU wakes
/// up.
pub(crate) fn confine_server(pid: i32) {
    for task in fs_err::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let tid: i32 = task.unwrap().file_name().to_string_lossy().parse().unwrap();
        confine(Pid::from_raw(tid));
    }
}
