//! The systems of a resumed study.

use anyhow::Result;
use assay_model::{Artifact, Hint, Origin, StudyRecord, System};
use assay_plan::parse_url;

use crate::open_files::Demand;
use crate::systems::{
    Environment, Participant, attach, fetch_one, most_clients, provisioner, refuse_the_same_twice,
    sizes, terms_of,
};

#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct OtherSystem {
    what: String,
    hint: &'static str,
}

impl OtherSystem {
    fn replaced(system: &System, was: &str) -> Self {
        Self {
            what: format!("`{}` was measured with {was}", system.name),
            hint: "start a new study with the current version",
        }
    }
}

impl Hint for OtherSystem {
    fn hints(&self) -> Vec<String> {
        vec![self.hint.to_owned()]
    }
}

/// Fetches the very binaries of an interrupted study, and renders their configuration again: it must equal that in the
/// ledger.
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
                return Err(OtherSystem::replaced(system, &was).into());
            }
            participants.push(participant);
            continue;
        }
        let Some(measured) = system.artifact.prefix() else { continue };
        let wanted = &measured.sha256;
        let cached = provisioner.cached()?.into_iter().find(|prefix| prefix.sha256 == *wanted);
        let prefix = match cached {
            Some(prefix) => prefix,
            None => {
                let mut spec = system.spec.clone();
                if let Origin::Version(version) = &mut spec.origin {
                    version.clone_from(&measured.version);
                }
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
            return Err(OtherSystem::replaced(system, &was).into());
        }
        let _hold = Some(provisioner.hold(&prefix)?);
        let spec = &system.spec;
        let options = terms.render(&sizes, &prefix, spec.engine, &spec.overrides).options;
        check_options(system, &options)?;
        let artifact = Artifact::Prefix(prefix);
        let system = System { artifact, options, ..system.clone() };
        let (left_out, attached, schema) = (Vec::new(), None, None);
        participants.push(Participant { system, left_out, attached, schema, _hold });
    }
    refuse_the_same_twice(&participants)?;
    Ok(participants)
}

fn check_options(system: &System, rendered: &[String]) -> Result<(), OtherSystem> {
    let recorded = &system.options;
    let differs =
        (0..recorded.len().max(rendered.len())).find(|&at| recorded.get(at) != rendered.get(at));
    let Some(at) = differs else { return Ok(()) };
    let [recorded, rendered] = [recorded.as_slice(), rendered].map(|options| {
        options.get(at).map_or("no such option".to_owned(), |option| format!("`{option}`"))
    });
    Err(OtherSystem {
        what: format!(
            "`{}` was measured with {recorded}, but this assay uses {rendered}",
            system.name
        ),
        hint: "slices with different options are never mixed: resume it with the assay that started it, or start a \
               new study",
    })
}
