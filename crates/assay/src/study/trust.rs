//! What is believed of a ledger when a study goes on. A ledger may come from anyone: what it says is held to what assay
//! would do by itself, and what only its writer can vouch for is refused.

use assay_model::{Hint, Origin, Prefix, StudyRecord, System, SystemSpec};
use assay_plan::check_system;

/// Why a study does not go on as its ledger says.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Distrust {
    /// It names a program, a source tree or a server, and nothing says that the user named it.
    #[error("study `{study}` was not started here by you, and it names {what}: `{system}`")]
    Elsewhere {
        /// The study.
        study: String,
        /// The system.
        system: String,
        /// What it is.
        what: &'static str,
    },
    /// What a server was started with is not what assay makes of its name.
    #[error(
        "`{system}` was measured with {}, where this assay has {}",
        shown(recorded),
        shown(rendered)
    )]
    Options {
        /// The system.
        system: String,
        /// The first option that differs, as the ledger has it.
        recorded: Option<String>,
        /// The same as it is rendered.
        rendered: Option<String>,
    },
    /// Its checksum is that of a server of another family.
    #[error("the binaries of `{system}` are those of {found}")]
    Product {
        /// The system.
        system: String,
        /// What the checksum is of.
        found: String,
    },
}

fn shown(option: &Option<String>) -> String {
    option.as_ref().map_or_else(|| "no such option".to_owned(), |option| format!("`{option}`"))
}

impl Hint for Distrust {
    fn hints(&self) -> Vec<String> {
        vec![match self {
            Self::Elsewhere { study, .. } => format!(
                "if you trust what it names, start a new study: `assay report {study}` says how, under \"again\""
            ),
            Self::Options { .. } => "slices under other options are never mixed: resume it with the assay that began \
                 it, or begin a new study; if no assay sets these options, somebody edited the ledger"
                .to_owned(),
            Self::Product { .. } => "the ledger was edited: begin a new study".to_owned(),
        }]
    }
}

/// Checks what a record says of its systems before anything is done with it; `is_own` where this user's assay began
/// the study with just these systems.
pub(crate) fn check_systems(record: &StudyRecord, is_own: bool) -> anyhow::Result<()> {
    for system in &record.systems {
        let what = match system.spec.origin {
            Origin::Version(_) => {
                check_system(&system.spec)?;
                check_system(&exactly(system))?;
                continue;
            }
            Origin::Dir(_) => "a program of this machine",
            Origin::Git(_) => "a source tree to build",
            Origin::Url(_) => "a server to log in to and to load",
        };
        check_system(&system.spec)?;
        if !is_own {
            let (study, system) = (record.study.id.clone(), system.spec.to_string());
            return Err(Distrust::Elsewhere { study, system, what }.into());
        }
    }
    Ok(())
}

/// The very version that a system was measured in.
pub(crate) fn exactly(system: &System) -> SystemSpec {
    let exact = Origin::Version(system.prefix.version.clone());
    SystemSpec { origin: exact, ..system.spec.clone() }
}

/// Checks that the options of a ledger are those that assay renders for the system and the binaries it has found.
pub(crate) fn check_options(
    system: &System,
    prefix: &Prefix,
    rendered: &[String],
) -> Result<(), Distrust> {
    let name = || system.name.clone();
    if prefix.product != system.spec.product {
        return Err(Distrust::Product { system: name(), found: prefix.product.to_string() });
    }
    let recorded = &system.options;
    let differs =
        (0..recorded.len().max(rendered.len())).find(|&at| recorded.get(at) != rendered.get(at));
    differs.map_or(Ok(()), |at| {
        let of = |options: &[String]| options.get(at).cloned();
        Err(Distrust::Options { system: name(), recorded: of(recorded), rendered: of(rendered) })
    })
}
