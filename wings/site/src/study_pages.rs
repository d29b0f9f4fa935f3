//! Pages of studies: their reports, their lists, and the trends of their tests. Ledgers are only read.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use anyhow::Result;
use assay_command::ledger_files::open_ledger;
use assay_ledger::Ledger;
use assay_model::{StudyRecord, StudySummary, counted};
use assay_plan::shell_quoted;
use assay_posts::{PostMeasurement, ShownPost, measured_post};
use assay_report::blocks::{Block, Column, Heading, Row, Table, Text, began, linked, thousands};
use assay_run::parallel::together;
use assay_run::progress::print;
use assay_run::study;
use assay_verdict::Judgement;

use crate::folder::{PAGES_MAX, PagePlace, SiteFolder, file_name, relative};

/// Most pages of trends, and most tests that are examined for one.
const TRENDS_MAX: usize = 200;
const EXAMINED_MAX: usize = 1000;

/// Newest studies whose values are in trends: all of them are in memory at once.
const TREND_STUDIES: usize = 500;

/// Studies on a page of their list.
const LISTED: usize = 100;

/// Most letters of the systems of a study in lists: there may be dozens of them.
const SYSTEMS_MAX: usize = 200;

/// A study that has a page.
#[derive(Debug)]
pub(crate) struct SiteStudy {
    pub(crate) ledger: usize,
    pub(crate) summary: StudySummary,
    pub(crate) path: String,
    /// The post that it redoes, by position.
    pub(crate) post: Option<(usize, PostMeasurement)>,
}

/// The studies that have pages, the newest first.
#[derive(Debug)]
pub(crate) struct SiteStudies {
    pub(crate) studies: Vec<SiteStudy>,
    /// Studies of the ledgers.
    pub(crate) all: usize,
    /// Tests with a page.
    pub(crate) trends: usize,
}

/// A study as it was read.
struct KnownStudy {
    /// Position in the list.
    at: usize,
    post: Option<(usize, PostMeasurement)>,
    /// For trends.
    judged: Option<(StudyRecord, Judgement)>,
}

pub(crate) fn write(
    folder: &mut SiteFolder,
    ledgers: &[PathBuf],
    posts: &[ShownPost],
) -> Result<SiteStudies> {
    // The pages of posts, their list, that of trends, and the first page are written later.
    let reserved = folder.pages() + posts.len() + TRENDS_MAX + 3;
    let room = PAGES_MAX.saturating_sub(reserved + PAGES_MAX.div_ceil(LISTED));
    let (mut studies, all) = newest(ledgers, room)?;
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let (shared, listed) = (&*folder, studies.as_slice());
    let works = (0..workers)
        .map(|worker| move || report_pages(shared, ledgers, (listed, posts), (worker, workers)));
    let mut known: Vec<KnownStudy> = Vec::new();
    for of_worker in together(works) {
        known.extend(of_worker?);
    }
    known.sort_by_key(|study| study.at);
    for study in &known {
        folder.list(place(&studies, study.at));
        studies[study.at].post = study.post;
    }
    let trends = trend_pages(folder, &known)?;
    list_pages(folder, &studies, all)?;
    Ok(SiteStudies { studies, all, trends })
}

/// The newest studies of all ledgers, and how many there are.
fn newest(ledgers: &[PathBuf], most: usize) -> Result<(Vec<SiteStudy>, usize)> {
    let mut found: Vec<(usize, StudySummary)> = Vec::new();
    for (number, file) in ledgers.iter().enumerate() {
        found.extend(open_ledger(file)?.studies()?.into_iter().map(|study| (number, study)));
    }
    // A pack has a study of a ledger once more, which is no further value of a trend.
    let mut ids = BTreeSet::new();
    found.retain(|(_, study)| ids.insert(study.id.clone()));
    let key = |(_, study): &(usize, StudySummary)| Reverse((study.started_ms, study.id.clone()));
    found.sort_by_cached_key(key);
    let all = found.len();
    found.truncate(most);
    let mut taken = BTreeSet::new();
    let study = |(ledger, summary): (usize, StudySummary)| {
        let path = format!("studies/{}", file_name(&summary.id, &mut taken));
        SiteStudy { ledger, summary, path, post: None }
    };
    Ok((found.into_iter().map(study).collect(), all))
}

fn place(studies: &[SiteStudy], at: usize) -> PagePlace {
    let path = |at: Option<usize>| Some(studies.get(at?)?.path.clone());
    let SiteStudy { summary, path: own, .. } = &studies[at];
    PagePlace {
        path: own.clone(),
        words: format!("{} {}", summary.name.as_deref().unwrap_or_default(), systems(summary)),
        part: "studies".to_owned(),
        previous: path(at.checked_sub(1)),
        next: path(at.checked_add(1)),
        command: format!("assay report {} -o report.html", shell_quoted(&summary.id)),
    }
}

fn systems(summary: &StudySummary) -> String {
    let all = summary.systems.join(" vs ");
    match all.char_indices().nth(SYSTEMS_MAX) {
        Some((end, _)) => format!("{}…", &all[..end]),
        None => all,
    }
}

/// Writes the reports of the studies of a worker. One that cannot be read has a page too.
fn report_pages(
    folder: &SiteFolder,
    ledgers: &[PathBuf],
    (studies, posts): (&[SiteStudy], &[ShownPost]),
    (worker, workers): (usize, usize),
) -> Result<Vec<KnownStudy>> {
    let mut open: BTreeMap<usize, Ledger> = BTreeMap::new();
    let mut known = Vec::new();
    for (at, study) in studies.iter().enumerate().skip(worker).step_by(workers) {
        let ledger = match open.entry(study.ledger) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(open_ledger(&ledgers[study.ledger])?),
        };
        let record = match study::read_any(ledger, &study.summary.id) {
            Ok(record) => record,
            Err(error) => {
                let what = format!("study `{}` cannot be read", study.summary.id);
                print(&format!("warning: {what}: {error:#}"));
                let heading = Heading { before: what, ..Heading::default() };
                // The error names the place of the ledger, which is nobody's business.
                let place = place(studies, at);
                let why = vec![Block::command("", place.command.as_str(), " says why.")];
                folder.write_blocks(&place, heading, why)?;
                known.push(KnownStudy { at, post: None, judged: None });
                continue;
            }
        };
        let judgement = assay_verdict::judge(&record);
        folder.write(&place(studies, at), &assay_report::report(&record, &judgement))?;
        let post = measured_post(posts, &record);
        let judged = (at < TREND_STUDIES).then(|| (for_trends(record), judgement));
        known.push(KnownStudy { at, post, judged });
    }
    Ok(known)
}

/// Without the measurements, which take most of the memory.
fn for_trends(record: StudyRecord) -> StudyRecord {
    let host = record.host().clone();
    StudyRecord::new(record.study, host, record.systems)
}

fn trend_pages(folder: &mut SiteFolder, known: &[KnownStudy]) -> Result<usize> {
    let judged = known.iter().filter_map(|study| study.judged.as_ref());
    let judged: Vec<(&StudyRecord, &Judgement)> =
        judged.map(|(record, judgement)| (record, judgement)).collect();
    let cells = judged.iter().flat_map(|(record, _)| &record.study.cells);
    let tests: BTreeSet<&str> = cells.map(|cell| cell.id.test.name()).collect();
    let mut taken = BTreeSet::new();
    let mut list: Vec<(String, String)> = Vec::new();
    let mut more = 0;
    for (number, test) in tests.iter().copied().enumerate() {
        if list.len() == TRENDS_MAX || number == EXAMINED_MAX {
            more = tests.len() - number;
            break;
        }
        let path = format!("trends/{}", file_name(test, &mut taken));
        let place = PagePlace {
            path: path.clone(),
            words: "trend".to_owned(),
            part: "trends".to_owned(),
            command: format!("assay trend {} -o trend.html", shell_quoted(test)),
            ..PagePlace::default()
        };
        let mut written = Ok(());
        let is_trend = assay_trend::with_trend(test, &judged, &mut |page| {
            written = folder.write(&place, page);
        });
        written?;
        if is_trend {
            folder.list(place);
            list.push((test.to_owned(), path));
        }
    }
    let [path, part] = ["trends"; 2].map(str::to_owned);
    let heading = Heading { before: "Trends".to_owned(), ..Heading::default() };
    let blocks = trend_list(&list, judged.len(), more);
    let command = "assay studies".to_owned();
    folder.put(PagePlace { path, part, command, ..PagePlace::default() }, heading, blocks)?;
    Ok(list.len())
}

/// `list` has tests and the paths of their pages; `more` tests were not examined.
fn trend_list(list: &[(String, String)], studies: usize, more: usize) -> Vec<Block<'static>> {
    let (tests, counted_studies) = (counted(list.len() as u64, "test"), counted_studies(studies));
    let answer = match list.is_empty() {
        true => format!("no test has two comparable values, in {counted_studies}"),
        false => format!("{tests} over the versions and the time of {counted_studies}"),
    };
    let mut blocks = vec![Block::Answer(vec![answer])];
    let link = |(test, path): &(String, String)| linked(format!("{path}.html"), test.as_str());
    blocks.extend(Block::list(list.iter().map(link)));
    let more = (more > 0).then(|| {
        let more = counted(more as u64, "further test");
        format!("{more} not examined: at most {TRENDS_MAX} of the first {EXAMINED_MAX} have pages")
    });
    let newest = (studies == TREND_STUDIES)
        .then(|| format!("trends have the values of the newest {TREND_STUDIES} studies"));
    blocks.extend(Block::notes(newest.into_iter().chain(more)));
    blocks
}

fn list_pages(folder: &mut SiteFolder, studies: &[SiteStudy], all: usize) -> Result<()> {
    let name = |number: usize| match number {
        0 => "studies".to_owned(),
        number => format!("studies-{}", number + 1),
    };
    let count = studies.len().div_ceil(LISTED).max(1);
    for number in 0..count {
        let from = number * LISTED;
        let shown = &studies[from..studies.len().min(from + LISTED)];
        let place = PagePlace {
            path: name(number),
            part: "studies".to_owned(),
            previous: number.checked_sub(1).map(name),
            next: Some(number + 1).filter(|next| *next < count).map(name),
            command: "assay studies".to_owned(),
            ..PagePlace::default()
        };
        let mut blocks = vec![Block::Answer(vec![study_count(studies.len(), all)])];
        if !shown.is_empty() {
            blocks.push(Block::Table(study_table(shown, &place.path)));
        }
        let heading = Heading { before: "Studies".to_owned(), ..Heading::default() };
        folder.put(place, heading, blocks)?;
    }
    Ok(())
}

fn counted_studies(number: usize) -> String {
    match number {
        1 => "1 study".to_owned(),
        more => format!("{} studies", thousands(more as f64)),
    }
}

/// Counts studies in words, and says which of them have pages.
pub(crate) fn study_count(pages: usize, all: usize) -> String {
    let studies = counted_studies(all);
    match all {
        0 => "no studies: `assay compare BASE OTHER` measures one".to_owned(),
        all if pages < all => format!("{studies}, of which the newest {pages} have pages"),
        _ => studies,
    }
}

/// `page` is the path of the page with the table.
pub(crate) fn study_table(studies: &[SiteStudy], page: &str) -> Table {
    let columns = ["study", "started (UTC)", "preset", "state", "systems"].map(Column::words);
    let rows = studies.iter().map(|SiteStudy { summary, path, .. }| {
        let name = summary.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        let state = if summary.finished { "finished" } else { "unfinished" };
        let foreign = if summary.foreign { ", foreign" } else { "" };
        Row::new([
            linked(relative(page, &format!("{path}.html")), format!("{}{name}", summary.id)),
            Text::from(began(summary.started_ms, summary.is_reported)),
            Text::from(summary.preset.word()),
            Text::from(format!("{state}{foreign}")),
            Text::from(systems(summary)),
        ])
    });
    Table::new(columns.to_vec(), rows).flush()
}
