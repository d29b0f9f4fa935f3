//! Data directories without tables, made once for each system and its options.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_model::Prefix;
use assay_servers::Server;

use super::cached::{TEMPLATE_VERSION, describe, hold, key, making, mark_used, remove_unused};
use super::environment::{Environment, TEMPLATES};
use super::room::make_room_for;
use super::shared_files::share_equal_files;
use super::site::LocalSite;

/// A data directory without tables, for servers with these options. It is kept while the file is open.
fn empty_template(
    env: &Environment,
    prefix: &Prefix,
    options: &[String],
    name: &str,
) -> Result<(PathBuf, fs_err::File)> {
    let version = format!("template {TEMPLATE_VERSION}");
    let key = key(&[&prefix.sha256, &options.join(" "), &version]);
    let empty = env.cache_dir.join(TEMPLATES).join(key);
    let making = making(env, &empty)?;
    if !empty.is_dir() {
        env.progress.update(&format!("{name}: initialising"));
        let site = LocalSite::site(env.cache_dir.join("instances"), env.interrupt.stop());
        assay_servers::initialize(&site, prefix, options, &empty)?;
        share_equal_files(&empty)?;
    }
    describe(&empty, &format!("{name} ({}), no tables", prefix.version))?;
    let held = hold(&empty)?;
    making.remove()?;
    mark_used(&empty)?;
    Ok((empty, held))
}

/// Starts a server on data without tables. The data is removed if the server refuses the options that it was made for.
pub fn start_on_empty(
    env: &Environment,
    prefix: &Prefix,
    options: &[String],
    name: &str,
    start: impl FnOnce(&Path) -> Result<Server, assay_servers::Error>,
) -> Result<Server> {
    let (empty, held) = empty_template(env, prefix, options, name)?;
    make_room_for(env, &empty)?;
    start(&empty).map_err(|error| {
        drop(held);
        if is_of_options(&error) {
            // Data that cannot be removed only takes up space.
            let removed = remove_unused(&empty);
            removed.map_or_else(|error| log::info!("{error}"), |_| ());
        }
        error.into()
    })
}

/// Whether no server with these options will ever start.
fn is_of_options(error: &assay_servers::Error) -> bool {
    use assay_servers::Error::{OptionRefused, UnknownOption};
    matches!(error, UnknownOption { .. } | OptionRefused { .. })
}
