//! From a request to the command that asks for the same.

use assay_model::{IdKey, Preset, StatementMode, TestSet};

use crate::quantity::{duration_text, percent_text};
use crate::request::{SEED, THRESHOLD};
use crate::{Request, SystemRequest};

/// The command that asks for the same; none for named systems and several data sets.
pub(super) fn command(request: &Request) -> Option<String> {
    let [setup] = request.setups.as_slice() else { return None };
    let is_plain = |system: &SystemRequest| {
        system.name.is_none() && system.options.is_empty() && system.config.is_none()
    };
    // On the command line a comma separates patterns.
    let has_comma = request.tests.iter().any(|glob| glob.contains(','));
    if has_comma || !request.systems.iter().all(is_plain) {
        return None;
    }
    let mut words = vec!["assay compare".to_owned()];
    words.extend(request.systems.iter().map(|system| shell_quoted(&system.words)));
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name} {value}")));
    };
    let seconds = |seconds: Option<f64>| seconds.map(|it| shell_quoted(&duration_text(it)));
    let joined = |items: &[String]| items.join(",");
    let is_quick = request.preset == Preset::Quick;
    option("source", request.source.as_deref().map(shell_quoted));
    option("preset", (!is_quick).then(|| request.preset.word().to_owned()));
    let is_32 = request.set == TestSet::Set32;
    option("set", (!is_32).then(|| request.set.len().to_string()));
    let tests = shell_quoted(&joined(&request.tests));
    option("tests", (!request.tests.is_empty()).then_some(tests));
    let clients = setup.clients.as_ref();
    option("clients", clients.map(|it| joined(&it.iter().map(u32::to_string).collect::<Vec<_>>())));
    option("tables", setup.tables.map(|it| it.to_string()));
    option("rows", setup.rows.map(|it| it.to_string()));
    option("budget", seconds(request.budget_s));
    let threshold = request.threshold.filter(|it| *it != THRESHOLD);
    option("threshold", threshold.map(percent_text));
    option("placement", request.placement.map(|it| it.word().to_owned()));
    option("seed", (request.seed != SEED).then(|| request.seed.to_string()));
    option("slice", seconds(request.slice_s));
    option("write-slice", seconds(request.write_slice_s));
    option("blocks", request.blocks.map(|it| it.to_string()));
    option("rounds", request.rounds.map(|it| it.to_string()));
    let is_text = request.statements == StatementMode::Text;
    option("db-ps-mode", is_text.then(|| "disable".to_owned()));
    let switches = [
        ("--secondary", request.id_key == IdKey::Secondary),
        ("--twin", request.twin == Some(true)),
        ("--no-twin", request.twin == Some(false)),
    ];
    words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(word, _)| word.to_owned()));
    Some(words.join(" "))
}

/// A word as a POSIX shell takes it: as it is where nothing in it has a meaning, else in single quotes.
///
/// The crate `shlex` would quote `=`, `,` and `%` too, which most commands have.
#[must_use]
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
