//! Studies on the nodes of a real Slurm: three of them on this machine, for whoever runs the tests.
#![expect(clippy::unwrap_used, reason = "it ends where something is not as it should be")]
#![expect(clippy::print_stdout, reason = "what Slurm and its tasks said explains a failure")]

mod common;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use assay_ledger::{Ledger, ShardStudy};
use assay_model::SliceOutcome;
use assay_testkit::eventually;
use common::Place;
use common::disk::{SmallDisk, fill_up};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A small study in which every test is undecided, so that shards take the time that they have.
const STUDY: &str = "compare = [\"mariadb@10.11\", \"mariadb@11.8\"]
preset = \"quick\"
tests = [\"point-query\", \"update-index\"]
threshold = \"0.1%\"
[[setup]]
rows = 10_000
";

/// A controller and three nodes, which end with it.
struct Cluster<'a> {
    place: &'a Place,
    dir: PathBuf,
}

impl<'a> Cluster<'a> {
    fn start(place: &'a Place) -> Self {
        let is_there =
            ["/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/sbatch"];
        let is_there = is_there.iter().all(|program| Path::new(program).exists());
        assert!(
            is_there,
            "Slurm is not installed: these tests need Debian's `munge` and `slurm-wlm`"
        );
        let dir = place.cache().with_file_name("slurm");
        for part in ["", "munge", "state", "spool.n1", "spool.n2", "spool.n3"] {
            fs_err::create_dir(dir.join(part)).unwrap();
            let open = std::fs::Permissions::from_mode(0o755);
            fs_err::set_permissions(dir.join(part), open).unwrap();
        }
        let key = dir.join("munge/key");
        fs_err::write(&key, [7; 1024]).unwrap();
        fs_err::set_permissions(&key, std::fs::Permissions::from_mode(0o400)).unwrap();
        let cluster = Self { place, dir };
        fs_err::write(cluster.dir.join("slurm.conf"), cluster.configuration()).unwrap();
        let began = Instant::now();
        let in_munge = |name: &str| cluster.dir.join("munge").join(name).display().to_string();
        cluster
            .daemon("munged")
            .args([
                "--force".to_owned(),
                format!("--key-file={}", in_munge("key")),
                format!("--socket={}", in_munge("sock")),
                format!("--pid-file={}", in_munge("pid")),
                format!("--log-file={}", in_munge("log")),
                format!("--seed-file={}", in_munge("seed")),
            ])
            .status()
            .unwrap();
        cluster.daemon("slurmctld").arg("-c").status().unwrap();
        ["n1", "n2", "n3"].into_iter().for_each(|node| cluster.start_node(node));
        eventually("three nodes are idle", || {
            cluster.said("sinfo", &["--noheader", "--format=%D %t"]).trim() == "3 idle"
        });
        println!("Slurm is up after {:?}", began.elapsed());
        cluster
    }

    fn configuration(&self) -> String {
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap();
        let port = free_ports();
        format!(
            "ClusterName=assay
SlurmctldHost=localhost(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={dir}/munge/sock,cred_expire=5
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={port}
SlurmctldPidFile={dir}/ctld.pid
SlurmctldLogFile={dir}/ctld.log
StateSaveLocation={dir}/state
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmdLogFile={dir}/slurmd.%n.log
SlurmdSpoolDir={dir}/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
ReturnToService=2
SlurmdTimeout=10
KillWait=5
JobRequeue=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName=n[1-3] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=2 RealMemory=6000 State=UNKNOWN
PartitionName=bench Nodes=n[1-3] Default=YES MaxTime=1:00:00 OverSubscribe=EXCLUSIVE State=UP
",
            dir = self.dir.display(),
            user = user.trim(),
            first = port + 1,
            last = port + 3,
        )
    }

    /// A program of Slurm.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.dir.join("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// One that leaves the terminal. Debian keeps it where only root looks for programs.
    fn daemon(&self, program: &str) -> Command {
        self.command(&format!("/usr/sbin/{program}"))
    }

    fn start_node(&self, node: &str) {
        let started = self.daemon("slurmd").args(["-N", node]).status().unwrap();
        assert!(started.success(), "slurmd of {node}: {started}");
    }

    fn said(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn pid(&self, file: &str) -> Pid {
        let text = fs_err::read_to_string(self.dir.join(file)).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    fn assay(&self, args: &[&str]) -> Output {
        let mut command = self.place.command(args);
        command.env("SLURM_CONF", self.dir.join("slurm.conf")).output().unwrap()
    }

    /// Submits the study for so many nodes, with this budget, and gives the number of its job.
    fn submit(&self, nodes: u32, budget: &str, more: &[&str]) -> u64 {
        self.submit_with(&[], nodes, budget, more)
    }

    /// The same with more options of assay.
    fn submit_with(&self, options: &[&str], nodes: u32, budget: &str, more: &[&str]) -> u64 {
        let study = format!("budget = \"{budget}\"\n{STUDY}");
        self.submit_study(&study, options, nodes, more)
    }

    /// The same with a study of its own.
    fn submit_study(&self, study: &str, options: &[&str], nodes: u32, more: &[&str]) -> u64 {
        let file = self.dir.join("study.toml");
        fs_err::write(&file, study).unwrap();
        let mut args = vec!["submit", file.to_str().unwrap(), "--slurm", "--offline", "--dir"];
        let (jobs, nodes_word) = (self.jobs(), nodes.to_string());
        args.extend([jobs.to_str().unwrap(), "--nodes", &nodes_word]);
        args.extend(options);
        args.push("--");
        args.extend(more);
        let output = self.assay(&args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        let moves_servers = told.contains("MB of servers go to each node");
        assert_eq!(moves_servers, options.contains(&"--node-dir"), "{told}");
        let job = self.job();
        assert_eq!(job["shards"], nodes);
        job["job"].as_u64().unwrap()
    }

    /// What `submit` wrote down of the job.
    fn job(&self) -> Value {
        serde_json::from_slice(&fs_err::read(self.jobs().join("job.json")).unwrap()).unwrap()
    }

    /// The directory of the job.
    fn jobs(&self) -> PathBuf {
        self.dir.join("the job's \"own\" place")
    }

    /// How far the shards are.
    fn status(&self) -> Value {
        let jobs = self.jobs();
        let args = ["status", "--format", "json", "--dir", jobs.to_str().unwrap()];
        let output = self.assay(&args);
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// What the ledgers of the job have. They are read here, because a program that is started again and again would
    /// take the CPU from the nodes.
    fn attempts(&self) -> Vec<ShardStudy> {
        let files = fs_err::read_dir(self.jobs()).unwrap().map(|entry| entry.unwrap().path());
        let ledgers = files.filter(|file| file.extension().is_some_and(|it| it == "db"));
        // One that was just created is empty.
        let shards = ledgers.filter_map(|file| Ledger::open_read_only(&file).ok()?.shards().ok());
        shards.flatten().collect()
    }

    /// Slices of each shard, in the attempt that has most.
    fn slices(&self) -> [u64; 3] {
        let mut most = [0; 3];
        for attempt in self.attempts() {
            let slices = &mut most[attempt.shard.number as usize - 1];
            *slices = attempt.slices.max(*slices);
        }
        most
    }

    /// Waits until a shard is being measured, and gives it.
    fn measuring(&self) -> ShardStudy {
        let mut found = None;
        eventually("a shard has slices", || {
            let attempts = self.attempts();
            found = attempts.into_iter().find(|it| it.slices > 0 && !it.finished);
            found.is_some()
        });
        found.unwrap()
    }

    /// The assay that measures a shard of three.
    fn measures(&self, shard: u32) -> Pid {
        self.measures_of(shard, 3)
    }

    /// The `slurmstepd` that started a task.
    fn slurmstepd_of(&self, task: Pid) -> Pid {
        let mut pid = task;
        loop {
            let status =
                fs_err::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_default().trim().to_owned()
            };
            if field("Name:").starts_with("slurmstepd") {
                return pid;
            }
            let parent: i32 = field("PPid:").parse().unwrap();
            assert!(parent > 1, "{task:?} was not started by slurmstepd");
            pid = Pid::from_raw(parent).unwrap();
        }
    }

    /// The assay that measures a shard of so many.
    fn measures_of(&self, shard: u32, of: u32) -> Pid {
        let (of_shard, place) = (format!("--shard\0{shard}/{of}"), self.place.run());
        let has = |file: PathBuf, what: &str| {
            String::from_utf8_lossy(&fs_err::read(file).unwrap_or_default()).contains(what)
        };
        let processes = fs_err::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let mut found = processes.filter(|process| {
            has(process.join("cmdline"), &of_shard)
                && has(process.join("environ"), place.to_str().unwrap())
        });
        let process = found.next().unwrap();
        Pid::from_raw(process.file_name().unwrap().to_str().unwrap().parse().unwrap()).unwrap()
    }

    /// Waits until no task of the job waits or runs.
    fn wait_for_end(&self, job: u64) {
        eventually("the job ends", || {
            let left = self.said("squeue", &["--noheader", &format!("--jobs={job}")]);
            std::thread::sleep(Duration::from_millis(200));
            left.trim().is_empty()
        });
    }

    /// Puts the study together twice, checks that it is whole and that nothing counts twice, and gives its slices.
    fn collect(&self) -> usize {
        let jobs = self.jobs();
        let args = ["collect", "--dir", jobs.to_str().unwrap()];
        let first = self.assay(&args);
        let told = String::from_utf8_lossy(&first.stderr).into_owned() + &self.logs();
        assert_eq!(first.status.code(), Some(0), "{told}");
        let ledger = Ledger::open_read_only(&self.place.ledger()).unwrap();
        let [study] = &ledger.studies().unwrap()[..] else { panic!("not one study") };
        let before = ledger.rows(&study.id).unwrap();
        let second = self.assay(&args);
        assert_eq!(second.status.code(), Some(0));
        assert_eq!(first.stdout, second.stdout);
        assert!(ledger.rows(&study.id).unwrap().is_same(&before), "collecting twice changed it");
        let record = ledger.read(&study.id).unwrap();
        assert!(record.finished);
        let unique: BTreeSet<_> =
            record.slices.iter().map(|it| (it.system, it.cell, it.block, it.round)).collect();
        assert_eq!(unique.len(), record.slices.len());
        // That its servers were ended with a task is no fault of theirs.
        let is_failed = |outcome: &SliceOutcome| matches!(outcome, SliceOutcome::Failed(_));
        assert!(!record.slices.iter().any(|slice| is_failed(&slice.outcome)), "{told}");
        let shards = record.runs.iter().map(|run| run.shard.as_ref().unwrap().number);
        let all = 1..=self.job()["shards"].as_u64().unwrap() as u32;
        assert!(shards.collect::<BTreeSet<u32>>().into_iter().eq(all));
        let verified = self.assay(&["verify", self.place.ledger().to_str().unwrap()]);
        assert_eq!(
            verified.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&verified.stdout)
        );
        record.slices.len()
    }

    /// What the tasks said.
    fn logs(&self) -> String {
        let logs = (1..=3).map(|task| self.jobs().join(format!("task-{task}.log")));
        logs.map(|log| fs_err::read_to_string(log).unwrap_or_default()).collect()
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}\n{}", self.logs(), tail(&self.dir.join("ctld.log")));
        }
        let files = ["slurmd.n1.pid", "slurmd.n2.pid", "slurmd.n3.pid", "ctld.pid", "munge/pid"];
        for file in files {
            if self.dir.join(file).exists() {
                let _ = kill_process(self.pid(file), Signal::TERM);
            }
        }
        let is_gone = |file: &str| !self.dir.join(file).exists();
        for _ in 0..100 {
            if files.iter().all(|file| is_gone(file)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn tail(file: &Path) -> String {
    let text = fs_err::read_to_string(file).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(40).collect();
    lines.into_iter().rev().map(|line| format!("{line}\n")).collect()
}

/// The first of four ports that nobody listens on.
fn free_ports() -> u16 {
    let own = (std::process::id() % 5000) as u16;
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut fours = (0..5000_u16).map(|at| 20_000 + (own + at) % 5000 * 4);
    fours.find(|first| (*first..first + 4).all(|port| is_free(&port))).unwrap()
}

#[test]
fn a_study_is_measured_by_three_nodes_and_a_task_that_is_requeued_goes_on() {
    let place = Place::new();
    let cluster = Cluster::start(&place);
    let job = cluster.submit(3, "12s", &[]);
    let shard = cluster.measuring().shard.number;
    // It stands still meanwhile, so it cannot end before.
    let assay = cluster.measures(shard);
    kill_process(assay, Signal::STOP).unwrap();
    let begun = cluster.attempts().into_iter().find(|it| it.shard.number == shard).unwrap();
    assert!(!begun.finished);
    cluster.said("scontrol", &["requeue", &format!("{job}_{shard}")]);
    // Slurm may have done so.
    let _ = kill_process(assay, Signal::CONT);
    cluster.wait_for_end(job);
    let after = cluster.slices();
    let at = shard as usize - 1;
    assert!(after[at] >= begun.slices && after.iter().all(|it| *it > 0), "{begun:?}: {after:?}");
    let all = cluster.collect();
    assert_eq!(all as u64, after.iter().sum::<u64>());
    // On a busy machine, the round that the task finishes may be its last one, so that nothing is left for a second
    // attempt.
    let goes_on = |it: &ShardStudy| it.finished || it.shard.attempt.ends_with(".1");
    let attempts = cluster.attempts();
    let mut of_shard = attempts.iter().filter(|it| it.shard.number == shard);
    assert!(of_shard.any(goes_on), "{attempts:?}");
    drop(cluster);
    place.assert_nothing_left();
}

/// Servers come to the nodes, which load data of their own, and nothing of it stays there.
#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn nodes_may_have_servers_and_data_of_their_own() {
    let place = Place::new();
    let cluster = Cluster::start(&place);
    let on_node = cluster.dir.join("a node's disk");
    let job = cluster.submit_with(&["--node-dir", on_node.to_str().unwrap()], 3, "12s", &[]);
    cluster.wait_for_end(job);
    assert!(cluster.collect() > 0);
    let left = fs_err::read_dir(&on_node).unwrap().map(|it| it.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{}", cluster.logs());
    drop(cluster);
    place.assert_nothing_left();
}

/// Measures a study that writes while a disk becomes full, that of the nodes or that of the ledgers, and the rest of it
/// when there is room again.
fn a_disk_becomes_full(is_of_nodes: bool) {
    if !rustix::process::geteuid().is_root() {
        println!("only root can make a small disk: not tried");
        return;
    }
    let place = Place::new();
    let cluster = Cluster::start(&place);
    let on_node = cluster.dir.join("a node's disk");
    let (path, bytes) =
        if is_of_nodes { (on_node.clone(), 6 << 30) } else { (cluster.jobs(), 64 << 20) };
    let options = ["--node-dir", on_node.to_str().unwrap()];
    let options = if is_of_nodes { &options[..] } else { &[] };
    let disk = SmallDisk::mount(path, bytes);
    let study = STUDY.replace("update-index", "insert");
    let study = format!("budget = \"60s\"\nwrite-slice = \"500ms\"\n{study}");
    let job = cluster.submit_study(&study, options, 2, &[]);
    cluster.measuring();
    let filler = disk.path().join("filler");
    eventually("the tasks end", || {
        fill_up(&filler, disk.path());
        cluster.said("squeue", &["--noheader", &format!("--jobs={job}")]).trim().is_empty()
    });
    let before = cluster.slices();
    let logs = cluster.logs();
    assert!(cluster.attempts().iter().any(|it| !it.finished), "{logs}");
    // Tasks write their logs beside the ledgers.
    assert!(!is_of_nodes || logs.contains("is full"), "{logs}");
    fs_err::remove_file(&filler).unwrap();
    let job = cluster.submit_study(&study, options, 2, &[]);
    cluster.wait_for_end(job);
    let after = cluster.slices();
    let is_kept = before.iter().zip(after).all(|(before, after)| *before <= after);
    assert!(is_kept, "{before:?} {after:?} {}", cluster.logs());
    assert_eq!(cluster.collect() as u64, after.iter().sum::<u64>());
    drop(disk);
    drop(cluster);
    place.assert_nothing_left();
}

/// Tasks end where their ledgers cannot grow. Submitted again, the same study goes on.
#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_full_disk_of_ledgers_ends_tasks_which_go_on_when_there_is_room() {
    a_disk_becomes_full(false);
}

/// No system fails in the study because the disk of a node is full.
#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_full_disk_of_nodes_ends_tasks_which_go_on_when_there_is_room() {
    a_disk_becomes_full(true);
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn nothing_is_lost_or_counted_twice_when_a_node_dies() {
    let place = Place::new();
    let cluster = Cluster::start(&place);
    let job = cluster.submit(3, "60s", &[]);
    let ShardStudy { shard, slices: before, .. } = cluster.measuring();
    let (number, node) = (shard.number as usize - 1, shard.node);
    // The task goes on without it, and Slurm starts the task again.
    kill_process(cluster.pid(&format!("slurmd.{node}.pid")), Signal::KILL).unwrap();
    eventually("Slurm gives the node up", || {
        let state = cluster.said("sinfo", &["--noheader", "--format=%t", "--nodes", &node]);
        state.starts_with("down")
    });
    fs_err::remove_file(cluster.dir.join(format!("slurmd.{node}.pid"))).unwrap();
    cluster.start_node(&node);
    cluster.wait_for_end(job);
    eventually("all shards have ended", || {
        let status = cluster.status();
        status["shards"].as_array().unwrap().iter().all(|shard| shard["finished"] == true)
    });
    assert!(cluster.slices()[number] >= before);
    cluster.collect();
    drop(cluster);
    place.assert_nothing_left();
}

/// A drained node gets no more tasks: a task that is requeued goes on where another node has room.
#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_task_of_a_drained_node_goes_on_elsewhere() {
    let place = Place::new();
    let cluster = Cluster::start(&place);
    let job = cluster.submit(2, "40s", &[]);
    let ShardStudy { shard, slices: before, .. } = cluster.measuring();
    let node = format!("nodename={}", shard.node);
    cluster.said("scontrol", &["update", &node, "state=drain", "reason=test"]);
    cluster.said("scontrol", &["requeue", &format!("{job}_{}", shard.number)]);
    cluster.wait_for_end(job);
    assert!(cluster.slices()[shard.number as usize - 1] >= before);
    cluster.collect();
    let attempts = cluster.attempts();
    let nodes: BTreeSet<&str> = (attempts.iter())
        .filter(|it| it.shard.number == shard.number)
        .map(|it| it.shard.node.as_str())
        .collect();
    assert!(nodes.len() > 1, "{attempts:?}");
    drop(cluster);
    place.assert_nothing_left();
}

/// `slurmstepd` starts a task and reports its end. Without it, Slurm notices late that the task has ended.
#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn nothing_is_lost_or_counted_twice_when_slurmstepd_is_killed() {
    let place = Place::new();
    let cluster = Cluster::start(&place);
    let job = cluster.submit(1, "40s", &[]);
    let before = cluster.measuring();
    let stepd = cluster.slurmstepd_of(cluster.measures_of(before.shard.number, 1));
    kill_process(stepd, Signal::KILL).unwrap();
    // The task goes on, or is started again.
    eventually("the shard has ended", || cluster.attempts().iter().any(|it| it.finished));
    cluster.said("scancel", &[&job.to_string()]);
    cluster.wait_for_end(job);
    assert!(cluster.slices()[0] >= before.slices);
    cluster.collect();
    drop(cluster);
    place.assert_nothing_left();
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_task_that_reaches_its_time_limit_goes_on_in_another_allocation() {
    let place = Place::new();
    let cluster = Cluster::start(&place);
    // One shard, because those of one host wait for each other, and the limit would come while one waits. It takes
    // longer than an allocation, so the limit comes while it is measured.
    let job = cluster.submit(1, "130s", &["--time=2", "--signal=B:USR1@20"]);
    cluster.wait_for_end(job);
    cluster.collect();
    let ledger = Ledger::open_read_only(&place.ledger()).unwrap();
    let study = ledger.studies().unwrap().remove(0);
    let runs = ledger.read(&study.id).unwrap().runs;
    assert!(runs.len() > 1, "the task did not go on with what it had measured");
    drop(cluster);
    place.assert_nothing_left();
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn what_a_cancelled_job_measured_is_kept_and_nothing_of_it_still_runs() {
    let place = Place::new();
    let cluster = Cluster::start(&place);
    let job = cluster.submit(3, "300s", &[]);
    let before = cluster.measuring();
    cluster.said("scancel", &[&job.to_string()]);
    cluster.wait_for_end(job);
    let began = Instant::now();
    eventually("no server runs", || place.running().is_empty());
    println!("no server runs {:?} after the job has ended", began.elapsed());
    let slices = cluster.slices();
    assert!(slices[before.shard.number as usize - 1] >= before.slices, "{before:?}: {slices:?}");
    let jobs = cluster.jobs();
    let collected = cluster.assay(&["collect", "--dir", jobs.to_str().unwrap()]);
    assert_eq!(collected.status.code(), Some(3), "{}", String::from_utf8_lossy(&collected.stderr));
    // Slurm has killed those who would have removed the directories of servers: the next assay does.
    let measured = cluster.assay(&[
        "run",
        jobs.join("study.toml").to_str().unwrap(),
        "--offline",
        "--shard",
        "1/1",
        "--budget",
        "3s",
        "--ledger",
        place.cache().join("l.db").to_str().unwrap(),
    ]);
    assert_eq!(measured.status.code(), Some(0), "{}", String::from_utf8_lossy(&measured.stderr));
    drop(cluster);
    place.assert_nothing_left();
}
