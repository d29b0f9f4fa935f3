//! `assay serve`: read-only report pages of a ledger on loopback.

use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use assay_model::{StudyRecord, without_secrets};
use assay_report::{Format, TextOptions, Trend};
use assay_serve::{Page, Request, Server};

use crate::advice::Advised;
use crate::cli::Serve;
use crate::exit::Exit;
use crate::interrupt::{self, Interrupt};
use crate::opened::open_ledger;
use crate::{paths, recorded, report, study, study_id, trend};

const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &Serve) -> Result<Exit> {
    let file = paths::ledger_file(args.ledger.file.as_deref())?;
    // Reports an unreadable ledger before listening.
    drop(open_ledger(&file)?);
    let _interrupt = Interrupt::listen()?;
    let server = Server::bind(args.port, token()?).map_err(|error| refused(args.port, &error))?;
    report::write_stdout(&format!("{}\n", server.url()))?;
    std::thread::spawn(move || server.run(move |request| page(&file, request)));
    while !interrupt::is_asked() {
        std::thread::park_timeout(LOOK);
    }
    Ok(Exit::Done)
}

/// Part of the address that no other user of this machine can guess.
fn token() -> Result<String> {
    let mut bytes = [0; 16];
    fs_err::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
}

fn refused(port: u16, error: &std::io::Error) -> Advised {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            "another program listens there: leave `--port` out for a free port, or name another"
        }
        ErrorKind::PermissionDenied => "leave `--port` out, or name one above 1023",
        _ => "leave `--port` out for a free port",
    };
    Advised::new(format!("cannot listen on port {port} of 127.0.0.1: {error}"), hint)
}

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
    let studies = ledger.studies()?;
    let named = studies.iter().find(|it| it.id == name || it.name.as_deref() == Some(name));
    let id = match named {
        Some(study) => Some(study.id.clone()),
        None if name == "latest" => study_id::find(&ledger, None, |_| true)?,
        None => None,
    };
    let Some(id) = id else { return Ok(Page::Missing("there is no such study".to_owned())) };
    let record = ledger.read(&id)?;
    let running = !record.finished && study::is_measured(&record);
    let foreign = study::is_foreign(&ledger, &record);
    let record = StudyRecord { running, foreign, ..recorded::whole(&ledger, record)? };
    let judgement = assay_verdict::judge(&record);
    let options = TextOptions { width: 120, color: false, verbose: true };
    let html = assay_report::render(&record, &judgement, Format::HTML, &options);
    Ok(Page::Html { html, policy: assay_report::page_policy() })
}

fn test(file: &Path, test: &str) -> Result<Page> {
    let ledger = open_ledger(file)?;
    let Ok(found) = trend::found(&ledger, test, None, None) else {
        return Ok(Page::Missing("no study has such a test".to_owned()));
    };
    let trend = Trend { test: &found.test, lines: &found.lines, studies: found.studies };
    let options = TextOptions { width: 120, color: false, verbose: true };
    let html = assay_report::trend(&trend).render(Format::HTML, &options).unwrap_or_default();
    Ok(Page::Html { html, policy: assay_report::page_policy() })
}
