//! `assay verify`: recomputes everything in a pack or ledger, and compares it with the recorded content.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_ledger::{Ledger, Problem};
use assay_model::{Conclusions, StudyRecord, counted, printable, shortened};
use assay_pack::{LEDGER, Pack};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::pack::{REPORTS, reports};
use assay_command::args::ShapeArg;
use assay_command::exit::Exit;
use assay_command::ledger_files::{is_pack, read};
use assay_command::number::parse_digest;
use assay_command::report;
use assay_command::verb::{Arguments, CommandGroup};
use assay_run::advice::HintedError;
use assay_run::study_records;

#[derive(Debug, Serialize)]
pub(super) struct Verification {
    schema: u32,
    kind: &'static str,
    digest: Option<String>,
    written_by: Option<String>,
    verified_by: &'static str,
    members: usize,
    studies: Vec<VerifiedStudy>,
    pub(super) verified: bool,
    pub(super) differences: Vec<VerifyDifference>,
    #[serde(skip)]
    is_altered: bool,
}

#[derive(Debug, Default, Serialize)]
struct VerifiedStudy {
    study: String,
    cells: usize,
    systems: usize,
    slices: usize,
    /// Version of assay that computed the recorded verdicts; null if none are recorded.
    judged_by: Option<String>,
    verdicts: usize,
    reports: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct VerifyDifference {
    pub(super) member: String,
    pub(super) place: String,
    recorded: String,
    computed: String,
}

/// `assay verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A pack, or a ledger
    pub file: PathBuf,

    /// The digest that the author of a pack published, to compare it
    #[arg(long, value_name = "SHA256", value_parser = parse_digest)]
    pub digest: Option<String>,

    #[command(flatten)]
    pub shape: ShapeArg,
}

impl Arguments for VerifyArgs {
    const NAME: &'static str = "verify";
    const ABOUT: &'static str =
        "Compute every verdict of a pack or ledger again, and compare it with the record";
    const GROUP: CommandGroup = CommandGroup::Share;
    const EXITS: &'static [(Exit, &'static str)] = &[(Exit::Incomplete, "found a difference")];

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        let verified = match is_pack(&self.file) {
            true => {
                let pack = read(&self.file)?;
                of_this_version(&pack)
                    .with_context(|| format!("cannot verify `{}`", self.file.display()))?;
                of_pack(&pack, self.digest.as_deref())
            }
            false if self.digest.is_some() => bail!(HintedError::new(
                format!("`{}` is not a pack, and only packs have a digest", self.file.display()),
                "leave `--digest` out"
            )),
            false => of_ledger(&Ledger::open_read_only(&self.file)?)?,
        };
        let name = self.file.display().to_string();
        report::put_one(&self.shape, &verified, |it| it.text(&name))?;
        Ok(if verified.verified { Exit::Done } else { Exit::Incomplete })
    }
}

/// Refuses a pack whose ledger an older or newer assay made: it is neither damaged nor altered.
pub(super) fn of_this_version(pack: &Pack) -> Result<(), assay_ledger::Error> {
    match Ledger::of_bytes(pack.member(LEDGER), Path::new(LEDGER)) {
        Err(error) if matches!(error.problem, Problem::Older | Problem::Newer { .. }) => Err(error),
        _ => Ok(()),
    }
}

/// `published` is the author's published digest, if known.
pub(super) fn of_pack(pack: &Pack, published: Option<&str>) -> Verification {
    let mut verified = Verification {
        digest: Some(pack.digest.clone()),
        written_by: Some(pack.manifest.assay.clone()),
        members: pack.manifest.members.len(),
        ..Verification::new("pack")
    };
    if let Some(published) = published.filter(|it| !it.eq_ignore_ascii_case(&pack.digest)) {
        verified.is_not("manifest.json", "digest", published, &pack.digest);
    }
    for name in pack.altered() {
        let listed = pack.manifest.members.iter().find(|it| it.name == name);
        let found = assay_pack::PackMember::new(name, pack.member(name)).sha256;
        verified.is_not(name, "SHA-256", listed.map_or("", |it| &it.sha256), &found);
    }
    let opened = Ledger::of_bytes(pack.member(LEDGER), Path::new(LEDGER));
    let checked = opened.map_err(anyhow::Error::from).and_then(|ledger| {
        let ids: Vec<String> = ledger.studies()?.into_iter().map(|it| it.id).collect();
        if ids != [pack.manifest.study.as_str()] {
            let computed = ids.join(", ");
            verified.is_not(LEDGER, "its only study", &pack.manifest.study, &computed);
        }
        for id in ids {
            let record = verified.study(&ledger, LEDGER, &id)?;
            if id == pack.manifest.study {
                verified.reports(pack, &record);
                if !ledger.holds_only(&ledger.rows(&id)?)? {
                    verified.is_not(LEDGER, "rows", "of the study only", "others too");
                }
            }
        }
        Ok(())
    });
    if let Err(error) = checked {
        verified.is_not(LEDGER, "a sound ledger", "yes", &format!("{error:#}"));
    }
    verified.sealed()
}

fn of_ledger(ledger: &Ledger) -> Result<Verification> {
    let mut verified = Verification::new("ledger");
    for study in ledger.studies()? {
        verified.study(ledger, "ledger", &study.id)?;
    }
    Ok(verified.sealed())
}

impl Verification {
    fn new(kind: &'static str) -> Self {
        Self {
            schema: 1,
            kind,
            digest: None,
            written_by: None,
            verified_by: env!("CARGO_PKG_VERSION"),
            members: 0,
            studies: Vec::new(),
            verified: false,
            differences: Vec::new(),
            is_altered: false,
        }
    }

    fn sealed(self) -> Self {
        Self { verified: self.differences.is_empty(), ..self }
    }

    fn differs(&mut self, member: &str, place: &str, recorded: &str, computed: &str) {
        let [member, place, recorded, computed] =
            [member, place, recorded, computed].map(str::to_owned);
        self.differences.push(VerifyDifference { member, place, recorded, computed });
    }

    /// Notes a difference that proves an alteration, whichever assay wrote the file.
    fn is_not(&mut self, member: &str, place: &str, recorded: &str, computed: &str) {
        self.is_altered = true;
        self.differs(member, place, recorded, computed);
    }

    fn study(&mut self, ledger: &Ledger, member: &str, id: &str) -> Result<StudyRecord> {
        // Reading rows checks every value.
        ledger.rows(id)?;
        let record = study_records::read(ledger, id)?;
        let concluded = ledger.conclusions(id)?;
        self.studies.push(VerifiedStudy {
            study: id.to_owned(),
            cells: record.study.cells.len(),
            systems: record.systems.len(),
            slices: record.slices.len(),
            judged_by: concluded.as_ref().map(|it| it.judged_by.clone()),
            verdicts: concluded.as_ref().map_or(0, |it| it.cells.len()),
            reports: 0,
        });
        match concluded {
            Some(recorded) => self.verdicts(member, &record, &recorded),
            // Verdicts may have been removed so that nothing contradicts others.
            None if record.finished => {
                let place = format!("study {id}, verdicts");
                self.is_not(member, &place, "nothing", "those of a finished study");
            }
            None => {}
        }
        Ok(record)
    }

    fn verdicts(&mut self, member: &str, record: &StudyRecord, recorded: &Conclusions) {
        let study = &record.study;
        let computed = assay_verdict::judge(record).conclusions();
        for now in &computed {
            let (cell, system) = (study.cells[now.cell].id, &record.systems[now.system].name);
            let place = format!("study {}, {} at {}, {system}", study.id, cell.test, cell.setup);
            let mut same =
                recorded.cells.iter().filter(|it| (it.cell, it.system) == (now.cell, now.system));
            match same.next() {
                None => self.is_not(member, &place, "no verdict", now.verdict.word()),
                Some(then) => {
                    for field in then.differences(now) {
                        let (then, now) = (field_of(then, field), field_of(now, field));
                        self.differs(member, &format!("{place}, {field}"), &then, &now);
                    }
                }
            }
        }
        if recorded.cells.len() > computed.len() {
            let (then, now) = (recorded.cells.len(), computed.len());
            let place = format!("study {}, number of verdicts", study.id);
            self.is_not(member, &place, &then.to_string(), &now.to_string());
        }
    }

    fn reports(&mut self, pack: &Pack, record: &StudyRecord) {
        for ((name, _), computed) in REPORTS.iter().zip(reports(record)) {
            if let Some(study) = self.studies.last_mut() {
                study.reports += 1;
            }
            let recorded = pack.member(name);
            if recorded == computed {
                continue;
            }
            // Anyone may have made the recorded report, so it is read only if it is about as long.
            if recorded.len() / LONGER > computed.len() {
                let sizes = [recorded, &computed].map(|it| counted(it.len() as u64, "byte"));
                self.differs(name, "length", &sizes[0], &sizes[1]);
                continue;
            }
            let documents = [recorded, &computed].map(serde_json::from_slice::<Value>);
            let [Ok(one), Ok(other)] = documents else {
                self.line(name, recorded, &computed);
                continue;
            };
            let before = self.differences.len();
            compare(Some(&one), Some(&other), &JsonPlace::default(), &mut |place, one, other| {
                self.differs(name, place, one, other);
            });
            if self.differences.len() == before {
                self.line(name, recorded, &computed);
            }
        }
    }

    fn line(&mut self, name: &str, recorded: &[u8], computed: &[u8]) {
        let (line, recorded, computed) = first_difference(recorded, computed);
        self.differs(name, &format!("line {line}"), &recorded, &computed);
    }

    fn compared(&self) -> usize {
        let of_studies: usize = self.studies.iter().map(|it| it.verdicts).sum();
        self.members + of_studies
    }

    fn text(&self, file: &str) -> String {
        let mut lines = Vec::new();
        match &self.digest {
            Some(digest) => {
                let by = self.written_by.as_deref().unwrap_or_default();
                lines.push(format!("`{file}` is a pack that assay {by} wrote"));
                lines.push(format!("digest: {digest}"));
                lines.push(format!("members: {} compared with the manifest", self.members));
            }
            None => lines.push(format!("`{file}` is a ledger")),
        }
        lines.extend(self.studies.iter().map(VerifiedStudy::text));
        for it in self.differences.iter().take(SHOWN) {
            let VerifyDifference { member, place, recorded, computed } = it;
            lines.push(format!(
                "differs: {member}: {place}: recorded {recorded}, computed {computed}"
            ));
        }
        if let Some(more @ 1..) = self.differences.len().checked_sub(SHOWN) {
            lines.push(format!("... and {}", counted(more as u64, "more difference")));
        }
        let others = self.studies.iter().filter_map(|it| it.judged_by.as_ref());
        let other = others.chain(&self.written_by).find(|it| *it != self.verified_by);
        match other.filter(|_| !self.verified && !self.is_altered) {
            Some(other) => lines.push(format!(
                "not verified: the file was altered, or this assay has other statistics or wording: the file says that \
                 assay {other} computed it, and this is assay {}. An altered file can say so too: verify it with \
                 assay {other} before you believe it",
                self.verified_by
            )),
            None if self.verified && self.compared() == 0 => lines.push(
                "readable: every value is within its bounds, and nothing is recorded to compare".to_owned(),
            ),
            None if self.verified => lines.push("verified: everything is as recorded".to_owned()),
            None => lines.push("not verified: the file is damaged or was altered".to_owned()),
        }
        lines.join("\n")
    }
}

impl VerifiedStudy {
    fn text(&self) -> String {
        let Self { study, cells, systems, slices, judged_by, verdicts, reports } = self;
        let count = |number: &usize, what| counted(*number as u64, what);
        let mut text = format!(
            "study {study}: {} of {}, {}",
            count(cells, "cell"),
            count(systems, "system"),
            count(slices, "slice")
        );
        text += &match judged_by {
            Some(by) => format!("; {} of assay {by} computed again", count(verdicts, "verdict")),
            None => "; no verdicts are recorded in the ledger".to_owned(),
        };
        if *reports > 0 {
            text += &format!("; {} rendered again", count(reports, "report"));
        }
        text
    }
}

const SHOWN: usize = 20;

/// Maximum ratio of lengths at which a recorded report is compared with the computed one field by field.
const LONGER: usize = 4;

/// Characters.
const LINE: usize = 100;

/// Bytes shown before the first difference.
const BEFORE: usize = 60;

fn first_difference(one: &[u8], other: &[u8]) -> (usize, String, String) {
    let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let before = one.get(..at).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let begins = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |it| it + 1);
    let begins = begins.max(at.saturating_sub(BEFORE));
    let shown = |text: &[u8]| match text.get(at..) {
        None | Some([]) => "nothing more".to_owned(),
        Some(_) => short(text.get(begins..).unwrap_or_default()),
    };
    (line, shown(one), shown(other))
}

fn short(text: &[u8]) -> String {
    // No character has more than four bytes.
    let text = text.get(..LINE * 4).unwrap_or(text);
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let text: String = printable(&line).chars().take(LINE).collect();
    format!("`{}`", text.trim_end())
}

fn field_of(conclusion: &assay_model::Conclusion, field: &str) -> String {
    let estimate = match field {
        "verdict" => return conclusion.verdict.word().to_owned(),
        "cpu_verdict" => {
            return conclusion.cpu_verdict.map_or("nothing", assay_model::Verdict::word).to_owned();
        }
        "qps" => conclusion.qps,
        "rqps" => conclusion.rqps,
        _ => conclusion.cpu_ratio,
    };
    match estimate {
        Some(it) if it.has_interval() => format!("{} ({} to {})", it.value, it.low, it.high),
        Some(it) => it.value.to_string(),
        None => "nothing".to_owned(),
    }
}

/// A place in a document, such as `cells[3].rqps.value (point-query, mariadb@11.8)`.
#[derive(Clone, Default)]
struct JsonPlace {
    path: String,
    item: String,
}

impl JsonPlace {
    fn field(&self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self { path: format!("{}{dot}{name}", self.path), item: self.item.clone() }
    }

    fn item(&self, number: usize, item: &Value) -> Self {
        let names = ["test", "group", "setting", "clients", "system"];
        let name = |name: &&str| match item.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(clients) => Some(format!("{clients} clients")),
            _ => None,
        };
        let names: Vec<String> = names.iter().filter_map(name).collect();
        let item = if names.is_empty() { self.item.clone() } else { names.join(", ") };
        Self { path: format!("{}[{number}]", self.path), item }
    }

    fn text(&self) -> String {
        let Self { path, item } = self;
        if item.is_empty() { path.clone() } else { format!("{path} ({item})") }
    }
}

/// Calls `differs` with the place, the recorded and the computed value of each difference.
fn compare(
    recorded: Option<&Value>,
    computed: Option<&Value>,
    place: &JsonPlace,
    differs: &mut dyn FnMut(&str, &str, &str),
) {
    match (recorded, computed) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let added = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(added) {
                compare(one.get(key), other.get(key), &place.field(key), differs);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for at in 0..one.len().max(other.len()) {
                let (one, other) = (one.get(at), other.get(at));
                let place = place.item(at, one.or(other).expect("the longer list has the item"));
                compare(one, other, &place, differs);
            }
        }
        _ if recorded == computed => {}
        _ => differs(&place.text(), &shown(recorded), &shown(computed)),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or("nothing".to_owned(), |value| shortened(&value.to_string()).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_named_by_cell_and_system() {
        let document = |rqps: Value, more: Value| {
            json!({"study": {"id": "a"}, "cells": [
                {"test": "scan", "clients": 4, "system": "b", "rqps": {"value": rqps}}, more,
            ]})
        };
        let message = |one: &Value, other: &Value| {
            let mut found = Vec::new();
            compare(Some(one), Some(other), &JsonPlace::default(), &mut |place, one, other| {
                found.push(format!("{place}: {one} {other}"));
            });
            found
        };
        let recorded = document(json!(1.5), Value::Null);
        assert_eq!(message(&recorded, &recorded), Vec::<String>::new());
        let computed = document(json!(1.25), json!({"test": "x", "why": null}));
        assert_eq!(
            message(&recorded, &computed),
            [
                "cells[0].rqps.value (scan, 4 clients, b): 1.5 1.25",
                r#"cells[1]: null {"test":"x","why":null}"#
            ]
        );
        let missing = json!({"study": {}, "cells": recorded["cells"][0]});
        assert_eq!(
            message(&json!({"study": {"id": 1}, "cells": []}), &json!({"study": {}, "cells": [2]})),
            ["cells[0]: nothing 2", "study.id: 1 nothing"]
        );
        assert_eq!(message(&recorded, &missing).len(), 2);
    }
}
