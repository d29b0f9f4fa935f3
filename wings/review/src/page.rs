//! A reviewed benchmark as a page. Pure: no I/O, no clock.

use assay_model::{Estimate, Product, counted};
use assay_report::blocks::{
    Block, Column, Heading, JsonValue, PageContent, PageDocument, Quotient, Rate, Ratio, Row,
    Table, Wish, versioned,
};

use crate::comparisons::{
    KnownRatio, ReviewVerdict, ReviewedChange, changes, drifts, known_ratios, too_narrow,
};
use crate::gaps::gaps;
use crate::runs::{ReviewedFiles, ReviewedSystem};
use crate::statistics::CoveredNoise;
use crate::study::study_file;
use crate::systems::NamedRelease;
use crate::unequal::unequal;

/// Everything that the files of a benchmark show, and do not show.
pub(crate) struct BenchmarkReview {
    pub(crate) systems: Vec<ReviewedSystem>,
    pub(crate) changes: Vec<ReviewedChange>,
    /// Sentences, as the following ones.
    pub(crate) unequal: Vec<String>,
    pub(crate) drifts: Vec<String>,
    pub(crate) gaps: Vec<String>,
    pub(crate) left_out: Vec<String>,
    pub(crate) known: Vec<KnownRatio>,
    /// Factors by which the errors of runs exceed those of independent seconds.
    pub(crate) too_narrow: Option<[f64; 2]>,
    /// A study file, or why there is none.
    pub(crate) study: Result<String, String>,
}

impl BenchmarkReview {
    /// `known` gives the instructions per operation of a test in the second of two releases, divided by those in the
    /// first.
    pub(crate) fn new(
        files: ReviewedFiles,
        known: impl Fn([(Product, &str); 2], &str) -> Option<Estimate>,
    ) -> Self {
        let changes = changes(&files);
        Self {
            unequal: unequal(&files),
            drifts: drifts(&files),
            gaps: gaps(&files),
            known: known_ratios(&files, &changes, known),
            too_narrow: too_narrow(&files),
            study: study_file(&files),
            changes,
            left_out: files.left_out,
            systems: files.systems,
        }
    }

    fn names(&self) -> Vec<String> {
        self.systems.iter().map(ReviewedSystem::words).collect()
    }

    /// `2 differences between a and b: 1 shown within runs, 1 not shown`.
    fn answer(&self) -> Vec<String> {
        let parts =
            [ReviewVerdict::Yes, ReviewVerdict::WithinRuns, ReviewVerdict::No].map(|shown| {
                let count = self.changes.iter().filter(|change| change.verdict() == shown).count();
                (count > 0).then(|| format!("{count} {}", shown.words()))
            });
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if self.changes.is_empty() {
            return vec!["the files have no test in common, so no difference is shown".to_owned()];
        }
        let all = counted(self.changes.len() as u64, "difference");
        vec![format!("{all} between {}: {}", self.names().join(" and "), parts.join(", "))]
    }

    fn change_table(&self, is_terminal: bool) -> Table {
        let is_pair = self.systems.len() == 2;
        let mut columns = vec![Column::words("test")];
        if !is_pair {
            columns.push(Column::words("system"));
        }
        columns.extend(["base", "other"].map(Column::numbers));
        columns.push(Column::words("unit"));
        columns.push(Column::numbers("ratio [95% interval]"));
        columns.push(Column::words("difference"));
        let rows = self.changes.iter().map(|change| {
            let mut cells = vec![test_words(&change.test, change.clients)];
            if !is_pair {
                cells.push(change.system.clone());
            }
            let rate = |rate| Rate(Some(Estimate::without_interval(rate))).to_string();
            cells.extend(change.rates.map(rate));
            cells.push(change.unit.words().to_owned());
            cells.push(Ratio(Some(change.found.ratio)).to_string());
            let (words, why) = (change.verdict().words(), change.why());
            // A terminal is too narrow for a column of reasons.
            let has_why = !why.is_empty();
            let is_long = has_why && !is_terminal;
            cells.push(if is_long { format!("{words}: {why}") } else { words.to_owned() });
            Row::new(cells).below(has_why.then(|| why.to_owned()))
        });
        Table::new(columns, rows)
    }

    fn noise_notes(&self) -> Vec<String> {
        let has = |covered| self.changes.iter().any(|change| change.found.covered == covered);
        let covered = has(CoveredNoise::WithinRuns) || has(CoveredNoise::Repeats);
        let covered = covered.then(|| {
            "intervals come from the noise in these files: from batches of intervals of each run, and where runs were \
             repeated, from the differences between repeats"
                .to_owned()
        });
        let narrow = self.too_narrow.map(|bounds| {
            let [low, high] = bounds.map(|factor| format!("{factor:.1}"));
            let range = if low == high { low } else { format!("{low} to {high}") };
            format!(
                "neighbouring seconds may resemble each other: as independent ones, they would give errors that are \
                 {range} times smaller"
            )
        });
        covered.into_iter().chain(narrow).collect()
    }

    fn known_blocks(&self) -> Vec<Block<'static>> {
        if self.known.is_empty() {
            return Vec::new();
        }
        let columns = vec![
            Column::words("test"),
            Column::words("system"),
            Column::numbers("instructions [95% interval]"),
        ];
        let rows = self.known.iter().map(|known| {
            let test = match &known.counted_as {
                Some(other) => format!("{} (as {other})", known.test),
                None => known.test.clone(),
            };
            let instructions = Quotient(Some(known.instructions)).value_with_interval();
            Row::new([test, known.system.clone(), instructions])
        });
        let note = "from the map of counted releases: instructions per operation relative to the base's, with one \
                    client; a script of sysbench is there as the test that does its work with default options";
        let mut blocks = vec![Block::Table(Table::new(columns, rows))];
        blocks.extend(Block::notes([note.to_owned()]));
        blocks
    }

    fn study_blocks(&self) -> Vec<Block<'static>> {
        match &self.study {
            Ok(text) => vec![Block::Code {
                intro: "`-o FILE.toml` writes it, `assay run FILE.toml` runs it; missing sizes are defaults",
                text: text.clone(),
            }],
            Err(why) => Block::list([why.clone()]),
        }
    }
}

impl PageContent for &BenchmarkReview {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let mut blocks = vec![Block::Answer(self.answer())];
        let equal = "nothing that these files show";
        let unequal =
            if self.unequal.is_empty() { vec![equal.to_owned()] } else { self.unequal.clone() };
        blocks.extend(Block::section(wish.heading("what was unequal"), Block::list(unequal)));
        let mut noise = Vec::new();
        if !self.changes.is_empty() {
            noise.push(Block::Table(self.change_table(wish.is_terminal())));
        }
        noise.extend(Block::list(self.drifts.clone()));
        noise.extend(Block::notes(self.noise_notes()));
        blocks.extend(Block::section(wish.heading("does the difference survive the noise"), noise));
        let gaps = Block::list(self.gaps.clone());
        blocks.extend(Block::section(wish.heading("what is missing"), gaps));
        let known = wish.heading("what is known without measuring");
        blocks.extend(Block::section(known, self.known_blocks()));
        let study = wish.heading("a study that would settle it");
        blocks.extend(Block::section(study, self.study_blocks()));
        let left_out = Block::list(self.left_out.clone());
        blocks.extend(Block::section(wish.heading("files that were left out"), left_out));
        let before = format!("Review of {}", self.names().join(", "));
        let heading = Heading { before, ..Heading::default() };
        then(&PageDocument { title: heading.line(), heading, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        let texts = |all: &[String]| -> JsonValue { all.iter().map(String::as_str).collect() };
        let (study, no_study) = match &self.study {
            Ok(text) => (Some(text.as_str()), None),
            Err(why) => (None, Some(why.as_str())),
        };
        Some(versioned(JsonValue::object([
            ("systems", self.systems.iter().map(system_json).collect()),
            ("unequal", texts(&self.unequal)),
            ("differences", self.changes.iter().map(change_json).collect()),
            ("drifts", texts(&self.drifts)),
            ("missing", texts(&self.gaps)),
            ("map", self.known.iter().map(known_json).collect()),
            ("study", study.into()),
            ("no_study", no_study.into()),
            ("left_out", texts(&self.left_out)),
        ])))
    }
}

fn test_words(test: &str, clients: Option<u32>) -> String {
    let clients = clients.map(|clients| format!(", {}", counted(clients, "client")));
    format!("{test}{}", clients.unwrap_or_default())
}

fn system_json(system: &ReviewedSystem) -> JsonValue {
    JsonValue::object([
        ("name", system.name.as_str().into()),
        ("release", system.release.as_ref().map(NamedRelease::words).into()),
        ("files", system.files.iter().map(String::as_str).collect()),
        ("has_settings", system.settings.is_some().into()),
        ("has_vmstat", (!system.vmstat.is_empty()).into()),
    ])
}

fn change_json(change: &ReviewedChange) -> JsonValue {
    let covers = match change.found.covered {
        CoveredNoise::Nothing => None,
        CoveredNoise::WithinRuns => Some("within-runs"),
        CoveredNoise::Repeats => Some("repeats"),
    };
    JsonValue::object([
        ("test", change.test.as_str().into()),
        ("clients", change.clients.into()),
        ("system", change.system.as_str().into()),
        ("unit", change.unit.words().into()),
        ("rates", change.rates.into_iter().collect()),
        ("runs", change.runs.into_iter().collect()),
        ("ratio", change.found.ratio.into()),
        ("covers", covers.into()),
        ("verdict", change.verdict().words().replace(' ', "-").into()),
        ("why", Some(change.why()).filter(|why| !why.is_empty()).into()),
    ])
}

fn known_json(known: &KnownRatio) -> JsonValue {
    JsonValue::object([
        ("test", known.test.as_str().into()),
        ("counted_as", known.counted_as.as_deref().into()),
        ("system", known.system.as_str().into()),
        ("instructions", known.instructions.into()),
    ])
}
