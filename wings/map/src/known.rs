//! What the map knows of the systems of a study, and of the releases of a search.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use anyhow::Result;
use assay_command::known::KnownCounts;
use assay_map_data::{CountMap, MapCell, MapChange, MapStep, change};
use assay_model::limits::{NAME_BYTES, within};
use assay_model::{
    CellId, Estimate, Origin, Product, Study, StudyDocument, StudyDocuments, StudyRecord, System,
    Test, counted,
};
use assay_plan::Request;
use assay_report::section::{
    AfterwardSection, JsonValue, JudgedStudy, NONE, SectionContent, Shade, ShadedCell, ShadedRow,
    ShadedTable,
};
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

/// A change with a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownStep {
    /// The release with which the change came.
    pub(crate) release: String,
    pub(crate) ratio: f64,
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
            within("length of a release", step.release.len(), &(0..=NAME_BYTES))?;
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
    let step = |step: &MapStep<'_>| KnownStep {
        release: step.to.version.clone(),
        ratio: step.ratio.value,
    };
    KnownChange { ratio: change.ratio, steps: steps.into_iter().map(step).collect() }
}

const NOTE: &str = "known from the map, without measuring: the change of instructions per operation between the two \
    releases, with 95% intervals, and the releases with which most of it came; `assay map BASE OTHER` has all steps \
    and functions";

const FIELDS: &[(&str, &str)] = &[
    (
        "ratio",
        "instructions per operation relative to the base's, from the map of counted releases, an interval; `map` is \
         present only if the map has both releases",
    ),
    ("steps[].release", "a release with which instructions changed, the largest change first"),
    ("steps[].ratio", "its instructions relative to those of the release in front of it"),
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
        let is_pair = study.record.systems.len() == 2;
        let rows = known.iter().take(ROWS).map(|(system, cell, known)| {
            let test = cell.test.name();
            let name = format!("{test}, {}", study.label(*system));
            ShadedRow { name: if is_pair { test.to_owned() } else { name }, cells: row(known) }
        });
        let all = counted(known.len() as u64, "test");
        let table = ShadedTable {
            title: self.title().to_owned(),
            note: format!(
                "instructions per operation against the base: the largest changes of {all}"
            ),
            corner: "test",
            columns: ["instructions", "most of it came with"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        };
        let notes = vec![NOTE.to_owned()];
        Some(SectionContent { tables: vec![table], notes, ..SectionContent::default() })
    }

    fn value(&self, record: &StudyRecord, judged: &CellJudgement) -> Option<JsonValue> {
        let known = record.documents.get::<KnownChange>(judged.system, judged.cell).ok()??;
        let steps = known.steps.into_iter().map(|step| {
            JsonValue::object([("release", step.release.into()), ("ratio", step.ratio.into())])
        });
        Some(JsonValue::object([("ratio", known.ratio.into()), ("steps", steps.collect())]))
    }

    fn fields(&self) -> &'static [(&'static str, &'static str)] {
        FIELDS
    }
}

fn row(known: &KnownChange) -> Vec<ShadedCell> {
    let steps: Vec<String> = known
        .steps
        .iter()
        .map(|step| format!("{} ({})", step.release, percent(step.ratio)))
        .collect();
    let steps = if steps.is_empty() { NONE.to_owned() } else { steps.join(", ") };
    let Estimate { low, high, .. } = known.ratio;
    let shade = match (low > 1.0, high < 1.0) {
        (true, _) => Shade::More,
        (_, true) => Shade::Fewer,
        _ => Shade::None,
    };
    vec![
        ShadedCell { text: change_with_interval(known.ratio), shade },
        ShadedCell { text: steps, shade: Shade::None },
    ]
}

impl KnownCounts for KnownFromMap {
    fn instructions(&self, product: Product, versions: &[&str], test: &str) -> Vec<Option<f64>> {
        match known_map() {
            Some(map) => levels(map, product, versions, test),
            None => vec![None; versions.len()],
        }
    }
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
        let cells = row(&known);
        assert_eq!(cells[0].text, "+50.0% [+50.0%, +50.0%]");
        assert_eq!(cells[1].text, "8.0.12 (+25.0%), 8.0.20 (+22.4%), 8.0.13 (−2.0%)");
        assert_eq!(cells[0].shade, Shade::More);
        let wrong = KnownChange { ratio: Estimate { low: -1.0, ..known.ratio }, ..known };
        assert!(wrong.check().is_err());
    }

    #[test]
    fn levels_of_unknown_versions_are_unknown() {
        let known = levels(&map(), Product::MySql, &["8.0.11", "8.0.15", "8.0.20"], "scan");
        assert_eq!(known, [Some(40_000.0), None, Some(60_000.0)]);
        assert_eq!(levels(&map(), Product::MySql, &["8.0.11"], "sort"), [None]);
    }
}
