//! Removes the places of the measuring machine from a copy of a study.
//!
//! Settings that reveal a server's location are dropped. In the remaining texts, places that the study itself names
//! and the directories of the user get neutral names. Nothing is searched for by its form.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use assay_ledger::StudyRows;
use assay_model::{
    AnswerPart, Artifact, EventKind, Origin, ShardRun, StudyRecord, UserRows, may_be_secret,
    without_secrets,
};
use assay_plan::{NamedFile, Request};
use assay_servers::audit::is_ignored;
use serde_json::Value;

use assay_run::advice::HintedError;

pub(super) fn directories(cache: Option<&Path>) -> Vec<String> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let directories = home.as_deref().into_iter().chain(cache);
    let directories = directories.map(|directory| directory.to_string_lossy().into_owned());
    // A home directory such as `/` is no information.
    directories.filter(|directory| directory.trim_matches('/').len() > 1).collect()
}

pub(super) fn remove(
    rows: &mut StudyRows,
    record: &StudyRecord,
    directories: &[String],
) -> Result<()> {
    rows.retain_settings(|name| !is_ignored(name.strip_prefix("session.").unwrap_or(name)));
    let places = PrivatePlaces::new(record, directories)?;
    let shards = record.runs.iter().filter_map(|run| run.shard.as_ref());
    let nodes: BTreeSet<&str> = shards.map(|shard| shard.node.as_str()).collect();
    let roles = record.study.cells.iter().flat_map(|cell| &cell.id.test.definition().roles);
    let has_values = roles.flat_map(|role| &role.script.mix).any(|kind| kind.captured.is_some());
    rows.change_texts(|place, text| match (place.is_json, place.table) {
        (false, "slice") if has_values => Some(without_quotes(&places.text(text))),
        (false, _) => Some(places.text(text)),
        // Names of tests and statements stay.
        (true, "test") => places.json(text, |field| field == "path"),
        (true, "run") if place.column == "shard" => neutral_node(text, &nodes),
        (true, "event") => {
            let without = without_values(text, has_values);
            let text = without.as_deref().unwrap_or(text);
            places.json(text, |_| true).or(without.clone())
        }
        (true, _) => places.json(text, |_| true),
    });
    for bytes in rows.attachments() {
        if let Ok(text) = str::from_utf8(bytes) {
            *bytes = places.text(text).into_bytes();
        }
    }
    Ok(())
}

/// Replaces the name of a shard's node by a number. The order of nodes stays.
fn neutral_node(text: &str, nodes: &BTreeSet<&str>) -> Option<String> {
    let mut shard: ShardRun = serde_json::from_str(text).ok()?;
    let number = nodes.iter().position(|node| *node == shard.node)? + 1;
    shard.node = format!("node{number:04}");
    shard.secret.clear();
    serde_json::to_string(&shard).ok()
}

/// Removes the user's values from a finding: of parameters, of rows that differ, and of dumps. Messages of servers
/// quote statements; quotes are removed if the values of statements were captured.
fn without_values(text: &str, has_values: bool) -> Option<String> {
    const LEFT_OUT: &str = "a row, which packs do not have";
    let mut what: EventKind = serde_json::from_str(text).ok()?;
    match &mut what {
        EventKind::NotMeasured { error: message, .. }
        | EventKind::StartedAgain { error: message, .. }
        | EventKind::TestFailed { why: message, .. }
        | EventKind::TestEnded { why: message, .. }
        | EventKind::NotDone { why: message, .. }
        | EventKind::KindLeftOut { why: message, .. }
            if has_values =>
        {
            *message = without_quotes(message);
        }
        EventKind::AnswerDiffers(difference) => {
            difference.sent = difference.statement.clone();
            if difference.what.has_rows() {
                for answer in [&mut difference.base, &mut difference.here] {
                    let count = answer.split_once("; first difference").map(|(count, _)| count);
                    *answer = count.unwrap_or(LEFT_OUT).to_owned();
                }
            } else if !matches!(difference.what, AnswerPart::Names | AnswerPart::Types) {
                for answer in [&mut difference.base, &mut difference.here] {
                    *answer = without_quotes(answer);
                }
            }
        }
        EventKind::Restored(restored) => {
            let upper = restored.statement.to_ascii_uppercase();
            if let Some(at) = upper.find("VALUES") {
                restored.statement.truncate(at + "VALUES".len());
                restored.message = without_quotes(&restored.message);
            }
        }
        _ => return None,
    }
    serde_json::to_string(&what).ok()
}

/// Cuts from the first quotation mark to the last one of its kind, because quoted text may have such marks itself.
fn without_quotes(message: &str) -> String {
    let mut message = message.to_owned();
    for mark in ['\'', '"'] {
        if let Some((first, last)) = message.find(mark).zip(message.rfind(mark))
            && first < last
        {
            message.replace_range(first + 1..last, "…");
        }
    }
    message
}

#[derive(Debug, Default)]
struct PrivatePlaces {
    /// Longest first, with neutral names.
    known: Vec<(String, String)>,
    paths: usize,
    servers: usize,
}

impl PrivatePlaces {
    fn new(record: &StudyRecord, directories: &[String]) -> Result<Self> {
        let mut places = Self::default();
        for system in &record.systems {
            match &system.spec.origin {
                Origin::Dir(path) => places.path(&path.to_string_lossy()),
                Origin::Git(reference) if !reference.contains("://") => {
                    places.path(reference.split('#').next().unwrap_or_default());
                }
                Origin::Url(url) => places.server(url),
                Origin::Version(_) | Origin::Git(_) => {}
            }
            match &system.artifact {
                // In the cache, in a directory below a common one.
                Artifact::Prefix(prefix) if !matches!(system.spec.origin, Origin::Dir(_)) => {
                    let cache = prefix.path.parent().and_then(Path::parent).unwrap_or(&prefix.path);
                    places.name(&cache.to_string_lossy(), "/cache".to_owned());
                }
                Artifact::Running(running) => {
                    running.program.iter().for_each(|file| places.path(&file.to_string_lossy()));
                }
                Artifact::Prefix(_) | Artifact::Reported(_) => {}
            }
        }
        let request = if record.is_reported() {
            Request::default()
        } else {
            assay_plan::request_of(&record.study)?
        };
        let configs = request.systems.iter().filter_map(|system| system.config.as_ref());
        configs.for_each(|file| places.path(file));
        let named = request.workload.iter().map(|it| NamedFile::parse(it));
        named.filter(|it| !it.is_of_pgbench()).for_each(|it| places.path(it.path));
        let scripts = record.study.cells.iter().filter_map(|cell| cell.id.test.lua());
        scripts.flat_map(|script| &script.files).for_each(|file| places.path(&file.path));
        let dumps = record.study.user_data().and_then(|data| data.dump.as_ref());
        let dumps = dumps.into_iter().flat_map(|it| [&it.mysql, &it.postgres]).flatten();
        dumps.for_each(|dump| places.path(&dump.file.path));
        let roles = record.study.cells.iter().flat_map(|cell| &cell.id.test.definition().roles);
        let captured =
            roles.flat_map(|role| &role.script.mix).filter_map(|it| it.captured.as_ref());
        captured.for_each(|it| places.path(&it.file.path));
        for table in record.study.user_data().into_iter().flat_map(|data| &data.tables) {
            match &table.rows {
                UserRows::Csv { file, .. } => places.path(&file.path),
                UserRows::Script(files) => {
                    let files = [&files.mysql, &files.postgres].into_iter().flatten();
                    files.for_each(|file| places.path(&file.path));
                }
                UserRows::Generated { .. } => {}
            }
        }
        directories.iter().for_each(|directory| places.name(directory, "/home".to_owned()));
        Ok(places)
    }

    fn name(&mut self, place: &str, instead: String) {
        let place = place.trim_end_matches('/');
        if place.trim_matches('/').len() > 1 && self.known.iter().all(|(known, _)| known != place) {
            self.known.push((place.to_owned(), instead));
            self.known.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
        }
    }

    fn path(&mut self, path: &str) {
        if path.contains('/') {
            self.paths += 1;
            self.name(path, format!("/path{}", self.paths));
        }
    }

    fn server(&mut self, url: &str) {
        let address = url.split_once("://").map_or(url, |(_, address)| address);
        let (address, more) = address.split_once('/').unwrap_or((address, ""));
        let host = address.rsplit_once('@').map_or(address, |(_, host)| host);
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        self.servers += 1;
        // A host such as `mysql` is also a common word.
        if address != host || host.contains('.') {
            self.name(address, format!("user@server{}", self.servers));
        }
        if host.contains('.') && host != "127.0.0.1" {
            self.name(host, format!("server{}", self.servers));
        }
        more.split_once("socket=").into_iter().for_each(|(_, socket)| self.path(socket));
    }

    fn text(&self, text: &str) -> String {
        let mut text = without_secrets(text);
        for (place, instead) in &self.known {
            text = replaced(&text, place, instead);
        }
        text
    }

    fn json(&self, json: &str, fields: impl Fn(&str) -> bool) -> Option<String> {
        let mut value = serde_json::from_str(json).ok()?;
        self.change(&mut value, "", &fields);
        serde_json::to_string(&value).ok()
    }

    fn change(&self, value: &mut Value, field: &str, fields: &impl Fn(&str) -> bool) {
        match value {
            Value::String(text) if fields(field) => *text = self.text(text),
            Value::Array(values) => {
                // An option and its value.
                if let [Value::String(name), value @ Value::String(_)] = values.as_mut_slice()
                    && may_be_secret(name)
                {
                    *value = Value::from("***");
                }
                values.iter_mut().for_each(|value| self.change(value, field, fields));
            }
            Value::Object(values) => {
                values.iter_mut().for_each(|(field, value)| self.change(value, field, fields));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Replaces a place unless it is part of a longer word.
fn replaced(text: &str, place: &str, instead: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(place) {
        let (before, from) = rest.split_at(at);
        let after = from.get(place.len()..).unwrap_or_default();
        let is_part = before.ends_with(char::is_alphanumeric) && !place.starts_with('/')
            || after.starts_with(char::is_alphanumeric);
        clean.push_str(before);
        clean.push_str(if is_part { place } else { instead });
        rest = after;
    }
    clean + rest
}

/// Refuses bytes that still contain a directory of this user.
pub(super) fn check(name: &str, bytes: &[u8], directories: &[String]) -> Result<()> {
    let is_left = |directory: &&String| {
        let mut windows = bytes.windows(directory.len() + 1);
        windows.any(|it| it.starts_with(directory.as_bytes()) && it.ends_with(b"/"))
    };
    if let Some(path) = directories.iter().find(is_left) {
        bail!(HintedError::new(
            format!("the study cannot be packed: `{name}` would contain the path `{path}`"),
            "statements of tests and attachments that are no text stay as they are: change them, or pack a study \
             without them"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_get_neutral_names_and_nothing_else_does() {
        let mut places = PrivatePlaces::default();
        places.path("/srv/my builds/8.0");
        places.path("../tree");
        places.path("my.cnf");
        places.server("mysql://me@db.example:3306/test?socket=/run/me/s");
        places.server("mysql://me@mysql/test");
        places.name("/home/ann/", "/home".to_owned());
        places.name("/home/ann/.cache/assay", "/cache".to_owned());
        for (text, clean) in [
            ("mysql@dir:/srv/my builds/8.0", "mysql@dir:/path1"),
            ("mysql@git:../tree#main, my.cnf", "mysql@git:/path2#main, my.cnf"),
            (
                "mysql://me@db.example:3306/test?socket=/run/me/s",
                "mysql://user@server1/test?socket=/path3",
            ),
            ("mysql://me@mysql/test of mysql", "mysql://user@server2/test of mysql"),
            ("no answer of db.example, db.examples", "no answer of server1, db.examples"),
            ("-I/home/ann/x /home/anna x/home/ann /home/ann", "-I/home/x /home/anna x/home /home"),
            ("/home/ann/.cache/assay/instances/1", "/cache/instances/1"),
            ("/srv/other/x, 10.0.0.1", "/srv/other/x, 10.0.0.1"),
        ] {
            assert_eq!(places.text(text), clean);
        }
        let json = r#"{"error":"no `/home/ann/x.cnf`","n":[1,"/home/ann"]}"#;
        let clean = r#"{"error":"no `/home/x.cnf`","n":[1,"/home"]}"#;
        assert_eq!(places.json(json, |_| true).unwrap(), clean);
        assert_eq!(places.json(json, |field| field == "path").unwrap(), json);
        assert_eq!(places.json("{", |_| true), None);
    }

    #[test]
    fn what_servers_quote_is_left_out() {
        for (message, clean) in [
            (
                "error 1064: ... to use near 'library FROM t WHERE email = 'a@b'' at line 1",
                "error 1064: ... to use near '…' at line 1",
            ),
            (
                "invalid input syntax for type integer: \"secret\"",
                "invalid input syntax for type integer: \"…\"",
            ),
            ("it's late", "it's late"),
        ] {
            assert_eq!(without_quotes(message), clean);
        }
    }
}
