//! What is believed of a ledger when a study goes on. A ledger may come from anyone: what it says is held to what assay
//! would do by itself, and what only its writer can vouch for is refused.

use assay_model::{Experiment, Hint, Origin, PlannedCell, Prefix, StudyRecord, System, SystemSpec};
use assay_plan::{ROUNDS_MIN, check_system, longest_slice_s};

/// Why a study does not go on as its ledger says.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Distrust {
    /// It names something that only the user can vouch for, and nothing says that the user named it.
    #[error("study `{study}` was not started here by you, and it names {what}: `{named}`")]
    Elsewhere {
        /// The study.
        study: String,
        /// What it names.
        named: String,
        /// The kind of it.
        what: &'static str,
    },
    /// What a server was started with is not what assay makes of its name.
    #[error(
        "`{system}` was measured with {}, but this assay uses {}",
        shown(recorded),
        shown(rendered)
    )]
    Options {
        /// The system.
        system: String,
        /// The first option that differs, as the ledger has it.
        recorded: Option<String>,
        /// The same as it is rendered.
        rendered: Option<String>,
    },
    /// It has a number that no assay would plan.
    #[error("assay would not have planned study `{study}` like this: {what}")]
    Plan {
        /// The study.
        study: String,
        /// What is wrong with it.
        what: String,
    },
    /// Its name asks for another version than its binaries are.
    #[error("`{system}` requires version {wanted}, but its binaries are version {found}")]
    Version {
        /// The system.
        system: String,
        /// As its name or the record has it.
        wanted: String,
        /// What it is.
        found: String,
    },
    /// Only binaries can be started, and there are none in the record.
    #[error("the ledger has no binaries of `{system}`")]
    NoBinaries {
        /// The system.
        system: String,
    },
    /// What it was measured with is not there any more.
    #[error("`{system}` was measured with {was}")]
    Replaced {
        /// The system.
        system: String,
        /// What it was, and what is there now.
        was: String,
    },
    /// Its checksum is that of a server of another family.
    #[error("the binaries of `{system}` are those of {found}")]
    Product {
        /// The system.
        system: String,
        /// What the checksum is of.
        found: String,
    },
}

fn shown(option: &Option<String>) -> String {
    option.as_ref().map_or_else(|| "no such option".to_owned(), |option| format!("`{option}`"))
}

impl Hint for Distrust {
    fn hints(&self) -> Vec<String> {
        vec![match self {
            Self::Elsewhere { study, .. } => format!(
                "if you trust what it names, start a new study: `assay report {study}` shows how, under \"reproduce\""
            ),
            Self::Options { .. } => "slices with different options are never mixed: resume it with the assay that \
                 started it, or start a new study; if no assay sets these options, somebody edited the ledger"
                .to_owned(),
            Self::Product { .. }
            | Self::Version { .. }
            | Self::Plan { .. }
            | Self::NoBinaries { .. } => "the ledger was edited: start a new study".to_owned(),
            Self::Replaced { .. } => "start a new study with the current version".to_owned(),
        }]
    }
}

/// No slice has longer warm parts than this many times its measured parts.
const WARM_MOST: u64 = 10;

/// Checks that what is still to be measured was planned within what was to be spent. Sizes of write slices are
/// checked where their rates are known: [`check_events`].
pub(crate) fn check_plan(record: &StudyRecord) -> Result<(), Distrust> {
    let study = &record.study;
    let wrong = |what| Err(Distrust::Plan { study: study.id.clone(), what });
    let longest_s = longest_slice_s(study.budget_s);
    for cell in &study.cells {
        let warm_ms = u64::from(cell.turns()) * cell.warm_time_us().div_ceil(1000);
        let slice_ms = u64::from(cell.slice_ms);
        let test = cell.id.test;
        // Before it is chosen, a turn's warm part is no longer than its measured part, but at least a millisecond.
        if study.experiment == Experiment::Interleaved && warm_ms > WARM_MOST * slice_ms {
            return wrong(format!(
                "a slice of {test} has {warm_ms} ms of warm parts for {slice_ms} ms of measured ones"
            ));
        }
        let lasts_ms = cell.warm_ms.max(cell.slice_ms);
        // As planned: in whole milliseconds, rounded up.
        if f64::from(lasts_ms) >= longest_s * 1000.0 + 1.0 {
            return wrong(format!(
                "a slice of {test} lasts {lasts_ms} ms, but the study only {longest_s} s"
            ));
        }
        if cell.events.is_some() && study.experiment == Experiment::Sequential {
            return wrong(format!("a slice of {test} has a number of events instead of a time"));
        }
    }
    let numbers = record.blocks.iter().map(|it| it.number);
    let numbers = numbers.chain(record.slices.iter().map(|it| it.block));
    let mut numbers = numbers.chain(record.instances.iter().map(|it| it.block));
    if let Some(number) = numbers.find(|number| *number >= record.blocks_max()) {
        return wrong(format!(
            "it has a block {}, but only {} are planned",
            u64::from(number) + 1,
            record.blocks_max()
        ));
    }
    let most = study.rounds.max(ROUNDS_MIN);
    let mut cells = record.blocks.iter().flat_map(|block| &block.cells);
    if let Some(cell) = cells.find(|cell| cell.rounds > most) {
        return wrong(format!(
            "a block has {} rounds, but at most {most} are allowed",
            cell.rounds
        ));
    }
    Ok(())
}

/// How many times the events that assay would plan now a write slice may have: rates change with the machine's load.
const EVENTS_TIMES: u64 = 10;

/// Checks the events of a write slice against those that `planned` gives at the rate of one client.
pub(crate) fn check_events(study: &str, cell: &PlannedCell, planned: u64) -> Result<(), Distrust> {
    let most = planned.saturating_mul(EVENTS_TIMES * u64::from(cell.id.setup.clients));
    match cell.events {
        Some(events) if events > most => {
            let what = format!(
                "a slice of {} has {events} events, but {planned} take the planned time",
                cell.id.test
            );
            Err(Distrust::Plan { study: study.to_owned(), what })
        }
        _ => Ok(()),
    }
}

/// Something in a study that assay executes and that only the user can vouch for.
pub(crate) struct Vouched {
    /// The kind of it, in words.
    what: &'static str,
    /// What people call it.
    named: String,
    /// All of it that assay executes.
    pub(crate) text: String,
}

/// Everything in a study that only the user can vouch for.
///
/// # Errors
/// When a part cannot be written as text.
pub(crate) fn vouched(record: &StudyRecord) -> anyhow::Result<Vec<Vouched>> {
    let study = &record.study;
    let mut all = Vec::new();
    for system in &record.systems {
        let what = match system.spec.origin {
            Origin::Version(_) => continue,
            Origin::Dir(_) => "a program on this machine",
            Origin::Git(_) => "a source tree to build",
            Origin::Url(_) => "a server to log in to and to load",
        };
        let named = system.spec.to_string();
        all.push(Vouched { what, text: named.clone(), named });
    }
    if let Some(data) = study.user_data() {
        let tests = study.cells.iter().map(|cell| cell.id.test.definition());
        let text = serde_json::to_string(&(data, tests.collect::<Vec<_>>()))?;
        let what = "a workload with statements and files of its own";
        all.push(Vouched { what, named: data.name.clone(), text });
    }
    let options = &study.table_form.create_table_options;
    if !options.is_empty() {
        let what = "options of `CREATE TABLE`";
        all.push(Vouched { what, named: options.clone(), text: options.clone() });
    }
    Ok(all)
}

/// Checks what a record names before anything is done with it; `is_own` where this user's assay began the study with
/// just these systems, statements and options.
pub(crate) fn check_named(record: &StudyRecord, is_own: bool) -> anyhow::Result<()> {
    for system in &record.systems {
        check_system(&system.spec)?;
        if let Origin::Version(_) = system.spec.origin {
            let measured = binaries(system)?;
            check_system(&exactly(system, measured))?;
            check_version(system, measured)?;
        }
    }
    match vouched(record)?.into_iter().next() {
        Some(Vouched { what, named, .. }) if !is_own => {
            Err(Distrust::Elsewhere { study: record.study.id.clone(), named, what }.into())
        }
        _ => Ok(()),
    }
}

/// Checks that binaries are of the version that the name of their system asks for, and of the one that was measured.
fn check_version(system: &System, prefix: &Prefix) -> Result<(), Distrust> {
    let Origin::Version(asked) = &system.spec.origin else { return Ok(()) };
    let (found, measured) = (&prefix.version, &binaries(system)?.version);
    let wanted = if !assay_provision::answers(found, asked) {
        asked
    } else if found != measured {
        measured
    } else {
        return Ok(());
    };
    let (system, wanted, found) = (system.name.clone(), wanted.clone(), found.clone());
    Err(Distrust::Version { system, wanted, found })
}

/// The binaries that a system was measured with.
pub(crate) fn binaries(system: &System) -> Result<&Prefix, Distrust> {
    let missing = || Distrust::NoBinaries { system: system.name.clone() };
    system.artifact.prefix().ok_or_else(missing)
}

/// The very version that a system was measured in, with these binaries.
pub(crate) fn exactly(system: &System, binaries: &Prefix) -> SystemSpec {
    let exact = Origin::Version(binaries.version.clone());
    SystemSpec { origin: exact, ..system.spec.clone() }
}

/// Checks that the options of a ledger are those that assay renders for the system and the binaries it has found.
pub(crate) fn check_options(
    system: &System,
    prefix: &Prefix,
    rendered: &[String],
) -> Result<(), Distrust> {
    let name = || system.name.clone();
    if prefix.product != system.spec.product {
        return Err(Distrust::Product { system: name(), found: prefix.product.to_string() });
    }
    check_version(system, prefix)?;
    let recorded = &system.options;
    let differs =
        (0..recorded.len().max(rendered.len())).find(|&at| recorded.get(at) != rendered.get(at));
    differs.map_or(Ok(()), |at| {
        let of = |options: &[String]| options.get(at).cloned();
        Err(Distrust::Options { system: name(), recorded: of(recorded), rendered: of(rendered) })
    })
}

#[cfg(test)]
pub(super) mod tests {
    use assay_model::Artifact;
    use assay_model::limits::BLOCKS;
    use assay_model::{Block, BlockCell, Host};
    use assay_plan::{MachineFacts, Request, plan};

    use super::*;

    /// A study of so many blocks that was broken off as one of them began.
    pub(in crate::study) fn broken_off(blocks: u32, in_block: u32) -> StudyRecord {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let request = Request { blocks: Some(blocks), ..Request::of_systems(&words) };
        let machine = MachineFacts { cpus: 2, memory_mb: 16_000, disk_mb: 50_000 };
        let plan = plan(&request, machine).unwrap();
        let artifact = serde_json::json!({
            "kind": "prefix",
            "path": "", "sha256": "", "product": "mariadb", "version": "", "packages": [],
            "build": { "source": "", "channel": "", "package_version": "", "released": true, "notes": [] },
            "layout": {
                "loader": null, "library_path": [], "server": "", "basedir": "", "share_dir": "",
                "charsets_dir": "", "plugin_dir": "",
            },
        });
        let system = |(number, planned): (usize, assay_plan::PlannedSystem)| System {
            name: planned.name,
            spec: planned.spec,
            artifact: serde_json::from_value(artifact.clone()).unwrap(),
            is_base: number == 0,
            is_twin: false,
            options: Vec::new(),
        };
        let systems = plan.systems.into_iter().enumerate().map(system).collect();
        let mut record = StudyRecord::new(plan.study, Host::default(), systems);
        let cells = record.study.cells.iter();
        let cells = cells.map(|it| BlockCell { id: it.id, rounds: ROUNDS_MIN }).collect();
        record.blocks.push(Block { number: in_block, run: 0, left: 1, cells });
        record
    }

    /// What is told of a study of two blocks with this change.
    fn told(change: impl FnOnce(&mut StudyRecord)) -> Option<String> {
        let mut record = broken_off(2, 1);
        record.study.budget_s = 90.0;
        change(&mut record);
        check_plan(&record).err().map(|error| error.to_string())
    }

    #[test]
    fn impossible_plans_are_refused() {
        assert_eq!(told(|_| ()), None);
        assert_eq!(told(|it| it.study.budget_s = 0.0), None);
        assert_eq!(told(|it| it.study.cells[3].slice_ms = 90_000), None);
        let long = told(|it| it.study.cells[3].slice_ms = 3_600_000).unwrap();
        assert!(long.contains("lasts 3600000 ms, but the study only 90 s"), "{long}");
        assert!(told(|it| it.study.cells[3].warm_ms = 3_600_000).is_some());
        let sized = |it: &mut StudyRecord| it.study.cells[3].events = Some(10);
        assert_eq!(told(sized), None);
        let sequential = told(|it| {
            it.study.experiment = Experiment::Sequential;
            sized(it);
        });
        assert!(sequential.unwrap().contains("a number of events"));
        let block = told(|it| it.blocks[0].number = *BLOCKS.end() - 1).unwrap();
        assert!(block.contains("a block 1000, but only 2"), "{block}");
        let rounds = told(|it| it.blocks[0].cells[0].rounds = it.study.rounds + 1).unwrap();
        assert!(rounds.contains("rounds, but at most"), "{rounds}");
    }

    #[test]
    fn a_write_slice_may_not_have_far_too_many_events() {
        let record = broken_off(2, 1);
        let with = |events, clients| {
            let mut cell = record.study.cells[0].clone();
            cell.events = events;
            cell.id.setup.clients = clients;
            check_events("study", &cell, 500).is_ok()
        };
        assert!(with(None, 1) && with(Some(5000), 1) && with(Some(20_000), 4));
        assert!(!with(Some(5001), 1) && !with(Some(1_000_000_000_000), 1024));
    }

    #[test]
    fn binaries_must_have_the_requested_version() {
        let of = |asked: &str, measured: &str, found: &str| {
            let mut system = broken_off(2, 1).systems.remove(0);
            system.spec.origin = Origin::Version(asked.to_owned());
            let recorded = binaries(&system).unwrap().clone();
            let prefix = Prefix { version: found.to_owned(), ..recorded.clone() };
            let measured = Prefix { version: measured.to_owned(), ..recorded };
            system.artifact = Artifact::Prefix(measured);
            check_options(&system, &prefix, &[]).is_ok()
        };
        assert!(of("10.11", "10.11.14", "10.11.14"));
        assert!(!of("10.5", "10.11.14", "10.11.14"));
        assert!(!of("10.5", "10.5.29", "10.11.14"));
        assert!(!of("10.11", "10.11.13", "10.11.14"));
    }
}
