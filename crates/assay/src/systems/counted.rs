//! Servers under valgrind, whose instructions are counted.

use anyhow::{Context, Result};
use assay_servers::{Server, Site, Valgrind};
use assay_study::Phase;

use super::participant::Participant;
use super::template::Template;

/// Starts an instance of a system that assay starts under valgrind, from one of its templates.
pub(crate) fn start_counted(
    participant: &Participant,
    template: &Template,
    phase: Phase,
    valgrind: &Valgrind,
    site: &Site,
) -> Result<Server> {
    let directory = template.directory(phase.start_from);
    let name = &participant.system.name;
    let start = || -> Result<Server> {
        let (prefix, options) = (participant.prefix()?, &participant.system.options);
        Ok(Server::start_counted(site, prefix, options, directory, valgrind)?)
    };
    start().with_context(|| format!("cannot start `{name}` under valgrind"))
}
