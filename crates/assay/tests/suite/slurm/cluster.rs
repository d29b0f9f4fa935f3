//! A real Slurm: a controller and three nodes on this machine, run by the user of the tests.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use assay_ledger::{Ledger, ShardStudy};
use assay_model::SliceOutcome;
use assay_testkit::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

/// A small study in which every test is undecided, so that shards use all of their time.
pub(crate) const STUDY: &str = "compare = [\"mariadb@10.11\", \"mariadb@11.8\"]
preset = \"quick\"
tests = [\"point-query\", \"update-index\"]
threshold = \"0.1%\"
[[setup]]
rows = 10_000
";

pub(crate) struct Cluster<'a> {
    place: &'a Place,
    pub(crate) dir: PathBuf,
}

impl<'a> Cluster<'a> {
    pub(crate) fn start(place: &'a Place) -> Self {
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

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.dir.join("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// Debian installs daemons in a directory that only root has in PATH.
    fn daemon(&self, program: &str) -> Command {
        self.command(&format!("/usr/sbin/{program}"))
    }

    pub(crate) fn start_node(&self, node: &str) {
        let started = self.daemon("slurmd").args(["-N", node]).status().unwrap();
        assert!(started.success(), "slurmd of {node}: {started}");
    }

    pub(crate) fn said(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn pid(&self, file: &str) -> Pid {
        let text = fs_err::read_to_string(self.dir.join(file)).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    pub(crate) fn assay(&self, args: &[&str]) -> Output {
        let mut command = self.place.command(args);
        command.env("SLURM_CONF", self.dir.join("slurm.conf")).output().unwrap()
    }

    pub(crate) fn submit(&self, nodes: u32, budget: &str, more: &[&str]) -> u64 {
        self.submit_with(&[], nodes, budget, more)
    }

    pub(crate) fn submit_with(
        &self,
        options: &[&str],
        nodes: u32,
        budget: &str,
        more: &[&str],
    ) -> u64 {
        let study = format!("budget = \"{budget}\"\n{STUDY}");
        self.submit_study(&study, options, nodes, more)
    }

    pub(crate) fn submit_study(
        &self,
        study: &str,
        options: &[&str],
        nodes: u32,
        more: &[&str],
    ) -> u64 {
        let file = self.dir.join("study.toml");
        fs_err::write(&file, study).unwrap();
        let mut args = vec!["submit", file.to_str().unwrap(), "--slurm", "--offline", "--dir"];
        let (jobs, nodes_word) = (self.jobs(), nodes.to_string());
        args.extend([jobs.to_str().unwrap(), "--nodes", &nodes_word]);
        args.extend(options);
        args.push("--");
        args.extend(more);
        let output = self.assay(&args);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{message}");
        let moves_servers = message.contains("MB of servers");
        assert_eq!(moves_servers, options.contains(&"--node-dir"), "{message}");
        let job = self.job();
        assert_eq!(job["shards"], nodes);
        job["job"].as_u64().unwrap()
    }

    fn job(&self) -> Value {
        serde_json::from_slice(&fs_err::read(self.jobs().join("job.json")).unwrap()).unwrap()
    }

    pub(crate) fn jobs(&self) -> PathBuf {
        self.dir.join("the job's \"own\" place")
    }

    pub(crate) fn status(&self) -> Value {
        let jobs = self.jobs();
        let args = ["status", "--format", "json", "--dir", jobs.to_str().unwrap()];
        let output = self.assay(&args);
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// Attempts in the ledgers of the job. They are read here, because a program that is started again and again would
    /// take the CPU from the nodes.
    pub(crate) fn attempts(&self) -> Vec<ShardStudy> {
        let files = fs_err::read_dir(self.jobs()).unwrap().map(|entry| entry.unwrap().path());
        let ledgers = files.filter(|file| file.extension().is_some_and(|it| it == "db"));
        // A new ledger is empty.
        let shards = ledgers.filter_map(|file| Ledger::open_read_only(&file).ok()?.shards().ok());
        shards.flatten().collect()
    }

    pub(crate) fn slices(&self) -> [u64; 3] {
        let mut most = [0; 3];
        for attempt in self.attempts() {
            let slices = &mut most[attempt.shard.number as usize - 1];
            *slices = attempt.slices.max(*slices);
        }
        most
    }

    pub(crate) fn measuring(&self) -> ShardStudy {
        let mut found = None;
        eventually("a shard has slices", || {
            let attempts = self.attempts();
            found = attempts.into_iter().find(|it| it.slices > 0 && !it.finished);
            found.is_some()
        });
        found.unwrap()
    }

    pub(crate) fn measures(&self, shard: u32) -> Pid {
        self.measures_of(shard, 3)
    }

    pub(crate) fn slurmstepd_of(&self, task: Pid) -> Pid {
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

    pub(crate) fn measures_of(&self, shard: u32, of: u32) -> Pid {
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

    pub(crate) fn wait_for_end(&self, job: u64) {
        eventually("the job ends", || {
            let left = self.said("squeue", &["--noheader", &format!("--jobs={job}")]);
            std::thread::sleep(Duration::from_millis(200));
            left.trim().is_empty()
        });
    }

    /// Collects the study twice, checks that it is complete and that nothing counts twice; returns its number of
    /// slices.
    pub(crate) fn collect(&self) -> usize {
        let jobs = self.jobs();
        let args = ["collect", "--dir", jobs.to_str().unwrap()];
        let first = self.assay(&args);
        let message = String::from_utf8_lossy(&first.stderr).into_owned() + &self.logs();
        assert_eq!(first.status.code(), Some(0), "{message}");
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
        // Servers that ended with a task are not at fault.
        let is_failed = |outcome: &SliceOutcome| matches!(outcome, SliceOutcome::Failed(_));
        assert!(!record.slices.iter().any(|slice| is_failed(&slice.outcome)), "{message}");
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

    pub(crate) fn logs(&self) -> String {
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

fn free_ports() -> u16 {
    let own = (std::process::id() % 5000) as u16;
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut fours = (0..5000_u16).map(|at| 20_000 + (own + at) % 5000 * 4);
    fours.find(|first| (*first..first + 4).all(|port| is_free(&port))).unwrap()
}
