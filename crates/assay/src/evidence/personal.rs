//! Makes a copy of a study that says nothing about the person who measured it.

use std::path::Path;

use anyhow::{Result, bail};
use assay_ledger::{StudyRows, TextPlace};
use assay_model::{Artifact, Origin, StudyRecord, UserRows, UserRowsFile};
use assay_plan::{Request, SystemRequest};

use super::neutral::Neutral;
use crate::advice::Advised;

/// Places and names of this machine.
pub(super) struct Here {
    /// Directories, such as that of the user and the cache.
    pub(super) directories: Vec<String>,
    pub(super) user: Option<String>,
    pub(super) host: Option<String>,
}

/// Replaces what is personal in the rows of a study.
pub(super) fn remove(rows: &mut StudyRows, record: &StudyRecord, here: &Here, keep_host: bool) {
    let mut neutral = known(rows, record, here, keep_host);
    rows.change_texts(|place, text| {
        let TextPlace { table, column, is_json } = place;
        Some(match (table, column) {
            ("study", "recipe") => recipe(&mut neutral, text),
            // Not the statements and generators of a workload.
            ("test", "definition") => definition(&mut neutral, text),
            _ if is_json => neutral.json(text)?,
            _ => neutral.text(text),
        })
    });
    for bytes in rows.attachments() {
        if let Ok(text) = str::from_utf8(bytes) {
            *bytes = neutral.text(text).into_bytes();
        }
    }
}

/// What is known to be personal, before any text is read.
fn known(rows: &StudyRows, record: &StudyRecord, here: &Here, keep_host: bool) -> Neutral {
    let mut neutral = Neutral::default();
    for system in &record.systems {
        if let Artifact::Prefix(prefix) = &system.artifact {
            neutral.root(&prefix.path.to_string_lossy());
        }
        match &system.spec.origin {
            Origin::Dir(path) => neutral.path(&path.to_string_lossy()),
            Origin::Git(reference) if !is_remote(reference) => {
                neutral.path(reference.split('#').next().unwrap_or_default());
            }
            Origin::Version(_) | Origin::Git(_) | Origin::Url(_) => {}
        }
    }
    let request = assay_plan::request_of(&record.study).unwrap_or_default();
    let files = request.systems.iter().filter_map(|system| system.config.as_ref());
    for file in files.chain(&request.workload) {
        neutral.path(file);
    }
    for table in record.study.user_data().into_iter().flat_map(|own| &own.tables) {
        let files: Vec<&UserRowsFile> = match &table.rows {
            UserRows::Csv { file, .. } => vec![file],
            UserRows::Script(files) => {
                [&files.mysql, &files.postgres].into_iter().flatten().collect()
            }
            UserRows::Generated { .. } => Vec::new(),
        };
        files.into_iter().for_each(|file| neutral.path(&file.path));
    }
    for directory in &here.directories {
        neutral.home(directory);
    }
    if let Some(user) = &here.user {
        neutral.word(user, "user");
    }
    if !keep_host {
        let is_host = |(name, _): &(&str, &str)| ["hostname", "report_host"].contains(name);
        let of_servers = rows.settings().filter(is_host).map(|(_, value)| value);
        for host in of_servers.chain(here.host.as_deref()) {
            neutral.word(host, "host");
            neutral.word(host.split('.').next().unwrap_or_default(), "host");
        }
    }
    neutral
}

/// Whether a repository is somewhere else than on this machine.
fn is_remote(reference: &str) -> bool {
    reference.contains("://") && !reference.starts_with("file:")
}

/// The study file with neutral names, or nothing if it cannot be read.
fn recipe(neutral: &mut Neutral, text: &str) -> String {
    let Ok(request) = assay_plan::read_study("recipe", text) else { return String::new() };
    let system = |system: SystemRequest, neutral: &mut Neutral| SystemRequest {
        words: neutral.text(&system.words),
        name: system.name.map(|name| neutral.text(&name)),
        config: system.config.map(|file| neutral.text(&file)),
        without: system.without,
        options: (system.options.into_iter())
            .map(|(option, value)| (option, neutral.text(&value)))
            .collect(),
    };
    let systems = request.systems.into_iter().map(|it| system(it, neutral)).collect();
    let workload = request.workload.map(|file| neutral.text(&file));
    assay_plan::write_study(&Request { systems, workload, ..request })
}

/// The definition of a test with neutral names of files.
fn definition(neutral: &mut Neutral, text: &str) -> String {
    fn files(value: &mut serde_json::Value, neutral: &mut Neutral) {
        match value {
            serde_json::Value::Array(values) => values.iter_mut().for_each(|it| files(it, neutral)),
            serde_json::Value::Object(fields) => {
                let is_file = fields.contains_key("sha256");
                for (key, value) in fields {
                    match value {
                        serde_json::Value::String(path) if is_file && key == "path" => {
                            *path = neutral.text(path);
                        }
                        other => files(other, neutral),
                    }
                }
            }
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_str(text) else { return text.to_owned() };
    files(&mut value, neutral);
    serde_json::to_string(&value).unwrap_or_default()
}

/// Refuses bytes in which a directory of this machine, or of any user, is left.
pub(super) fn check(name: &str, bytes: &[u8], here: &Here) -> Result<()> {
    let left = here.directories.iter().find(|it| has(bytes, it)).cloned();
    if let Some(path) = left.or_else(|| home_in(bytes)) {
        bail!(Advised::new(
            format!("the study cannot be packed: `{name}` would contain the path `{path}`"),
            "names of tests, statements of workloads and attachments that are no text stay as they are: change them, \
             or pack a study without them"
        ));
    }
    Ok(())
}

fn has(bytes: &[u8], directory: &str) -> bool {
    let wanted = directory.as_bytes();
    let mut windows = bytes.windows(wanted.len() + 1);
    windows.any(|it| it.starts_with(wanted) && !it.ends_with(b"-") && !is_of_name(it.last()))
}

/// The directory of a user of any machine.
fn home_in(bytes: &[u8]) -> Option<String> {
    // Names of users are shorter.
    const NAME_MAX: usize = 64;
    let name = |rest: &[u8]| {
        let rest = rest.get(..NAME_MAX).unwrap_or(rest);
        let end =
            rest.iter().position(|byte| !(is_of_name(Some(byte)) || b"._-".contains(byte)))?;
        let name = rest.get(..end).filter(|name| !name.is_empty())?;
        (rest.get(end) == Some(&b'/')).then(|| String::from_utf8_lossy(name).into_owned())
    };
    let starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    starts.into_iter().find_map(|at| {
        let rest = bytes.get(at..)?;
        ["/home/", "/Users/"].into_iter().find_map(|home| {
            let name = name(rest.strip_prefix(home.as_bytes())?)?;
            Some(format!("{home}{name}"))
        })
    })
}

fn is_of_name(byte: Option<&u8>) -> bool {
    byte.is_some_and(u8::is_ascii_alphanumeric)
}

impl Here {
    /// This machine, and this user.
    pub(super) fn now(cache: Option<&Path>) -> Self {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let name = |path: &Path| path.file_name().map(|it| it.to_string_lossy().into_owned());
        let user = ["USER", "LOGNAME"].into_iter().find_map(|it| std::env::var(it).ok());
        let user = user.or_else(|| home.as_deref().and_then(name));
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let directories = home.iter().map(std::path::PathBuf::as_path).chain(cache);
        let directories = directories.map(|it| it.to_string_lossy().into_owned());
        // A home directory such as `/` says nothing.
        let directories = directories.filter(|it| it.trim_matches('/').len() > 1).collect();
        Self { directories, user, host: Some(host) }
    }
}
