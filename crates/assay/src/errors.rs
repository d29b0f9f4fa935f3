//! Prints errors with causes and hints.

use std::error::Error as StdError;

use anstyle::AnsiColor;
use assay_model::{Hint, without_secrets};

use crate::progress::{print, print_marked};
use crate::{
    advice, base, cache, charts, connection, feeds, form, machine_lock, open_files, paths, report,
    stacks, study, systems,
};

type Asked = fn(&(dyn StdError + 'static)) -> Vec<String>;

fn of<E: Hint + StdError + 'static>(cause: &(dyn StdError + 'static)) -> Vec<String> {
    cause.downcast_ref::<E>().map(Hint::hints).unwrap_or_default()
}

/// Every error that implements [`Hint`]. The test below fails if one is missing.
const ALL: [Asked; 36] = [
    of::<advice::Advised>,
    of::<assay_doctor::Error>,
    of::<assay_ledger::Error>,
    of::<assay_load::Error>,
    of::<assay_lua::Error>,
    of::<assay_pack::Error>,
    of::<assay_plan::ConfigFault>,
    of::<assay_plan::Error>,
    of::<assay_plan::FileError>,
    of::<assay_probe::Error>,
    of::<assay_profile::Error>,
    of::<assay_provision::Error>,
    of::<assay_repro::Refused>,
    of::<assay_servers::Error>,
    of::<cache::StillRunning>,
    of::<study::NoResume>,
    of::<machine_lock::LockError>,
    of::<open_files::TooFewFiles>,
    of::<paths::NoHome>,
    of::<paths::NotMade>,
    of::<paths::Untrusted>,
    of::<paths::Unreadable>,
    of::<paths::WrongPlace>,
    of::<base::NoBase>,
    of::<charts::NoCharts>,
    of::<stacks::NoStacks>,
    of::<feeds::NoFeed>,
    of::<form::NoFormat>,
    of::<report::NoPlace>,
    of::<report::NotWritten>,
    of::<study::Changed>,
    of::<study::Foreign>,
    of::<study::NoRoom>,
    of::<study::OtherMachine>,
    of::<study::StillMeasured>,
    of::<systems::RefusedOptions>,
];

pub(crate) fn hints(error: &anyhow::Error) -> Vec<String> {
    let hints = |cause: &(dyn StdError + 'static)| {
        let connection = of_connection(cause).and_then(connection::connection_hint);
        ALL.iter().flat_map(|hints_of| hints_of(cause)).chain(connection).collect::<Vec<_>>()
    };
    error.chain().flat_map(hints).collect()
}

fn of_connection<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a assay_wire::Error> {
    match cause.downcast_ref() {
        Some(assay_servers::Error::Wire(error)) => Some(error),
        _ => cause.downcast_ref(),
    }
}

pub(crate) fn print_error(error: &anyhow::Error) {
    // Mistyped words and messages of programs may contain a password.
    let mut shown = without_secrets(&error.to_string());
    print_marked("error", AnsiColor::Red, &shown);
    for cause in error.chain().skip(1) {
        let text = without_secrets(&cause.to_string());
        // Some errors include their source in their own text.
        if !shown.contains(&text) {
            print(&format!("  caused by: {text}"));
        }
        shown = text;
    }
    let hints = hints(error);
    if !hints.is_empty() {
        print("");
    }
    for hint in hints {
        print_marked("hint", AnsiColor::Cyan, &without_secrets(&hint));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn a_server_that_does_not_answer_has_a_hint() {
        let source = std::io::ErrorKind::ConnectionRefused.into();
        let error = assay_wire::Error::Connect { address: "127.0.0.1:1".to_owned(), source };
        let error = anyhow::Error::from(assay_servers::Error::Wire(error)).context("cannot attach");
        let hints = super::hints(&error);
        assert!(matches!(&hints[..], [one] if one.starts_with("nothing listens")), "{hints:?}");
    }

    /// Crate and type of every `impl Hint for TYPE` below `folder`.
    fn implemented(folder: &Path, of_crate: &str, found: &mut BTreeSet<String>) {
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                implemented(&path, of_crate, found);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs_err::read_to_string(&path).unwrap();
                let types = text.lines().filter_map(|line| line.strip_prefix("impl Hint for "));
                found.extend(types.map(|it| format!("{of_crate} {}", it.trim_end_matches(" {"))));
            }
        }
    }

    #[test]
    fn no_error_with_hints_is_forgotten() {
        let mut found = BTreeSet::new();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for entry in fs_err::read_dir(crates).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().replace('-', "_");
            if path.join("src").is_dir() {
                implemented(&path.join("src"), &name, &mut found);
            }
        }
        let asked = include_str!("errors.rs").lines().filter_map(|line| {
            let (module, name) =
                line.strip_prefix("    of::<")?.strip_suffix(">,")?.split_once("::")?;
            let of_crate = if module.starts_with("assay_") { module } else { "assay" };
            Some(format!("{of_crate} {name}"))
        });
        assert_eq!(asked.collect::<BTreeSet<_>>(), found);
    }
}
