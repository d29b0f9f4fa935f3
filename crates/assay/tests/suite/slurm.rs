//! Studies on the three nodes of a real Slurm on this machine.
#![expect(clippy::print_stdout, reason = "what Slurm and its tasks said explains a failure")]

mod cluster;

use std::collections::BTreeSet;
use std::time::Instant;

use assay_ledger::{Ledger, ShardStudy};
use assay_testkit::eventually;
use cluster::{Cluster, STUDY};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::common::disk::{SmallDisk, fill_up};
use crate::common::{Place, printed};

#[test]
fn a_study_is_measured_by_three_nodes_and_a_task_that_is_requeued_goes_on() {
    let place = Place::new();
    let cluster = Cluster::start(&place);
    let job = cluster.submit(3, "12s", &[]);
    let shard = cluster.measuring().shard.number;
    // It is stopped meanwhile, so it cannot end before.
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

struct OnNodes {
    planned: String,
    data: BTreeSet<String>,
    by_node: Value,
}

/// Measures a study on three nodes with their own servers and data, and checks that nothing stays there.
fn on_nodes(place: &Place, budget: &str) -> OnNodes {
    let cluster = Cluster::start(place);
    let on_node = cluster.dir.join("a node's disk");
    let options = ["--node-dir", on_node.to_str().unwrap()];
    let job = cluster.submit_with(&options, 3, budget, &[]);
    let study = cluster.dir.join("study.toml");
    let words = ["submit", study.to_str().unwrap(), "--slurm", "--nodes", "3", "--dry-run"];
    let planned = cluster.assay(&[&words[..], &options].concat());
    cluster.wait_for_end(job);
    assert!(cluster.collect() > 0);
    let by_node = cluster.assay(&["report", "--by", "node", "--format", "json"]);
    let left = fs_err::read_dir(&on_node).unwrap().map(|it| it.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{}", cluster.logs());
    drop(cluster);
    place.assert_nothing_left();
    let data = place.records().remove(0).data.into_iter().map(|it| it.checksum).collect();
    let planned = String::from_utf8(planned.stdout).unwrap();
    OnNodes { planned, data, by_node: printed(&by_node, 0) }
}

/// Nodes load data that the submitting machine's cache lacks. Cached data goes to them: they measure data that none of
/// them can have loaded, because only its notes have this checksum.
#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn nodes_have_servers_and_data_of_their_own_and_load_what_is_not_loaded_yet() {
    let place = Place::bare();
    let OnNodes { planned, data: loaded, .. } = on_nodes(&place, "12s");
    assert!(!loaded.is_empty() && !planned.contains("loaded data"), "{loaded:?}\n{planned}");

    let place = Place::bare();
    let study = place.cache().join("study.toml");
    fs_err::write(&study, STUDY).unwrap();
    let words = ["run", study.to_str().unwrap(), "--offline", "--budget", "3s", "--ledger"];
    let ledger = place.cache().join("l.db");
    let measured = place.run_to_end(&[&words[..], &[ledger.to_str().unwrap()]].concat());
    assert_eq!(measured.status.code(), Some(0), "{}", String::from_utf8_lossy(&measured.stderr));
    let mark = |checksum: &String| checksum.chars().rev().collect::<String>();
    for fresh in place.templates("fresh") {
        let notes = fresh.with_file_name("made.json");
        let text = fs_err::read_to_string(&notes).unwrap();
        let marked = loaded.iter().fold(text, |text, known| text.replace(known, &mark(known)));
        fs_err::write(&notes, marked).unwrap();
    }
    let OnNodes { planned, data: carried, by_node } = on_nodes(&place, "60s");
    assert!(planned.contains(" MB of loaded data go to each node"), "{planned}");
    assert_eq!(carried, loaded.iter().map(mark).collect());
    assert_nodes_are_compared(&by_node);
}

fn assert_nodes_are_compared(by_node: &Value) {
    let rates = by_node["rates"].as_array().unwrap();
    // Two tests, two systems, three nodes.
    assert_eq!(rates.len(), 2 * 2 * 3, "{by_node:#}");
    for rates in rates.chunks(3) {
        let column = |name: &str| rates.iter().map(|it| it[name].clone()).collect::<Vec<_>>();
        assert_eq!(column("node"), ["n1", "n2", "n3"], "{by_node:#}");
        let (tests, systems) = (column("test"), column("system"));
        assert!(tests.iter().all(|it| *it == tests[0]), "{by_node:#}");
        assert!(systems.iter().all(|it| *it == systems[0]), "{by_node:#}");
        let number = |it: &Value, name: &str| it["relative"][name].as_f64().unwrap();
        let logs: f64 = rates.iter().map(|it| number(it, "value").ln()).sum();
        assert!(logs.abs() < 1e-6, "{by_node:#}");
        // On a busy machine, a shard may have time for one block only, which gives no interval.
        let suits = |it: &Value| {
            it["relative"]["low"].is_null()
                || (number(it, "low") < number(it, "value")
                    && number(it, "value") < number(it, "high"))
        };
        assert!(rates.iter().all(suits), "{by_node:#}");
    }
}

/// Measures a study with writes while a disk becomes full, that of the nodes or that of the ledgers, and the rest of it
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

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_full_disk_of_ledgers_ends_tasks_which_go_on_when_there_is_room() {
    a_disk_becomes_full(false);
}

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

/// A drained node gets no more tasks: a requeued task continues where another node has room.
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
