//! Studies collected from ledgers of their shards, which anyone may have made.

use std::path::Path;

use assay_ledger::{Ledger, Problem, ShardCollection, StudyRows};
use assay_model::{BlockCell, PlannedBlock, ShardRun, Slice, StudyRecord};
use rusqlite::Connection;

use crate::common;

const WHOLE: &str = "shards-1";

/// Blocks of the sample, each with one slice per system and cell.
fn whole(blocks: u32) -> StudyRecord {
    with_rounds(blocks, 1)
}

fn with_rounds(blocks: u32, rounds: u32) -> StudyRecord {
    let mut record = common::sample();
    let template = record.slices[0].clone();
    let cells: Vec<_> = record.study.cells.iter().map(|cell| cell.id).collect();
    record.study.id = "part".to_owned();
    record.study.blocks = blocks;
    record.study.limits = None;
    record.runs.truncate(1);
    (record.instances, record.data, record.events) = (Vec::new(), Vec::new(), Vec::new());
    record.blocks.clear();
    record.slices.clear();
    for number in 0..blocks {
        let cells = || cells.iter().map(|id| BlockCell { id: *id, rounds: 2 });
        record.blocks.push(PlannedBlock {
            number,
            run: 0,
            left: blocks - number,
            cells: cells().collect(),
        });
        for (round, system) in
            (0..rounds).flat_map(|round| (0..record.systems.len()).map(move |it| (round, it)))
        {
            let slice = |cell: BlockCell| Slice {
                system,
                cell: cell.id,
                block: number,
                round,
                run: 0,
                ..template.clone()
            };
            record.slices.extend(cells().map(slice));
        }
    }
    record.finished = true;
    record
}

/// The shard with the blocks `number - 1`, `number - 1 + of`, ...
fn part(whole: &StudyRecord, number: u32, of: u32) -> StudyRecord {
    let mut part = whole.clone();
    let has = |block: u32| block % of == number - 1;
    part.blocks.retain(|block| has(block.number));
    part.slices.retain(|slice| has(slice.block));
    part.runs[0].shard = Some(ShardRun {
        study: WHOLE.to_owned(),
        number,
        of,
        first: number - 1,
        step: of,
        attempt: "17_1.0".to_owned(),
        node: format!("n{number}"),
        secret: "5ec3e7".to_owned(),
    });
    part
}

fn rows(record: &StudyRecord) -> StudyRows {
    let mut ledger = Ledger::in_memory().unwrap();
    common::write(&mut ledger, record);
    ledger.rows(&record.study.id).unwrap()
}

fn collect(ledger: &mut Ledger, parts: &[StudyRecord]) -> ShardCollection {
    ledger.collect(WHOLE, true, parts.iter().map(|part| Ok(rows(part)))).unwrap()
}

fn slices(record: &StudyRecord) -> Vec<(usize, u32, String, Vec<u8>)> {
    let key =
        |it: &Slice| (it.system, it.block, format!("{:?}", it.cell), it.work.latency_hdr.clone());
    let mut all: Vec<_> = record.slices.iter().map(key).collect();
    all.sort();
    all
}

#[test]
fn the_shards_of_a_study_are_the_study() {
    let whole = whole(7);
    for of in [1, 3, 7] {
        let parts: Vec<_> = (1..=of).map(|number| part(&whole, number, of)).collect();
        let mut ledger = Ledger::in_memory().unwrap();
        let collected = collect(&mut ledger, &parts);
        assert_eq!(collected, ShardCollection { is_complete: true, left_out: Vec::new() });
        let read = ledger.read(WHOLE).unwrap();
        assert_eq!(slices(&read), slices(&whole));
        assert_eq!(read.study.cells, whole.study.cells);
        let blocks = |record: &StudyRecord| -> Vec<_> {
            record.blocks.iter().map(|it| (it.number, it.left, it.cells.clone())).collect()
        };
        assert_eq!(blocks(&read), blocks(&whole));
        assert_eq!(read.runs.len(), of as usize);
        assert_eq!(read.shard(), None);
        let parts: Vec<StudyRows> = parts.iter().map(rows).collect();
        let mut again = || ledger.collect(WHOLE, true, parts.iter().cloned().map(Ok)).unwrap();
        assert_eq!(again(), again());
        let before = ledger.rows(WHOLE).unwrap();
        ledger.collect(WHOLE, true, parts.iter().cloned().map(Ok)).unwrap();
        assert!(ledger.rows(WHOLE).unwrap().is_same(&before));
    }
}

#[test]
fn what_is_there_is_put_together_and_the_rest_is_added_later() {
    let whole = whole(6);
    let parts: Vec<_> = (1..=3).map(|number| part(&whole, number, 3)).collect();
    let mut ledger = Ledger::in_memory().unwrap();
    let some = collect(&mut ledger, &parts[1..2]);
    assert!(!some.is_complete);
    ledger.set_name(WHOLE, "mine").unwrap();
    let known = ledger.collected(WHOLE).unwrap();
    assert_eq!(known, [(2, parts[1].slices.len() as u64)].into());
    assert!(ledger.collected("another").unwrap().is_empty());
    let read = ledger.read(WHOLE).unwrap();
    // Missing blocks keep their share of the error.
    let left: Vec<_> = read.blocks.iter().map(|block| (block.number, block.left)).collect();
    assert_eq!(left, [(1, 6), (4, 5)]);
    assert!(collect(&mut ledger, &parts).is_complete);
    assert_eq!(slices(&ledger.read(WHOLE).unwrap()), slices(&whole));
    assert_eq!(ledger.find("mine").unwrap(), WHOLE);
    let unfinished = StudyRecord { finished: false, ..parts[2].clone() };
    let parts = [parts[0].clone(), parts[1].clone(), unfinished];
    assert!(!collect(&mut ledger, &parts).is_complete);
}

#[test]
fn shards_of_other_cells_may_have_the_same_blocks() {
    let whole = whole(2);
    let [first, rest @ ..] = &whole.study.cells[..] else { panic!("no cells") };
    let part_with = |cells: &[assay_model::PlannedCell], number| {
        let mut part = part(&whole, 1, 1);
        let has = |cell| cells.iter().any(|it| it.id == cell);
        part.study.cells = cells.to_vec();
        part.blocks.iter_mut().for_each(|block| block.cells.retain(|cell| has(cell.id)));
        part.slices.retain(|slice| has(slice.cell));
        let shard = part.runs[0].shard.as_mut().unwrap();
        (shard.number, shard.of) = (number, 2);
        part
    };
    if rest.is_empty() {
        return;
    }
    let mut ledger = Ledger::in_memory().unwrap();
    let parts = [part_with(std::slice::from_ref(first), 1), part_with(rest, 2)];
    assert!(collect(&mut ledger, &parts).is_complete);
    let read = ledger.read(WHOLE).unwrap();
    assert_eq!(read.study.cells, whole.study.cells);
    assert_eq!(slices(&read), slices(&whole));
    assert_eq!(read.blocks.len(), 2);
}

#[test]
fn a_shard_of_another_study_or_of_other_systems_is_left_out() {
    let whole = whole(4);
    let mut other_options = part(&whole, 2, 2);
    other_options.systems[0].options.push("--xother".to_owned());
    let mut other_study = part(&whole, 2, 2);
    other_study.runs[0].shard.as_mut().unwrap().study = "shards-2".to_owned();
    let mut other_seed = part(&whole, 2, 2);
    other_seed.study.seed ^= 1;
    for (wrong, why) in [
        (other_options, "other options"),
        (other_study, "not one of"),
        (other_seed, "another study"),
    ] {
        let mut ledger = Ledger::in_memory().unwrap();
        let collected = collect(&mut ledger, &[part(&whole, 1, 2), wrong]);
        assert!(!collected.is_complete);
        let [left_out] = &collected.left_out[..] else { panic!("{collected:?}") };
        assert!(left_out.number == 2 && left_out.why.contains(why), "{left_out:?}");
        assert_eq!(ledger.read(WHOLE).unwrap().runs.len(), 1);
    }
}

#[test]
fn shards_that_contradict_each_other_change_nothing() {
    let whole = whole(4);
    let mut ledger = Ledger::in_memory().unwrap();
    collect(&mut ledger, &[part(&whole, 1, 2)]);
    let before = ledger.rows(WHOLE).unwrap();
    // It claims to be the second one, but has the blocks of the first.
    let mut twice = part(&whole, 1, 2);
    twice.runs[0].shard.as_mut().unwrap().number = 2;
    let parts = [part(&whole, 1, 2), twice];
    let error = ledger.collect(WHOLE, true, parts.iter().map(|part| Ok(rows(part)))).unwrap_err();
    assert!(matches!(error.problem, Problem::Twice(_)), "{error}");
    assert!(ledger.rows(WHOLE).unwrap().is_same(&before));
}

fn altered(path: &Path, sql: &str) -> Ledger {
    let mut ledger = Ledger::open(path).unwrap();
    common::write(&mut ledger, &part(&whole(2), 1, 2));
    drop(ledger);
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
    Ledger::open_read_only(path).unwrap()
}

#[test]
fn a_shard_that_nobody_could_have_measured_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let set = |json: &str| format!("UPDATE run SET shard = json_set(shard, {json})");
    for (at, json) in [
        "'$.number', 3",
        "'$.number', 0",
        "'$.of', 1001",
        "'$.step', 0",
        "'$.first', 2",
        "'$.study', 'a b'",
        "'$.node', hex(zeroblob(1000))",
        "'$.more', 1",
    ]
    .iter()
    .enumerate()
    {
        let ledger = altered(&directory.path().join(format!("{at}.db")), &set(json));
        assert!(ledger.shards().is_err(), "{json}");
        assert!(ledger.rows("part").is_err(), "{json}");
    }
    let ledger = altered(&directory.path().join("text.db"), "UPDATE run SET shard = 'no JSON'");
    assert!(ledger.shards().is_err() && ledger.read("part").is_err());
}

fn peak_mb() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// CPU time of this process, seconds, unaffected by a busy machine. The kernel counts in hundredths.
fn cpu_s() -> f64 {
    let stat = fs_err::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// `ASSAY_SHARDS` names a directory that keeps the ledgers.
#[test]
#[ignore = "takes a minute: `cargo xtask nightly` runs it"]
fn a_thousand_ledgers_take_less_than_a_minute_and_a_gigabyte() {
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("ASSAY_SHARDS").map(std::path::PathBuf::from);
    let directory = kept.unwrap_or_else(|| temporary.path().to_owned());
    let mut whole = with_rounds(1000, 16);
    // Each part is a copy of the whole, which must not have all other slices then.
    let all = std::mem::take(&mut whole.slices);
    let slices = all.len();
    let files: Vec<_> = (1..)
        .zip(all.chunks(slices / 1000))
        .map(|(number, own)| {
            let file = directory.join(format!("{number:04}.db"));
            whole.slices = own.to_vec();
            let bytes = Ledger::bytes_of(&[rows(&part(&whole, number, 1000))]).unwrap();
            fs_err::write(&file, bytes).unwrap();
            file
        })
        .collect();
    drop((whole, all));
    let made_mb = peak_mb();
    let began_s = cpu_s();
    let mut ledger = Ledger::open(&directory.join("whole.sqlite")).unwrap();
    let shards = files.iter().map(|file| Ledger::open_read_only(file)?.rows("part"));
    let collected = ledger.collect(WHOLE, true, shards).unwrap();
    let took_s = cpu_s() - began_s;
    println!(
        "{slices} slices of 1,000 ledgers: {took_s:.0} s of CPU, {} MB ({made_mb} MB before)",
        peak_mb()
    );
    assert!(collected.is_complete, "{:?}", collected.left_out.first());
    assert!(took_s < 60.0 && peak_mb() < 1024);
}
