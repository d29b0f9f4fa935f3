//! `assay serve`: the reports of a ledger as pages on loopback. Nothing is written.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use assay_model::{StudyRecord, without_secrets};
use assay_report::{Format, TextOptions, Trend};
use assay_serve::{Page, Request, Server};

use crate::cli::Serve;
use crate::exit::Exit;
use crate::interrupt::{self, Interrupt};
use crate::opened::open_ledger;
use crate::{paths, report, study, trend};

/// How often the main thread looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Serves pages until Ctrl-C.
pub(crate) fn run(args: &Serve) -> Result<Exit> {
    let file = paths::ledger_file(args.ledger.file.as_deref())?;
    // A ledger that cannot be read is reported before anything listens.
    drop(open_ledger(&file)?);
    let _interrupt = Interrupt::listen()?;
    let server = Server::bind(args.port)
        .with_context(|| format!("cannot listen on port {} of 127.0.0.1", args.port))?;
    report::write_stdout(&format!("{}\n", server.url()))?;
    let serving = std::thread::spawn(move || server.run(move |request| page(&file, request)));
    while !interrupt::is_asked() {
        if serving.is_finished() {
            let ended = serving.join().map_err(|_| anyhow::anyhow!("the server ended"))?;
            return ended.map(|()| Exit::Done).context("cannot accept connections");
        }
        std::thread::park_timeout(LOOK);
    }
    Ok(Exit::Done)
}

/// The page that a request asks for.
fn page(file: &Path, request: &Request) -> Page {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let made = match path.as_slice() {
        [] => index(file, request.parameter("q")),
        ["study", name] => study(file, name),
        ["trend"] => test(file, request.parameter("test")),
        _ => return Page::Missing("there is no such page".to_owned()),
    };
    made.unwrap_or_else(|error| Page::Failed(without_secrets(&format!("{error:#}"))))
}

fn index(file: &Path, search: &str) -> Result<Page> {
    let ledger = open_ledger(file)?;
    let studies = ledger.studies()?;
    let running = study::measured(&ledger, &studies);
    let html = assay_report::index(&studies, &running, search);
    Ok(Page::Html { html, policy: assay_report::index_policy() })
}

fn study(file: &Path, name: &str) -> Result<Page> {
    let ledger = open_ledger(file)?;
    if !ledger.studies()?.iter().any(|it| it.id == name || it.name.as_deref() == Some(name)) {
        return Ok(Page::Missing("there is no such study".to_owned()));
    }
    let record = report::read(&ledger, &ledger.find(name)?)?;
    let running = !record.finished && study::is_measured(&record);
    let record = StudyRecord { running, ..record };
    let judgement = assay_verdict::judge(&record);
    let options = TextOptions { width: 120, color: false, verbose: true };
    let html = assay_report::render(&record, &judgement, Format::Html, &options);
    Ok(Page::Html { html, policy: assay_report::page_policy() })
}

fn test(file: &Path, test: &str) -> Result<Page> {
    let ledger = open_ledger(file)?;
    let Ok(found) = trend::found(&ledger, test, None, None) else {
        return Ok(Page::Missing("no study has such a test".to_owned()));
    };
    let trend = Trend { test, lines: &found.lines, studies: found.studies };
    let options = TextOptions { width: 120, color: false, verbose: true };
    let html = assay_report::trend(&trend, Format::Html, &options);
    Ok(Page::Html { html, policy: assay_report::page_policy() })
}
