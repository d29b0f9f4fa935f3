//! The page of a post: its charts and tables as measured here, printed numbers beside measured ones, its claims, and
//! what differs. Pure: no I/O, no clock.

use assay_claim_check::{PublishedClaim, Summary};
use assay_claims::CheckedClaim;
use assay_model::{Estimate, Setup, StudyRecord, counted};
use assay_plan::SystemRequest;
use assay_report::blocks::{
    Block, Column, Heading, JsonValue, NONE, PageContent, PageDocument, Ratio, Row, Separated as _,
    Table, Wish, versioned, with_pages,
};
use assay_report::{ChartFile, Page, published, report};
use assay_verdict::Judgement;
use serde::Serialize;

use crate::beside::{NumberBeside, TableBeside};
use crate::differences::PostDifference;
use crate::posts::PostFile;
use crate::printed::{PrintedPost, PrintedTable, PrintedUnit};

/// A measurement of a post.
pub(crate) struct PostPart<'a> {
    /// The study file.
    pub(crate) file: PostFile,
    pub(crate) record: &'a StudyRecord,
    pub(crate) judgement: &'a Judgement,
    pub(crate) tables: Vec<TableBeside<'a>>,
    pub(crate) claims: Vec<CheckedClaim>,
    pub(crate) differences: Vec<PostDifference>,
    /// The name of its study, alone.
    pub(crate) ids: Vec<String>,
}

impl PostPart<'_> {
    /// The measured numbers as the author shows them; counts, which posts do not have, as assay does.
    fn shown(&self) -> Page<'_> {
        match self.record.counts_only() {
            true => report(self.record, self.judgement),
            false => published(self.record, self.judgement),
        }
    }

    /// Of a section, if the post has several parts.
    fn heading(&self, words: &str, is_alone: bool) -> String {
        if is_alone { words.to_owned() } else { format!("{words}: {}", self.file.name()) }
    }
}

/// `name` is that of the post's folder.
pub(crate) fn post<'a>(
    name: &'a str,
    printed: &'a PrintedPost,
    parts: &'a [PostPart<'a>],
) -> Page<'a> {
    Page::new(PostPage { name, printed, parts })
}

struct PostPage<'a> {
    name: &'a str,
    printed: &'a PrintedPost,
    parts: &'a [PostPart<'a>],
}

impl PostPage<'_> {
    fn sections(&self, wish: &Wish<'_>, words: &str) -> impl Fn(&PostPart<'_>) -> String {
        let (words, is_alone) = (wish.heading(words), self.parts.len() == 1);
        move |part: &PostPart<'_>| part.heading(&words, is_alone)
    }

    fn first(&self) -> Vec<Block<'static>> {
        let mut blocks = vec![Block::Answer(self.parts.iter().flat_map(answers).collect())];
        let studies: Vec<&str> =
            self.parts.iter().flat_map(|part| &part.ids).map(String::as_str).collect();
        let url = self.printed.url.iter().map(|url| format!("the post: {url}"));
        let word = if studies.len() == 1 { "study" } else { "studies" };
        let made = format!("the numbers here: {word} {}", studies.join(", "));
        blocks.extend(Block::notes(url.chain([made])));
        blocks
    }

    fn last(&self, wish: &Wish<'_>) -> Vec<Block<'static>> {
        let heading = self.sections(wish, "what differs from the post");
        let mut blocks = Vec::new();
        for part in self.parts {
            let columns = ["what", "post", "here"].map(Column::words).to_vec();
            let rows = part
                .differences
                .iter()
                .map(|it| Row::new([it.what.clone(), it.post.clone(), it.here.clone()]));
            let table = Block::Table(Table::new(columns, rows));
            let said = Block::Lines(part.file.head());
            blocks.extend(Block::section(heading(part), vec![table, said]));
        }
        blocks.extend(failures(self.printed, wish));
        blocks
    }
}

impl PageContent for PostPage<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let measured = self.sections(wish, "measured here");
        let checked = self.sections(wish, "claims");
        let beside = self.sections(wish, "printed and measured numbers");
        let pages = |heading: &dyn Fn(&PostPart<'_>) -> String, claims: bool| -> Vec<_> {
            let page = |part| if claims { claims_of(part) } else { PostPart::shown(part) };
            self.parts.iter().map(|part| (heading(part), page(part))).collect()
        };
        let (shown, claims) = (pages(&measured, false), pages(&checked, true));
        with_pages(&shown, wish, self.first(), &mut |mut blocks| {
            for part in self.parts {
                let tables = part.tables.iter().flat_map(|table| table_blocks(table, part.record));
                blocks.extend(Block::section(beside(part), tables.collect()));
            }
            with_pages(&claims, wish, blocks, &mut |mut blocks| {
                blocks.extend(self.last(wish));
                let before = self.printed.source.clone();
                let heading = Heading { before, ..Heading::default() };
                let title = heading.line();
                then(&PageDocument { title, heading, blocks, ..PageDocument::default() });
            });
        });
    }

    fn json(&self) -> Option<String> {
        let parts = self.parts.iter().map(|part| PostPartRow {
            file: part.file.path,
            tables: part.tables.iter().map(table_json).collect(),
            claims: assay_claims::document(&part.claims, &part.ids),
            differences: part.differences.iter().map(difference_json).collect(),
        });
        Some(versioned(PostDocument {
            post: self.name,
            source: &self.printed.source,
            url: self.printed.url.as_deref(),
            parts: parts.collect(),
        }))
    }

    fn charts(&self) -> Vec<ChartFile> {
        self.parts.iter().flat_map(|part| part.shown().charts()).collect()
    }
}

fn failures(printed: &PrintedPost, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let failures = Block::list(printed.failures.iter().map(|failure| failure.words()));
    let said = wish.heading("releases that do not compile with new compilers, says the post");
    Block::section(said, failures)
}

/// A measurement of a post that no study has made.
pub(crate) struct DescribedSet {
    pub(crate) file: PostFile,
    /// Those of the post.
    pub(crate) systems: Vec<SystemRequest>,
    pub(crate) claims: Vec<PublishedClaim>,
}

/// A post that nobody has measured here.
pub(crate) fn described<'a>(
    name: &'a str,
    printed: &'a PrintedPost,
    sets: &'a [DescribedSet],
) -> Page<'a> {
    Page::new(DescribedPost { name, printed, sets })
}

struct DescribedPost<'a> {
    name: &'a str,
    printed: &'a PrintedPost,
    sets: &'a [DescribedSet],
}

impl DescribedPost<'_> {
    /// What the study file says, the systems with those that answer for them here, and the claims.
    fn set(&self, set: &DescribedSet) -> Vec<Block<'static>> {
        let mut blocks = vec![Block::Lines(set.file.head())];
        let columns = ["system of the post", "measured here as"].map(Column::words);
        let rows = set.systems.iter().map(|system| {
            let name = system.name.as_ref().unwrap_or(&system.words);
            let here = self.printed.here.get(name).cloned();
            Row::new([name.clone(), here.unwrap_or_else(|| NONE.to_owned())])
        });
        blocks.push(Block::Table(Table::new(columns.to_vec(), rows)));
        let columns = ["claim", "read as"].map(Column::words);
        let rows = set.claims.iter().map(|claim| {
            let reading = claim.reading.clone();
            Row::new([claim.text.clone(), reading.unwrap_or_else(|| NONE.to_owned())])
        });
        blocks.push(Block::Table(Table::new(columns.to_vec(), rows)));
        blocks
    }
}

impl PageContent for DescribedPost<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let Self { name, printed, sets } = self;
        let claims: usize = sets.iter().map(|set| set.claims.len()).sum();
        let numbers = printed.tables.iter().flat_map(|table| table.rows.values().flatten());
        let numbers = numbers.filter(|number| !number.is_nan()).count();
        let (claims, numbers) = (counted(claims as u64, "claim"), printed_numbers(numbers));
        let mut blocks = vec![
            Block::Answer(vec![format!("{claims} and {numbers}, not measured here yet")]),
            Block::command("", format!("assay post {name}"), " measures its question."),
        ];
        blocks.extend(Block::notes(printed.url.iter().map(|url| format!("the post: {url}"))));
        for set in *sets {
            let words = wish.heading("question and claims");
            let heading = match sets.len() {
                1 => words,
                _ => format!("{words}: {}", set.file.name()),
            };
            blocks.extend(Block::section(heading, self.set(set)));
        }
        for table in &printed.tables {
            blocks.extend(Block::section(table.title.as_str(), printed_table(table)));
        }
        blocks.extend(failures(printed, wish));
        let heading = Heading { before: printed.source.clone(), ..Heading::default() };
        then(&PageDocument::new(heading, blocks));
    }

    fn json(&self) -> Option<String> {
        None
    }
}

/// A table with the numbers and the order of the post.
fn printed_table(table: &PrintedTable) -> Vec<Block<'static>> {
    let shown = table.columns();
    let mut columns = vec![Column::words("row")];
    columns.extend(shown.iter().map(|column| match column.statistic {
        Some(statistic) => Column::numbers(statistic.word()),
        None => Column::numbers(column.system),
    }));
    let rows = table.rows.iter().map(|(row, numbers)| {
        let numbers = numbers.iter().map(|number| match number.is_nan() {
            true => NONE.to_owned(),
            false => printed(*number, table.unit, table.digits),
        });
        Row::new(std::iter::once(row.clone()).chain(numbers))
    });
    let base = table.base.as_ref().map_or_else(String::new, |base| format!(", base {base}"));
    let statistic = shown.iter().find(|column| column.statistic.is_some());
    let system = statistic.map_or_else(String::new, |column| format!(" of {}", column.system));
    let sentence = format!("{}{system}{base}, as printed, without intervals", table.unit.word());
    vec![Block::Lines(vec![sentence]), Block::Table(Table::new(columns, rows))]
}

fn claims_of<'a>(part: &'a PostPart<'_>) -> Page<'a> {
    assay_claims::claims(&part.claims, &part.ids)
}

/// Claims, and printed numbers within the intervals measured here.
fn answers(part: &PostPart<'_>) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", part.file.name(), assay_claims::answer(&part.claims))];
    let within: Vec<[usize; 2]> = part.tables.iter().map(TableBeside::within).collect();
    let [within, of] =
        [0, 1].map(|at: usize| within.iter().map(|counts| counts[at]).sum::<usize>());
    lines.extend(
        (of > 0).then(|| {
            format!("{within} of {} lie in the interval measured here", printed_numbers(of))
        }),
    );
    lines
}

fn printed_numbers(count: usize) -> String {
    counted(count as u64, "printed number")
}

/// A table of the post, one line for each number.
fn table_blocks(beside: &TableBeside<'_>, record: &StudyRecord) -> Vec<Block<'static>> {
    let table = beside.table;
    let is_statistics = beside.numbers.iter().any(|it| it.column.statistic.is_some());
    let has_setups = record.study.setups.len() > 1;
    let second = if is_statistics { "of the group" } else { "system" };
    let mut columns = vec![Column::words("row"), Column::words(second)];
    columns.extend(["printed", "here", "difference"].map(Column::numbers));
    columns.push(Column::words(""));
    let rows = beside.numbers.iter().map(|number| {
        let setup = number.setup.filter(|_| has_setups);
        let setup = setup.map_or_else(String::new, |it: Setup| format!(" at {}", it.separated()));
        let column = match number.column.statistic {
            Some(statistic) => statistic.word().to_owned(),
            None => system(number),
        };
        let within = match number.is_within(table.digits) {
            Some(true) => "= within",
            Some(false) => "≠ outside",
            None => "",
        };
        let difference = number.difference().map(|it| signed(it, table.digits));
        Row::new([
            format!("{}{setup}", number.row),
            column,
            printed(number.printed, table.unit, table.digits),
            number.here.map_or_else(|| NONE.to_owned(), |here| measured(number, beside, here)),
            difference.unwrap_or_else(|| NONE.to_owned()),
            within.to_owned(),
        ])
    });
    let sentence = Block::Lines(vec![sentence(beside)]);
    let blocks = vec![sentence, Block::Table(Table::new(columns, rows))];
    Block::section(table.title.as_str(), blocks)
}

/// `mysql@8.0.33 for mysql@8.0.36`.
fn system(number: &NumberBeside<'_>) -> String {
    let printed = number.column.system;
    match &number.system {
        Some(here) if here != printed => format!("{here} for {printed}"),
        _ => printed.to_owned(),
    }
}

/// `relative QPS, base mysql@5.6.14: 28 of 32 printed numbers measured; r = 0.91 [0.83, 0.96]; ...`.
fn sentence(beside: &TableBeside<'_>) -> String {
    let measured = beside.numbers.iter().filter(|it| it.here.is_some()).count();
    let unit = beside.table.unit.word();
    // Other tables name the system of each number.
    let of_group = beside.numbers.iter().find(|it| it.column.statistic.is_some());
    let of = of_group.map_or_else(String::new, |it| format!(" of {}", system(it)));
    let base = beside.base.as_ref().map_or_else(String::new, |base| format!(", base {base}"));
    let all = printed_numbers(beside.numbers.len());
    let correlated = |name: &str, r: Option<Estimate>| {
        r.map(|r| format!("{name} = {:.2} [{:.2}, {:.2}]", r.value, r.low, r.high))
    };
    let [within, known] = beside.within();
    let parts = [
        correlated("r", beside.correlation),
        correlated("rank correlation", beside.rank_correlation),
        (known > 0).then(|| format!("{within} of {known} in the interval measured here")),
    ];
    let parts: String = parts.into_iter().flatten().map(|part| format!("; {part}")).collect();
    format!("{unit}{of}{base}: {measured} of {all} measured{parts}")
}

fn signed(number: f64, digits: usize) -> String {
    format!("{number:+.digits$}").replace('-', "−")
}

fn printed(number: f64, unit: PrintedUnit, digits: usize) -> String {
    match unit {
        PrintedUnit::ChangeOfRate => signed(number, digits) + "%",
        _ => format!("{number:.digits$}"),
    }
}

/// With its interval, in the digits of the post.
fn measured(number: &NumberBeside<'_>, beside: &TableBeside<'_>, here: Estimate) -> String {
    let digits = beside.table.digits;
    let is_spread = number.column.statistic == Some(Summary::Stddev);
    let text = |value: f64| match beside.table.unit {
        PrintedUnit::ChangeOfRate => signed(value, digits) + "%",
        _ => format!("{value:.digits$}"),
    };
    match beside.table.unit {
        PrintedUnit::RelativeQps | PrintedUnit::RelativeRate if !is_spread => {
            Ratio(Some(here)).value_with_interval()
        }
        _ if here.has_interval() => {
            format!("{} [{}, {}]", text(here.value), text(here.low), text(here.high))
        }
        _ => text(here.value),
    }
}

#[derive(Serialize)]
struct PostDocument<'a, C> {
    post: &'a str,
    source: &'a str,
    url: Option<&'a str>,
    parts: Vec<PostPartRow<'a, C>>,
}

#[derive(Serialize)]
struct PostPartRow<'a, C> {
    file: &'a str,
    tables: JsonValue,
    /// As of `assay claims`.
    claims: C,
    differences: JsonValue,
}

fn table_json(beside: &TableBeside<'_>) -> JsonValue {
    let table = beside.table;
    let [within, of] = beside.within();
    JsonValue::object([
        ("title", table.title.as_str().into()),
        ("unit", table.unit.word().into()),
        ("base", beside.base.clone().into()),
        ("correlation", beside.correlation.into()),
        ("rank_correlation", beside.rank_correlation.into()),
        // Printed numbers in the interval measured here, of those with one.
        ("within", within.into()),
        ("intervals", of.into()),
        ("numbers", beside.numbers.iter().map(|it| number_json(it, table.digits)).collect()),
    ])
}

fn number_json(number: &NumberBeside<'_>, digits: usize) -> JsonValue {
    let setup = |value: fn(Setup) -> u32| JsonValue::from(number.setup.map(value));
    JsonValue::object([
        ("row", number.row.into()),
        ("statistic", number.column.statistic.map(Summary::word).into()),
        ("printed_system", number.column.system.into()),
        ("system", number.system.clone().into()),
        ("clients", setup(|it| it.clients)),
        ("tables", setup(|it| it.tables)),
        ("rows", setup(|it| it.rows)),
        ("printed", number.printed.into()),
        ("here", number.here.into()),
        ("difference", number.difference().into()),
        ("is_within", number.is_within(digits).into()),
    ])
}

fn difference_json(difference: &PostDifference) -> JsonValue {
    JsonValue::object([
        ("what", difference.what.as_str().into()),
        ("post", difference.post.as_str().into()),
        ("here", difference.here.as_str().into()),
    ])
}
