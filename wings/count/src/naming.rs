//! Other servers of the cache, whose files may have names for the functions of a stripped one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use assay_model::Prefix;
use assay_run::systems::{Environment, cached_near};
use assay_symbols::NameDonor;
use assay_symbols::names::cut;

/// The servers near each server that has a stripped file, by its digest: looking for them takes a while.
#[derive(Default)]
pub(crate) struct ServersWithNames(RefCell<BTreeMap<String, Rc<[Prefix]>>>);

impl ServersWithNames {
    /// The counterparts of a file of this server in all servers of the product, those of the nearest versions first.
    pub(crate) fn donors(
        &self,
        environment: &Environment,
        prefix: &Prefix,
        file: &Path,
    ) -> Vec<NameDonor> {
        let mut known = self.0.borrow_mut();
        let servers = known.entry(prefix.sha256.clone()).or_insert_with(|| {
            let found = cached_near(environment, prefix).inspect_err(|error| {
                environment.progress.note(&format!("functions may lack names: {error:#}"));
            });
            found.unwrap_or_default().into()
        });
        let donors = servers.iter().flat_map(|server| {
            let build = format!("{} {} ({})", server.product, server.version, server.build.source);
            let build = cut(&build).to_owned();
            let paths = counterparts(file, prefix, server).into_iter();
            paths.map(move |path| NameDonor { path, build: build.clone() })
        });
        donors.collect()
    }
}

/// The program of another server for that of this one, and libraries of the same name for a library.
fn counterparts(file: &Path, prefix: &Prefix, other: &Prefix) -> Vec<PathBuf> {
    let Some(name) = file.file_name() else { return Vec::new() };
    if prefix.layout.server.file_name() == Some(name) {
        return vec![other.layout.server.clone()];
    }
    let libraries = other.layout.library_path.iter().map(|directory| directory.join(name));
    libraries.filter(|path| path.is_file()).collect()
}
