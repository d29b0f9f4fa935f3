//! Servers whose instructions are counted.

use anyhow::{Context, Result};
use assay_servers::{Server, Site, Valgrind};
use assay_study::Phase;

use super::participant::Participant;
use super::template::Template;

pub fn start_counted(
    participant: &Participant,
    template: &Template,
    phase: Phase,
    valgrind: Option<&Valgrind>,
    site: &Site,
) -> Result<Server> {
    let directory = template.directory(phase.start_from);
    let name = &participant.system.name;
    let start = || -> Result<Server> {
        let (prefix, options) = (participant.prefix()?, &participant.system.options);
        Ok(match valgrind {
            Some(valgrind) => Server::start_counted(site, prefix, options, directory, valgrind)?,
            None => Server::start(site, prefix, options, directory)?,
        })
    };
    let how = if valgrind.is_some() { " under valgrind" } else { "" };
    start().with_context(|| format!("cannot start `{name}`{how}"))
}
