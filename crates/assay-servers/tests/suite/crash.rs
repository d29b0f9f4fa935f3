//! Nothing outlives the process that started it, even if that is killed, and even if the supervisors are killed too.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use assay_servers::{
    ServerBinding, ServerInstance, Site, collect_garbage, collect_unheld, initialize,
};
use assay_testkit::{eventually, options, prefix, supervisor, template};
use assay_wire::Stop;
use fs_err as fs;
use procfs::process::{Process, all_processes};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

/// The word that makes [`holder`] hold servers; the directory for them follows it.
const AS_HOLDER: &str = "hold-servers-in";

const FROZEN: &str = "all servers are frozen";

fn site(dir: &Path) -> Site {
    Site {
        supervisor: supervisor(),
        run_root: dir.join("r"),
        data_root: dir.join("data"),
        binding: ServerBinding::default(),
        stop: Stop::default(),
    }
}

/// In a child process: sets up a data directory, starts two servers, freezes them, and waits for its end.
#[test]
#[ignore = "not a test: the process that holds servers"]
fn holder() {
    let mut args = std::env::args().skip_while(|arg| arg != AS_HOLDER).skip(1);
    let dir = PathBuf::from(args.next().unwrap());
    let (site, prefix) = (site(&dir), prefix("10.11"));
    let options = options(&prefix);
    initialize(&site, &prefix, &options, &dir.join("data/template")).unwrap();
    let start =
        || ServerInstance::start(&site, &prefix, &options, &dir.join("data/template")).unwrap();
    let mut servers = [start(), start()];
    servers.iter_mut().for_each(|server| server.freeze().unwrap());
    println!("{FROZEN}");
    std::thread::park();
}

fn hold(dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--ignored", "crash::holder", AS_HOLDER])
        .arg(dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_until_frozen(stdout: ChildStdout) {
    let mut lines = BufReader::new(stdout).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(FROZEN)), "the holder ended by itself");
}

/// Supervisors with work below `dir`.
fn sessions(dir: &Path) -> Vec<i32> {
    let Ok(run_dirs) = fs::read_dir(dir.join("r")) else { return Vec::new() };
    let record = |path: PathBuf| {
        let text = fs::read(path.join("record.json")).ok()?;
        let record: serde_json::Value = serde_json::from_slice(&text).ok()?;
        i32::try_from(record["session"].as_i64()?).ok()
    };
    run_dirs.filter_map(|entry| record(entry.ok()?.path())).collect()
}

fn is_alive(pid: i32) -> bool {
    Process::new(pid).and_then(|it| it.stat()).is_ok_and(|stat| stat.state != 'Z')
}

/// Processes with `dir` in their command line, other than the holder.
fn servers(dir: &Path) -> Vec<i32> {
    let named = |process: &Process| {
        let words = process.cmdline().unwrap_or_default();
        words.iter().any(|word| word.contains(&*dir.to_string_lossy()))
            && !words.iter().any(|word| word == AS_HOLDER)
    };
    all_processes().unwrap().filter_map(Result::ok).filter(named).map(|it| it.pid).collect()
}

/// Existing run directories and data, without templates and locks.
fn leftovers(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for part in ["r", "data"] {
        let Ok(entries) = fs::read_dir(dir.join(part)) else { continue };
        found.extend(entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
    }
    found.retain(|name| name != "template" && name != "lock");
    found
}

/// Kills the supervisors below `dir`, and waits until all their threads have ended: their server may end before the
/// last of these releases the locks.
fn kill_supervisors(dir: &Path) {
    for supervisor in sessions(dir) {
        let pid = Pid::from_raw(supervisor).unwrap();
        let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        while poll(&mut [PollFd::new(&process, PollFlags::IN)], None).is_err() {}
    }
}

#[test]
fn kill_of_the_holder_at_any_moment_leaves_no_process_and_no_directory() {
    let _ = template(&prefix("10.11"));
    for round in 0..12_u32 {
        let dir = tempfile::tempdir().unwrap();
        let mut holder = hold(dir.path());
        let stdout = holder.stdout.take().unwrap();
        if round % 3 == 2 {
            wait_until_frozen(stdout);
            assert_eq!(servers(dir.path()).len(), 2);
        } else {
            // During start-up of the holder, initialisation, copy, start, and freezing.
            std::thread::sleep(Duration::from_millis(u64::from(round) * 90 + 20));
        }
        holder.kill().unwrap();
        holder.wait().unwrap();
        let supervisors = sessions(dir.path());
        let killed = Instant::now();
        eventually("no supervisor", || !supervisors.iter().any(|pid| is_alive(*pid)));
        eventually("no server", || servers(dir.path()).is_empty());
        eventually("no directory", || leftovers(dir.path()).is_empty());
        let count = supervisors.len();
        println!("round {round}: {count} supervisors, clean after {:?}", killed.elapsed());
    }
}

#[test]
fn leftovers_of_killed_supervisors_are_collected() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = hold(dir.path());
    wait_until_frozen(holder.stdout.take().unwrap());
    assert_eq!(collect_garbage(&dir.path().join("r")).unwrap(), 0, "took what is alive");
    assert_eq!(servers(dir.path()).len(), 2);
    kill_supervisors(dir.path());
    holder.kill().unwrap();
    holder.wait().unwrap();
    // The death signal reaches servers though they are frozen.
    eventually("no server", || servers(dir.path()).is_empty());
    // Each server has its run directory, its data and their lock.
    assert_eq!(leftovers(dir.path()).len(), 6);
    assert_eq!(collect_garbage(&dir.path().join("r")).unwrap(), 2);
    assert_eq!(leftovers(dir.path()), Vec::<String>::new());
    assert_eq!(collect_garbage(&dir.path().join("r")).unwrap(), 0);
}

/// Like two containers that share only a cache.
#[test]
fn servers_of_another_run_root_are_not_garbage() {
    let dir = tempfile::tempdir().unwrap();
    let (here, prefix) = (site(dir.path()), prefix("10.11"));
    let there = Site { run_root: dir.path().join("other"), ..here.clone() };
    let server =
        ServerInstance::start(&here, &prefix, &options(&prefix), &template(&prefix)).unwrap();
    let collect = || {
        collect_garbage(&there.run_root).unwrap();
        collect_unheld(&there.data_root, |_| true).unwrap()
    };
    assert_eq!(collect(), 0);
    // The locks next to the directories have the same effect as those on the directories, which cannot be lost.
    for entry in fs::read_dir(&here.data_root).unwrap().flatten() {
        if entry.path().extension().is_some_and(|it| it == "lock") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    assert_eq!(collect(), 0);
    assert!(server.data_dir().is_dir());
    server.connect().unwrap().query("CREATE DATABASE d").unwrap();
    // Data that no process holds any more is removed.
    let pid = server.pid();
    kill_supervisors(dir.path());
    eventually("no server", || !is_alive(pid));
    assert_eq!(collect(), 1);
    assert_eq!(fs::read_dir(&here.data_root).unwrap().count(), 0);
    drop(server);
}
