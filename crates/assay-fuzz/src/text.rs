//! Texts from users, package clients and indexes.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use assay_claim_check::{check_claims, read_claims};
use assay_model::{Dialect, Product, Setup, StatementMode, Test, TestSet};
use assay_plan::{SystemRequest, UserFile};
use assay_provision::fuzzing;
use assay_setting_files::{NamedServer, read_settings};
use assay_workloads::{EventBuf, EventProgram, Operation, ProgramClient};

pub(crate) fn system_name(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(spec) = assay_plan::parse_system(text) else { return };
    let shown = spec.to_string();
    let again = assay_plan::parse_system(&shown);
    assert_eq!(again.ok().as_ref(), Some(&spec), "`{text}` is shown as `{shown}`");
}

pub(crate) fn tests_glob(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let globs: Vec<_> = text.split(',').map(str::to_owned).collect();
    for set in [TestSet::Set27, TestSet::Set32, TestSet::Set42, TestSet::Set47] {
        if let Ok(tests) = assay_plan::select_tests(set, &globs) {
            assert!(!tests.is_empty(), "no error and no test");
        }
    }
}

pub(crate) fn quantity(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(seconds) = assay_plan::parse_duration_s(text) {
        assert!(seconds.is_finite() && seconds >= 0.0, "{seconds} s");
    }
    if let Ok(share) = assay_plan::parse_percent(text) {
        assert!(share.is_finite(), "{share}");
    }
    let _ = assay_plan::parse_count(text);
    if let Ok(clients) = assay_plan::parse_clients(text) {
        assert!((1..=4096).contains(&clients.len()), "{} counts", clients.len());
    }
}

pub(crate) fn packages(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let root = text.lines().find_map(|line| line.strip_prefix("Package: ")).unwrap_or_default();
    if let Ok(count) = fuzzing::packages(text, root) {
        assert!(count <= text.lines().count(), "{count} packages");
    }
}

/// Compares three versions, one per line.
pub(crate) fn version(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (a, b, c) = (next(), next(), next());
    assert_eq!(fuzzing::compare(a, a), Ordering::Equal);
    assert_eq!(fuzzing::compare(a, b), fuzzing::compare(b, a).reverse());
    if fuzzing::compare(a, b).is_le() && fuzzing::compare(b, c).is_le() {
        assert!(fuzzing::compare(a, c).is_le(), "the order is not transitive");
    }
}

pub(crate) fn catalog(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    fuzzing::catalog(text);
}

/// The version of a source tree becomes part of directory names.
pub(crate) fn source(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(version) = fuzzing::source(text) {
        assert!(!version.contains('/') && !version.starts_with('.'), "{version}");
    }
}

pub(crate) fn sources(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    assert!(fuzzing::sources(text) <= 2 * text.lines().count());
}

/// Study files: a file that can be read is written and read again as the same. A mistake has a position in the file.
pub(crate) fn study_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match assay_plan::read_study("study.toml", text) {
        Ok(request) => {
            let written = assay_plan::write_study(&request);
            let again = assay_plan::read_study("again.toml", &written);
            assert_eq!(again.expect("what was written is read"), request, "{written}");
        }
        Err(error) => assert!(error.to_string().contains("study.toml"), "{error}"),
    }
}

/// Each line has at most one option, and every option can be passed to a server.
pub(crate) fn config_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for name in ["mariadb@10.11", "postgres@16"] {
        let spec = assay_plan::parse_system(name).expect("a system");
        let Ok(lines) = assay_plan::config_lines(&spec, text) else { continue };
        assert!(lines.len() <= text.lines().count());
        for (name, value) in SystemRequest::parse(name).started_from(&lines).options {
            assert!(name.starts_with(|c: char| c.is_ascii_alphabetic()), "{name}");
            assert!(!value.contains('\n') && !value.contains('\0'), "{value}");
        }
    }
}

/// A file of settings gives the same each time, within a small multiple of its size.
pub(crate) fn setting_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let named = |product| NamedServer { product, version: Some("8.0.40".to_owned()) };
    for server in Product::ALL.map(|product| Some(named(product))).iter().chain([&None]) {
        let found = read_settings(&text, server.as_ref());
        assert_eq!(found, read_settings(&text, server.as_ref()));
        let Ok(file) = found else { continue };
        let sizes = file.settings.iter().map(|(name, value)| name.len() + value.len());
        let size: usize = sizes.chain(file.notes.iter().map(String::len)).sum();
        assert!(size <= 100 * text.len() + 1000, "{size} bytes of {}", text.len());
    }
}

/// A valid URL is shown without its password and can be parsed again.
pub(crate) fn url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(url) = assay_plan::parse_url(text) {
        let shown = url.to_string();
        let again = assay_plan::ServerUrl { password: None, ..url };
        assert_eq!(assay_plan::parse_url(&shown), Ok(again), "`{text}` is shown as `{shown}`");
    }
}

/// Parses a file of claims, and checks them against a published table.
pub(crate) fn claim_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut file = match read_claims("claims.toml", text) {
        Ok(file) => file,
        Err(error) => return assert!(error.to_string().contains("claims.toml"), "{error}"),
    };
    let Some(record) = crate::published_results::small() else { return };
    file.claims.truncate(16);
    file.claims.iter_mut().for_each(|claim| claim.parts.truncate(4));
    let named = |system: &assay_model::System| (system.name.clone(), system.name.clone());
    let own: BTreeMap<String, String> = record.systems.iter().map(named).collect();
    for counterparts in [BTreeMap::new(), own] {
        let claims = check_claims(&file.claims, std::slice::from_ref(&record), &counterparts);
        for part in claims.iter().flat_map(|claim| &claim.parts) {
            assert!(part.scope.len() <= 16 * text.len() + 100, "{}", part.scope);
            let counts: u32 = part.checked.counts.iter().sum();
            assert!(counts as usize <= part.checked.figures.len());
        }
    }
}

/// Workload files and pgbench scripts: those that can be read give statements and events. A mistake has a place in the
/// file.
pub(crate) fn workload_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let file = |path: &str| {
        let content = bytes.to_vec();
        Ok(UserFile { path: path.to_owned(), sha256: String::new(), content, bytes: 0 })
    };
    for name in ["work.toml", "work.pgbench"] {
        match assay_plan::read_workload(name, text, &file) {
            Ok(workload) => workload.tests.into_iter().take(4).for_each(write_events),
            Err(error) => assert!(error.to_string().contains(name), "{error}"),
        }
    }
}

/// Writes some events of a test for both kinds of products.
fn write_events(test: Test) {
    let mut kinds = test.roles.iter().flat_map(|role| &role.script.mix);
    if kinds.any(|kind| kind.statements() > 1000 || kind.most_bytes() > 1 << 20) {
        return;
    }
    let setup = Setup { clients: 1, tables: 1, rows: 1000 };
    for dialect in Dialect::ALL {
        let program = Arc::new(EventProgram::new(dialect, test, setup, StatementMode::Prepared));
        let (client, mut event) =
            (ProgramClient::new(Arc::clone(&program), 1, 0), EventBuf::default());
        for sequence in 0..3 {
            client.write_event(sequence, 0, &mut event);
            for operation in event.operations() {
                let Operation::Execute { statement, arguments } = operation else { continue };
                let statement = &program.statements()[statement];
                assert_eq!(arguments.len(), statement.params.len(), "{statement:?}");
                statement.push_text(dialect.has_escapes(), arguments, &[], &mut Vec::new());
            }
        }
    }
}
