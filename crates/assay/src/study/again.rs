//! The systems of a study that is resumed.

use anyhow::Result;
use assay_model::{Artifact, Origin, StudyRecord, System};
use assay_plan::parse_url;

use super::trust::{self, Distrust};
use crate::open_files::Demand;
use crate::systems::{
    Environment, Participant, attach, fetch_one, most_clients, provisioner, refuse_the_same_twice,
    sizes, terms_of,
};

/// Gets the very binaries that an interrupted study was begun with, and renders their configuration again: it must be
/// what the ledger has. What it names must have passed [`trust::check_named`].
pub(super) fn get_again(record: &StudyRecord, env: &Environment) -> Result<Vec<Participant>> {
    let is_started = |system: &System| !matches!(system.spec.origin, Origin::Url(_));
    let starts_any = record.systems.iter().any(is_started);
    Demand::of_study(most_clients(&record.study), record.systems.len(), starts_any).raise()?;
    let provisioner = provisioner(env)?;
    let (terms, sizes) = (terms_of(&record.study)?, sizes(&record.study, record.host().cpus));
    let mut participants = Vec::with_capacity(record.systems.len());
    for system in &record.systems {
        env.interrupt.check()?;
        if let Origin::Url(url) = &system.spec.origin {
            let participant =
                attach(&parse_url(url)?, &system.name, &system.spec, system.is_base, env)?;
            let (found, was) = (participant.system.artifact.version(), system.artifact.version());
            if found != was {
                let was = format!("version {was} and is now {found}");
                return Err(Distrust::Replaced { system: system.name.clone(), was }.into());
            }
            participants.push(participant);
            continue;
        }
        let measured = trust::binaries(system)?;
        let wanted = &measured.sha256;
        let cached = provisioner.cached()?.into_iter().find(|prefix| prefix.sha256 == *wanted);
        let prefix = match cached {
            Some(prefix) => prefix,
            None => {
                let spec = match system.spec.origin {
                    Origin::Version(_) => trust::exactly(system, measured),
                    _ => system.spec.clone(),
                };
                // No other build has the same checksum.
                let from = assay_provision::maker(&measured.build);
                fetch_one(&provisioner, &system.name, &spec, Some(from), env)?
            }
        };
        if prefix.sha256 != *wanted {
            let was = format!(
                "a build of {} that is no longer available: it has been replaced by another build ({} {})",
                measured.version, prefix.build.source, prefix.build.package_version,
            );
            return Err(Distrust::Replaced { system: system.name.clone(), was }.into());
        }
        let _hold = Some(provisioner.hold(&prefix)?);
        let spec = &system.spec;
        let options = terms.render(&sizes, &prefix, spec.engine, &spec.overrides).options;
        trust::check_options(system, &prefix, &options)?;
        let artifact = Artifact::Prefix(prefix);
        let system = System { artifact, options, ..system.clone() };
        participants.push(Participant { system, left_out: Vec::new(), attached: None, _hold });
    }
    refuse_the_same_twice(&participants)?;
    Ok(participants)
}
