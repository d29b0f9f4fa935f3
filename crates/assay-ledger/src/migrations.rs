//! The versions of the schema, and the scripts that lead from one to the next.

use rusqlite::Connection;

use crate::Problem;

/// One script per schema version; version N is reached by running the first N.
const MIGRATIONS: [&str; 13] = [
    include_str!("../migrations/0001_ledger.sql"),
    include_str!("../migrations/0002_resume.sql"),
    include_str!("../migrations/0003_once.sql"),
    include_str!("../migrations/0004_evidence.sql"),
    include_str!("../migrations/0005_turns.sql"),
    include_str!("../migrations/0006_steps.sql"),
    include_str!("../migrations/0007_form.sql"),
    include_str!("../migrations/0008_published.sql"),
    include_str!("../migrations/0009_terms.sql"),
    include_str!("../migrations/0010_names.sql"),
    include_str!("../migrations/0011_verdicts.sql"),
    include_str!("../migrations/0012_status.sql"),
    include_str!("../migrations/0013_profiles.sql"),
];

/// The newest schema version.
pub(crate) const KNOWN_VERSION: u32 = MIGRATIONS.len() as u32;

/// Brings a schema from one version to another.
pub(crate) fn run_scripts(connection: &Connection, from: u32, to: u32) -> Result<(), Problem> {
    for script in MIGRATIONS.iter().take(to as usize).skip(from as usize) {
        connection.execute_batch(script)?;
    }
    Ok(())
}
