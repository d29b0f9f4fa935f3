//! Gets servers into the cache, and reports the progress.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assay_model::{Origin, Prefix, Product, SystemSpec};
use assay_provision::{Options, Progress as Fetching, Provisioner};

use super::environment::Environment;
use crate::paths;

/// The provisioner of an environment.
pub(crate) fn provisioner(env: &Environment) -> Result<Provisioner> {
    let options = Options { offline: env.offline, accept_expired_index: env.accept_expired_index };
    let provisioner = Provisioner::new(&env.cache_dir, options)?;
    Ok(match paths::own_catalog()? {
        Some(path) => provisioner.with_catalog(&path)?,
        None => provisioner,
    })
}

/// Gets a server, and says which one it is.
pub(crate) fn fetch(
    provisioner: &Provisioner,
    name: &str,
    spec: &SystemSpec,
    agreed: Option<&str>,
    env: &Environment,
) -> Result<Prefix> {
    check_origin(spec)?;
    env.progress.update(&format!("{name}: searching"));
    let mut tell = telling(name, "fetching", env);
    let prefix = env.interrupt.may_end_in(|| provisioner.get_from(spec, agreed, &mut tell));
    let prefix = prefix.with_context(|| format!("cannot get `{spec}`"))?;
    let build = &prefix.build;
    let place = format!("{} {}", build.source, build.channel);
    let why = provisioner.why(spec, &prefix, agreed);
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    let what = format!("is {} {} from {}{why}", prefix.product, prefix.version, place.trim());
    env.progress.done(name, &what);
    Ok(prefix)
}

/// Refuses a missing directory or repository of this machine.
fn check_origin(spec: &SystemSpec) -> Result<(), paths::WrongPlace> {
    match &spec.origin {
        Origin::Dir(path) => {
            paths::check_there(path, "`PRODUCT@dir:PATH` names the directory of a server")
        }
        Origin::Git(reference) => {
            let place = reference.rsplit_once('#').map_or(reference.as_str(), |(place, _)| place);
            let hint =
                "`PRODUCT@git:PATH#REF` names a git repository, and a branch, tag or commit of it";
            // A place with a colon may be on another machine.
            if place.contains(':') { Ok(()) } else { paths::check_there(place.as_ref(), hint) }
        }
        Origin::Version(_) | Origin::Url(_) => Ok(()),
    }
}

/// Shows each step if the line can be rewritten. A log gets one line, for what is not in the cache and may take
/// minutes.
fn telling(name: &str, begun: &str, env: &Environment) -> impl FnMut(Fetching) {
    let mut is_begun = false;
    move |step| {
        if !is_begun && !matches!(step, Fetching::Cached) {
            env.progress.begin(&format!("{name}: {begun}"));
            is_begun = true;
        }
        env.progress.update(&fetching(name, &step));
    }
}

fn fetching(name: &str, step: &Fetching) -> String {
    match step {
        Fetching::Waiting => format!("{name}: waiting for another assay that is filling the cache"),
        Fetching::RefreshingIndex { release } => format!("{name}: package index of {release}"),
        Fetching::Resolving { release } => format!("{name}: resolving in {release}"),
        Fetching::Downloading { done, total: 0 } => {
            format!("{name}: downloading, {} MB so far", done >> 20)
        }
        Fetching::Downloading { done, total } => {
            format!("{name}: downloading {} of {} MB", done >> 20, total >> 20)
        }
        Fetching::Unpacking { done, total } => {
            format!("{name}: unpacking {done} of {total} packages")
        }
        Fetching::Building { what } => format!("{name}: {what}"),
        Fetching::Cached => format!("{name}: in the cache"),
    }
}

/// By product, the source that all systems should come from, if the usual choice would take builds from several.
pub(crate) fn agree(
    provisioner: &Provisioner,
    specs: &[&SystemSpec],
    env: &Environment,
) -> Result<BTreeMap<Product, String>> {
    let mut tell = telling("the builds", "searching", env);
    Ok(env.interrupt.may_end_in(|| provisioner.agree(specs, &mut tell))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_paths_must_exist() {
        let is_refused =
            |words: &str| check_origin(&assay_plan::parse_system(words).unwrap()).is_err();
        assert!(is_refused("mysql@dir:/proc/no/such") && is_refused("mysql@git:/proc/no/such#x"));
        assert!(!is_refused("mysql@dir:/proc") && !is_refused("mysql@git:/proc#x"));
        assert!(!is_refused("mysql@git:https://h/x.git#v1") && !is_refused("mysql@git:me@h:x#v1"));
    }
}
