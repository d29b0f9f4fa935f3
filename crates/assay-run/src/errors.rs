//! Hints of errors: what a user can do about them.

use std::error::Error as StdError;

use assay_model::Hint;

use crate::{advice, connection, machine_lock, systems};

/// Returns the hints of a cause, if it is an error of one type.
pub type HintsOf = fn(&(dyn StdError + 'static)) -> Vec<String>;

/// [`HintsOf`] for the error type `E`.
pub fn hints_of<E: Hint + StdError + 'static>(cause: &(dyn StdError + 'static)) -> Vec<String> {
    cause.downcast_ref::<E>().map(Hint::hints).unwrap_or_default()
}

/// Every error that implements [`Hint`] in the crates below, and here apart from those of studies.
const ALL: [HintsOf; 13] = [
    hints_of::<advice::HintedError>,
    hints_of::<assay_doctor::DoctorError>,
    hints_of::<assay_ledger::Error>,
    hints_of::<assay_load::LoadError>,
    hints_of::<assay_lua::LuaError>,
    hints_of::<assay_plan::ConfigFault>,
    hints_of::<assay_plan::PlanError>,
    hints_of::<assay_plan::FileError>,
    hints_of::<assay_probe::UsageProbeError>,
    hints_of::<assay_provision::ProvisionError>,
    hints_of::<assay_servers::ServersError>,
    hints_of::<machine_lock::MachineBusy>,
    hints_of::<systems::RefusedOptions>,
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

fn of_connection<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a assay_wire::WireError> {
    match cause.downcast_ref() {
        Some(assay_servers::ServersError::Wire(error)) => Some(error),
        _ => cause.downcast_ref(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_server_that_does_not_answer_has_a_hint() {
        let source = std::io::ErrorKind::ConnectionRefused.into();
        let error = assay_wire::WireError::Connect { address: "127.0.0.1:1".to_owned(), source };
        let error =
            anyhow::Error::from(assay_servers::ServersError::Wire(error)).context("cannot attach");
        let hints = super::hints(&error, &[]);
        assert!(matches!(&hints[..], [one] if one.starts_with("nothing listens")), "{hints:?}");
    }
}
