//! Hints of errors: what a user can do about them.

use std::error::Error as StdError;

use assay_model::Hint;

use crate::{advice, connection, machine_lock, open_files, paths, study, systems};

/// Returns the hints of a cause, if it is an error of one type.
pub type HintsOf = fn(&(dyn StdError + 'static)) -> Vec<String>;

/// [`HintsOf`] for the error type `E`.
pub fn of<E: Hint + StdError + 'static>(cause: &(dyn StdError + 'static)) -> Vec<String> {
    cause.downcast_ref::<E>().map(Hint::hints).unwrap_or_default()
}

/// Every error that implements [`Hint`] in the crates below the commands.
const ALL: [HintsOf; 26] = [
    of::<advice::Advised>,
    of::<assay_doctor::Error>,
    of::<assay_ledger::Error>,
    of::<assay_load::Error>,
    of::<assay_lua::Error>,
    of::<assay_plan::ConfigFault>,
    of::<assay_plan::Error>,
    of::<assay_plan::FileError>,
    of::<assay_probe::Error>,
    of::<assay_profile::Error>,
    of::<assay_provision::Error>,
    of::<assay_servers::Error>,
    of::<study::NoResume>,
    of::<machine_lock::LockError>,
    of::<open_files::TooFewFiles>,
    of::<paths::NoHome>,
    of::<paths::NotMade>,
    of::<paths::Untrusted>,
    of::<paths::Unreadable>,
    of::<paths::WrongPlace>,
    of::<study::Changed>,
    of::<study::Foreign>,
    of::<study::NoRoom>,
    of::<study::OtherMachine>,
    of::<study::StillMeasured>,
    of::<systems::RefusedOptions>,
];

/// The hints of an error and its causes; `more` knows errors of other crates.
pub fn hints(error: &anyhow::Error, more: &[HintsOf]) -> Vec<String> {
    let hints = |cause: &(dyn StdError + 'static)| {
        let connection = of_connection(cause).and_then(connection::connection_hint);
        let known = ALL.iter().chain(more);
        known.flat_map(|hints_of| hints_of(cause)).chain(connection).collect::<Vec<_>>()
    };
    error.chain().flat_map(hints).collect()
}

fn of_connection<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a assay_wire::Error> {
    match cause.downcast_ref() {
        Some(assay_servers::Error::Wire(error)) => Some(error),
        _ => cause.downcast_ref(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_server_that_does_not_answer_has_a_hint() {
        let source = std::io::ErrorKind::ConnectionRefused.into();
        let error = assay_wire::Error::Connect { address: "127.0.0.1:1".to_owned(), source };
        let error = anyhow::Error::from(assay_servers::Error::Wire(error)).context("cannot attach");
        let hints = super::hints(&error, &[]);
        assert!(matches!(&hints[..], [one] if one.starts_with("nothing listens")), "{hints:?}");
    }
}
