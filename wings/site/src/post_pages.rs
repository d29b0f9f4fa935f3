//! Pages of posts: as measured by the newest studies of the ledgers, else what they ask, print and say.

use std::path::PathBuf;

use anyhow::Result;
use assay_command::ledger_files::open_ledger;
use assay_model::StudyRecord;
use assay_plan::shell_quoted;
use assay_posts::{PostMeasurement, ShownPost};
use assay_report::blocks::{Block, Column, Heading, Row, Table, Text, linked};
use assay_run::study;
use assay_verdict::Judgement;

use crate::folder::{PagePlace, SiteFolder, relative};
use crate::study_pages::SiteStudies;

/// A post that has a page.
#[derive(Debug)]
pub(crate) struct SitePost {
    pub(crate) name: &'static str,
    pub(crate) source: String,
    pub(crate) path: String,
    /// Studies of the ledgers that measured it.
    pub(crate) studies: Vec<String>,
}

const MORE: &str =
    "`assay post NAME` measures the question of a post, and shows its numbers beside those printed";

type MeasuredPost = (PostMeasurement, StudyRecord, Judgement);

pub(crate) fn write(
    folder: &mut SiteFolder,
    ledgers: &[PathBuf],
    posts: &[ShownPost],
    studies: &SiteStudies,
) -> Result<Vec<SitePost>> {
    let path = |at: Option<usize>| Some(format!("posts/{}", posts.get(at?)?.name()));
    let mut written = Vec::new();
    for (at, post) in posts.iter().enumerate() {
        let measured = measured(at, ledgers, studies)?;
        let ids: Vec<String> =
            measured.iter().map(|(_, record, _)| record.study.id.clone()).collect();
        let own = format!("posts/{}", post.name());
        let command = match ids.is_empty() {
            true => format!("assay post {} -o post.html", post.name()),
            false => {
                let ids = shell_quoted(&ids.join(","));
                format!("assay post {} --study {ids} -o post.html", post.name())
            }
        };
        let place = PagePlace {
            path: own.clone(),
            words: post.source().to_owned(),
            part: "posts".to_owned(),
            previous: path(at.checked_sub(1)),
            next: path(at.checked_add(1)),
            command,
        };
        let mut put = Ok(());
        post.with_page(&measured, &mut |page| put = folder.write(&place, page))?;
        put?;
        folder.list(place);
        let source = post.source().to_owned();
        written.push(SitePost { name: post.name(), source, path: own, studies: ids });
    }
    let [path, part] = ["posts"; 2].map(str::to_owned);
    let blocks = vec![
        Block::Table(post_table(&written, studies, "posts")),
        Block::Notes(vec![MORE.to_owned()]),
    ];
    let heading = Heading { before: "Posts".to_owned(), ..Heading::default() };
    let command = "assay post".to_owned();
    folder.put(PagePlace { path, part, command, ..PagePlace::default() }, heading, blocks)?;
    Ok(written)
}

/// The newest study of each measurement of a post.
fn measured(at: usize, ledgers: &[PathBuf], studies: &SiteStudies) -> Result<Vec<MeasuredPost>> {
    let mut measured: Vec<MeasuredPost> = Vec::new();
    for found in &studies.studies {
        let Some((_, part)) = found.post.filter(|(post, _)| *post == at) else { continue };
        if measured.iter().any(|(other, ..)| other.set == part.set) {
            continue;
        }
        let ledger = open_ledger(&ledgers[found.ledger])?;
        let record = study::read_any(&ledger, &found.summary.id)?;
        let judgement = assay_verdict::judge(&record);
        measured.push((part, record, judgement));
    }
    measured.sort_by_key(|(part, ..)| part.set);
    Ok(measured)
}

/// The newest post first. `page` is the path of the page with the table.
pub(crate) fn post_table(posts: &[SitePost], studies: &SiteStudies, page: &str) -> Table {
    let columns = ["post", "author and title", "measured by"].map(Column::words).to_vec();
    let rows = posts.iter().rev().map(|post| {
        let path = |id: &String| {
            let found = studies.studies.iter().find(|study| study.summary.id == *id);
            found.map(|study| format!("{}.html", study.path))
        };
        // A post that measures twice has two studies; its page names both.
        let measured = match post.studies.first() {
            None => Text::from("not yet"),
            Some(id) => match path(id) {
                Some(path) => linked(relative(page, &path), id.as_str()),
                None => Text::from(id.as_str()),
            },
        };
        Row::new([
            linked(relative(page, &format!("{}.html", post.path)), post.name),
            Text::from(post.source.as_str()),
            measured,
        ])
    });
    Table::new(columns, rows).flush()
}
