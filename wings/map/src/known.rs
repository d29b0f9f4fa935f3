//! What the map knows of the systems of a study, and of the releases of a search.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use anyhow::Result;
use assay_command::known::KnownCounts;
use assay_map_data::{
    CountMap, MapCell, MapChange, MapStep, change, is_next, verdict, version_order,
};
use assay_model::limits::{NAME_BYTES, within};
use assay_model::{
    CellId, CountVerdict, Estimate, Origin, Product, Study, StudyDocument, StudyDocuments,
    StudyRecord, System, Test, counted,
};
use assay_plan::Request;
use assay_report::section::{AfterwardSection, JsonValue, JudgedStudy, NONE, SectionContent};
use assay_run::study::afterwards::{Afterwards, StudyExecutor};
use assay_run::study_records::DocumentCheck;
use assay_verdict::CellJudgement;
use serde::{Deserialize, Serialize};

use crate::page::{change_with_interval, percent};
use crate::shipped;

/// The map, beside studies and for searches.
#[derive(Debug, Clone, Copy)]
pub struct KnownFromMap;

/// What the map knew of a test when the study measured it: the instructions of a system relative to the base's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownChange {
    pub(crate) ratio: Estimate,
    /// The largest steps, the largest first.
    pub(crate) steps: Vec<KnownStep>,
}

/// A change between two releases that follow each other in the map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownStep {
    /// The older one.
    pub(crate) after: String,
    /// The newer one.
    pub(crate) release: String,
    pub(crate) ratio: f64,
}

impl KnownChange {
    /// `in scan, mysql@9.7.1 executes more instructions per operation than mysql@5.6.51: +31.2% [+31.0%, +31.4%]; most
    /// of it came with 8.0.12 (+25.0%)`.
    fn sentence(&self, test: &str, [base, other]: [&str; 2]) -> String {
        let verdict = verdict(self.ratio);
        let relation = match verdict {
            CountVerdict::More => "executes more instructions per operation than",
            CountVerdict::Fewer => "executes fewer instructions per operation than",
            CountVerdict::Same => "executes about as many instructions per operation as",
            CountVerdict::Undecided => "may execute as many instructions per operation as",
        };
        let change = change_with_interval(self.ratio);
        let known = format!("in {test}, {other} {relation} {base}: {change}");
        let has_changed = matches!(verdict, CountVerdict::More | CountVerdict::Fewer);
        let part = |step: &KnownStep| step.ratio.ln() / self.ratio.value.ln();
        let largest = self.steps.iter().max_by(|one, other| part(one).total_cmp(&part(other)));
        match largest.filter(|step| has_changed && part(step) > 0.0) {
            Some(step) => {
                let part = if part(step) > 0.5 { "most of it" } else { "the largest part" };
                format!("{known}; {part} came {} ({})", step.place(), percent(step.ratio))
            }
            None => known,
        }
    }
}

impl KnownStep {
    /// The map may lack releases between the two.
    fn place(&self) -> String {
        let Self { after, release, .. } = self;
        if is_next(after, release) {
            format!("with {release}")
        } else {
            format!("between {after} and {release}")
        }
    }
}

/// Tests that a report shows. Scripts get all.
const ROWS: usize = 8;

/// Steps that a study keeps of each test.
const STEPS: usize = 3;

const RATIO_MAX: f64 = 1e9;

impl StudyDocument for KnownChange {
    const NAME: &'static str = "map";

    fn check(&self) -> Result<(), String> {
        let Estimate { value, low, high } = self.ratio;
        for ratio in [value, low, high] {
            within("ratio", ratio, &(0.0..=RATIO_MAX))?;
        }
        within("steps", self.steps.len(), &(0..=STEPS))?;
        for step in &self.steps {
            for release in [&step.after, &step.release] {
                within("length of a release", release.len(), &(0..=NAME_BYTES))?;
            }
            within("ratio", step.ratio, &(0.0..=RATIO_MAX))?;
        }
        Ok(())
    }
}

/// The map, unless it cannot be read, which `assay map` reports.
fn known_map() -> Option<&'static CountMap> {
    static MAP: OnceLock<Option<CountMap>> = OnceLock::new();
    let read = || {
        let folder = shipped::folder_of_environment();
        let map = shipped::read(folder.as_deref());
        map.inspect_err(|error| log::warn!("the map is not used: {error:#}")).ok()
    };
    MAP.get_or_init(read).as_ref()
}

impl Afterwards for KnownFromMap {
    fn name(&self) -> &'static str {
        KnownChange::NAME
    }

    /// It takes no time.
    fn words(&self) -> &'static str {
        ""
    }

    fn is_wanted(&self, _: &Request) -> bool {
        true
    }

    fn not_done(&self, test: Test) -> String {
        format!("nothing is known of {}", test.name)
    }

    fn check_of_documents(&self) -> DocumentCheck {
        StudyDocuments::check::<KnownChange>
    }

    fn perform(&self, executor: &mut StudyExecutor<'_, '_>) -> Result<()> {
        let Some(map) = known_map() else { return Ok(()) };
        let systems: Vec<&System> =
            executor.participants().iter().map(|participant| &participant.system).collect();
        let found = known_changes(map, executor.study(), &systems);
        if found.is_empty() {
            return Ok(());
        }
        executor.keep(found.iter().map(|(system, cell, known)| (*system, *cell, known)))
    }
}

/// The changes of the systems of a study that the map has: of the same work, on the same terms.
fn known_changes(
    map: &CountMap,
    study: &Study,
    systems: &[&System],
) -> Vec<(usize, CellId, KnownChange)> {
    let Some(base) = systems.first().and_then(|base| release(base)) else { return Vec::new() };
    let is_of_study = |cell: &&MapCell| {
        let mut tests = study.cells.iter().map(|planned| planned.id.test);
        study.terms.as_deref() == Some(cell.terms.as_str())
            && tests.any(|test| test.name() == cell.test && test.digest == cell.digest)
    };
    let comparable = map.cells().iter().filter(is_of_study).cloned().collect();
    let map = CountMap::new(comparable, Vec::new());
    let mut found = Vec::new();
    for (system, other) in systems.iter().enumerate().skip(1) {
        let Some(other) = release(other).filter(|_| !other.is_twin) else { continue };
        for planned in &study.cells {
            let known = change(&map, planned.id.test.name(), [base, other]);
            let known = known.map(|change| known_change(&change));
            // The ledger refuses extreme ratios, and the map may come from anyone.
            found.extend(
                known
                    .filter(|known| known.check().is_ok())
                    .map(|known| (system, planned.id, known)),
            );
        }
    }
    found
}

/// The release of a system with its usual engine, without options, and not built here.
fn release(system: &System) -> Option<(Product, &str)> {
    let spec = &system.spec;
    let is_plain = spec.engine == spec.product.default_engine() && spec.overrides.is_empty();
    let is_release = matches!(spec.origin, Origin::Version(_)) && is_plain;
    is_release.then(|| (spec.product, system.artifact.version()))
}

fn known_change(change: &MapChange<'_>) -> KnownChange {
    let mut steps = change.largest_steps(STEPS);
    steps.sort_by(|one, other| other.size().total_cmp(&one.size()));
    let step = |step: &MapStep<'_>| {
        let mut releases = [step.from, step.to].map(|cell| cell.version.clone());
        // A change backwards has its steps backwards.
        releases.sort_by(|one, other| version_order(one, other));
        let [after, release] = releases;
        KnownStep { after, release, ratio: step.ratio.value }
    };
    KnownChange { ratio: change.ratio, steps: steps.into_iter().map(step).collect() }
}

/// Its beginning is the number of tests.
const NOTE: &str = "in the map, of which the largest changes are shown, with 95% intervals; counted elsewhere on one \
    table of 100,000 rows; `assay map BASE OTHER` has all, with steps and functions";

const FIELDS: &[(&str, &str)] = &[
    (
        "ratio",
        "instructions per operation relative to the base's, from the map of counted releases, an interval; `map` is \
         null for the base, and where the map lacks the test of one of the two releases",
    ),
    ("sentence", "the same in words, with the largest of the steps in the direction of the change"),
    (
        "steps[].after",
        "the older of two releases that follow each other in the map, between which instructions changed; the largest \
         change first",
    ),
    ("steps[].release", "the newer of the two"),
    ("steps[].ratio", "the change, in the direction from the base to the system"),
];

impl AfterwardSection for KnownFromMap {
    fn key(&self) -> &'static str {
        KnownChange::NAME
    }

    fn title(&self) -> &'static str {
        "known from the map"
    }

    fn content(&self, study: &JudgedStudy) -> Option<SectionContent> {
        // Unreadable ones were refused with the study.
        let mut known = study.record.documents.read_all::<KnownChange>().unwrap_or_default();
        let size = |known: &KnownChange| known.ratio.value.ln().abs();
        known.sort_by(|(.., one), (.., other)| size(other).total_cmp(&size(one)));
        let mut names = BTreeSet::new();
        // A test has one count for all numbers of clients.
        known.retain(|(system, cell, _)| names.insert((*system, cell.test.name().to_owned())));
        if known.is_empty() {
            return None;
        }
        let sentence = |(system, cell, known): &(usize, CellId, KnownChange)| {
            named_sentence(study.record, *system, cell.test, known)
        };
        let sentences = known.iter().take(ROWS).map(sentence).collect();
        let notes = vec![format!("{} {NOTE}", counted(known.len() as u64, "test"))];
        Some(SectionContent { sentences, notes, ..SectionContent::default() })
    }

    fn value(&self, record: &StudyRecord, judged: &CellJudgement) -> Option<JsonValue> {
        let known = record.documents.get::<KnownChange>(judged.system, judged.cell).ok().flatten();
        let fields = |known: KnownChange| {
            let sentence = named_sentence(record, judged.system, judged.cell.test, &known);
            let steps = known.steps.iter().map(|step| {
                JsonValue::object([
                    ("after", step.after.as_str().into()),
                    ("release", step.release.as_str().into()),
                    ("ratio", step.ratio.into()),
                ])
            });
            JsonValue::object([
                ("ratio", known.ratio.into()),
                ("sentence", sentence.into()),
                ("steps", steps.collect()),
            ])
        };
        Some(known.map(fields).into())
    }

    fn fields(&self) -> &'static [(&'static str, &'static str)] {
        FIELDS
    }
}

fn named_sentence(record: &StudyRecord, system: usize, test: Test, known: &KnownChange) -> String {
    let [base, other] = [0, system].map(|system| {
        let name =
            |system: &System| format!("{}@{}", system.spec.product, system.artifact.version());
        record.systems.get(system).map_or_else(|| NONE.to_owned(), name)
    });
    known.sentence(test.name(), [&base, &other])
}

impl KnownCounts for KnownFromMap {
    fn instructions(&self, product: Product, versions: &[&str], test: &str) -> Vec<Option<f64>> {
        match known_map() {
            Some(map) => levels(map, product, versions, test),
            None => vec![None; versions.len()],
        }
    }

    fn sentence(&self, product: Product, versions: [&str; 2], test: &str) -> Option<String> {
        let known = change(known_map()?, test, versions.map(|version| (product, version)))?;
        let names = versions.map(|version| format!("{product}@{version}"));
        let sentence = known_change(&known).sentence(test, names.each_ref().map(String::as_str));
        Some(format!("{}: {sentence}", self.title()))
    }

    fn ratio(&self, releases: [(Product, &str); 2], test: &str) -> Option<Estimate> {
        ratio(known_map()?, releases, test)
    }
}

fn ratio(map: &CountMap, releases: [(Product, &str); 2], test: &str) -> Option<Estimate> {
    let newest = |(product, version)| Some((product, map.newest(product, version)?));
    let [base, other] = releases.map(newest);
    Some(change(map, test, [base?, other?])?.ratio)
}

/// The counts of the versions on one line of comparable cells.
fn levels(map: &CountMap, product: Product, versions: &[&str], test: &str) -> Vec<Option<f64>> {
    let line = map.line(product, test, &[]);
    let level = |wanted: &&str| {
        line.iter().find(|cell| cell.version == *wanted).map(|cell| cell.instructions)
    };
    versions.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use assay_map_data::read_rows;

    use super::*;

    const CELLS: &str = "product,version,source,program,test,digest,terms,instructions,\
         half_width,background,times,counter,shown\n\
         mysql,8.0.11,maven,0a,scan,d1,lean,40000.0,4.0,,2,valgrind 3.19.0,avx2\n\
         mysql,8.0.12,maven,0b,scan,d1,lean,50000.0,5.0,,2,valgrind 3.19.0,avx2\n\
         mysql,8.0.13,maven,0c,scan,d1,lean,49000.0,5.0,,2,valgrind 3.19.0,avx2\n\
         mysql,8.0.20,maven,0d,scan,d1,lean,60000.0,6.0,,2,valgrind 3.19.0,avx2\n";

    fn map() -> CountMap {
        CountMap::new(read_rows("mysql.csv", CELLS).unwrap(), Vec::new())
    }

    #[test]
    fn the_largest_steps_come_first() {
        let map = map();
        let pair = ["8.0.11", "8.0.20"].map(|version| (Product::MySql, version));
        let known = known_change(&change(&map, "scan", pair).unwrap());
        let releases: Vec<&str> = known.steps.iter().map(|step| step.release.as_str()).collect();
        assert_eq!(releases, ["8.0.12", "8.0.20", "8.0.13"]);
        known.check().unwrap();
        assert_eq!(
            known.sentence("scan", ["mysql@8.0.11", "mysql@8.0.20"]),
            "in scan, mysql@8.0.20 executes more instructions per operation than mysql@8.0.11: +50.0% \
             [+50.0%, +50.0%]; most of it came with 8.0.12 (+25.0%)"
        );
        let backwards = ["8.0.20", "8.0.13"].map(|version| (Product::MySql, version));
        let backwards = known_change(&change(&map, "scan", backwards).unwrap());
        assert_eq!(
            backwards.sentence("scan", ["mysql@8.0.20", "mysql@8.0.13"]),
            "in scan, mysql@8.0.13 executes fewer instructions per operation than mysql@8.0.20: −18.3% \
             [−18.3%, −18.3%]; most of it came between 8.0.13 and 8.0.20 (−18.3%)"
        );
        for (low, high, words) in [
            (1.0001, 1.0003, "executes about as many instructions per operation as"),
            (0.98, 1.05, "may execute as many instructions per operation as"),
        ] {
            let ratio = Estimate { value: (low + high) / 2.0, low, high };
            let sentence = KnownChange { ratio, ..known.clone() }.sentence("scan", ["a", "b"]);
            assert!(sentence.contains(words) && !sentence.contains("came"), "{sentence}");
        }
        let wrong = KnownChange { ratio: Estimate { low: -1.0, ..known.ratio }, ..known };
        assert!(wrong.check().is_err());
    }

    #[test]
    fn levels_of_unknown_versions_are_unknown() {
        let known = levels(&map(), Product::MySql, &["8.0.11", "8.0.15", "8.0.20"], "scan");
        assert_eq!(known, [Some(40_000.0), None, Some(60_000.0)]);
        assert_eq!(levels(&map(), Product::MySql, &["8.0.11"], "sort"), [None]);
        let pair = |other| [(Product::MySql, "8.0.11"), (Product::MySql, other)];
        let whole = ratio(&map(), pair("8.0"), "scan").unwrap();
        assert!((whole.value - 1.5).abs() < 1e-9 && whole.low < 1.5 && whole.high > 1.5);
        assert_eq!(ratio(&map(), pair("8.4"), "scan"), None);
    }
}
