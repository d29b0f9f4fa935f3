//! Fetches servers into the cache, and reports the progress.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use assay_model::{Origin, Prefix, Product, SystemSpec};
use assay_probe::counts_instructions;
use assay_provision::{ProvisionOptions, ProvisionProgress as Fetching, Provisioner};
use assay_servers::ValgrindTool;

use super::cache::make_room;
use super::environment::Environment;
use crate::advice::HintedError;
use crate::paths;

pub fn provisioner(env: &Environment) -> Result<Provisioner> {
    let options =
        ProvisionOptions { offline: env.offline, accept_expired_index: env.accept_expired_index };
    let provisioner = Provisioner::new(&env.cache_dir, options)?;
    Ok(match paths::own_catalog()? {
        Some(path) => provisioner.with_catalog(&path)?,
        None => provisioner,
    })
}

/// The servers in the cache of the same product as this one, those of the nearest versions first.
pub fn cached_near(env: &Environment, prefix: &Prefix) -> Result<Vec<Prefix>> {
    Ok(provisioner(env)?.cached_near(prefix.product, &prefix.version)?)
}

/// Valgrind and its version. It stays in the cache while the value exists.
pub fn fetch_valgrind(env: &Environment) -> Result<(HeldValgrind, String)> {
    let found = provisioner(env)?.valgrind(&mut telling("valgrind", "fetching it", env))?;
    let paths = ValgrindTool {
        launcher: found.launcher.clone(),
        library: found.library.clone(),
        vgdb: found.vgdb.clone(),
    };
    let version = found.version.clone();
    Ok((HeldValgrind { valgrind: paths, _found: found }, version))
}

/// Whether instructions can be counted here: by the processor, or by valgrind, which is fetched.
pub fn check_counting(env: &Environment) -> Result<()> {
    if counts_instructions() { Ok(()) } else { fetch_valgrind(env).map(drop) }
}

pub struct HeldValgrind {
    pub valgrind: ValgrindTool,
    _found: assay_provision::Valgrind,
}

impl HeldValgrind {
    pub fn tree(&self) -> &Path {
        &self._found.path
    }
}

pub struct FetchedPrefixes {
    pub prefixes: Vec<Prefix>,
    pub agreed: BTreeMap<Product, String>,
    pub unreached: Vec<String>,
}

pub struct FetchFailure {
    /// Its index among the requested systems; `None` if the failure concerns all of them.
    pub index: Option<usize>,
    pub error: anyhow::Error,
}

impl From<anyhow::Error> for FetchFailure {
    fn from(error: anyhow::Error) -> Self {
        Self { index: None, error }
    }
}

/// Fetches the binaries of all systems: of each product from one source, if one has them all and can be reached,
/// otherwise each from the best one. `named`: the user's name of each system.
///
/// In a search, a version is the same build in each comparison, whatever it is compared with: each comes from its own
/// best source.
pub fn fetch_all(
    provisioner: &Provisioner,
    named: &[(&str, &SystemSpec)],
    is_of_search: bool,
    env: &Environment,
) -> Result<FetchedPrefixes, FetchFailure> {
    let specs: Vec<&SystemSpec> = named.iter().map(|(_, spec)| *spec).collect();
    let mut agreed = if is_of_search { BTreeMap::new() } else { agree(provisioner, &specs, env)? };
    let mut get = |name: &str, spec: &SystemSpec, from: Option<&str>| {
        env.interrupt.check()?;
        fetch(provisioner, name, spec, from, env)
    };
    let mut tell = |note: &str| env.progress.note(note);
    let (prefixes, unreached) = from_agreed(named, &mut agreed, &mut get, &mut tell)?;
    Ok(FetchedPrefixes { prefixes, agreed, unreached })
}

/// Fetches a server by the user's name and its spec, from one source or the best one.
type FetchServer<'a, T> = dyn FnMut(&str, &SystemSpec, Option<&str>) -> Result<T> + 'a;

/// Fetches from the `agreed` source of each product. Also returns the sources that cannot be used; each is reported and
/// given up.
fn from_agreed<T: Clone>(
    named: &[(&str, &SystemSpec)],
    agreed: &mut BTreeMap<Product, String>,
    get: &mut FetchServer<'_, T>,
    tell: &mut dyn FnMut(&str),
) -> Result<(Vec<T>, Vec<String>), FetchFailure> {
    let mut unreached = Vec::new();
    loop {
        let (product, source, error) = match fetch_each(named, agreed, get)? {
            Ok(prefixes) => return Ok((prefixes, unreached)),
            Err(lack) => lack,
        };
        agreed.remove(&product);
        tell(&format!(
            "note: {source} has all of these versions of {product}, but cannot be used now: {error}; each version \
             comes from the best other source, so a difference may be one of their builds"
        ));
        unreached.push(source);
    }
}

type UnusableSource = (Product, String, assay_provision::ProvisionError);

fn fetch_each<T: Clone>(
    named: &[(&str, &SystemSpec)],
    agreed: &BTreeMap<Product, String>,
    get: &mut FetchServer<'_, T>,
) -> Result<Result<Vec<T>, UnusableSource>, FetchFailure> {
    let mut prefixes: Vec<T> = Vec::with_capacity(named.len());
    for (index, &(name, spec)) in named.iter().enumerate() {
        // The same words give the same build, even if the source gets another one meanwhile.
        let mut before = named.iter().zip(&prefixes).take(index);
        if let Some((_, same)) = before.find(|((_, other), _)| *other == spec) {
            prefixes.push(same.clone());
            continue;
        }
        let from = agreed.get(&spec.product);
        let error = match get(name, spec, from.map(String::as_str)) {
            Ok(prefix) => {
                prefixes.push(prefix);
                continue;
            }
            Err(error) => error,
        };
        match (from, error.downcast::<assay_provision::ProvisionError>()) {
            (Some(source), Ok(lack)) if lack.is_of_reach() => {
                return Ok(Err((spec.product, source.clone(), lack)));
            }
            (_, error) => {
                let error = error.map_or_else(|other| other, anyhow::Error::from);
                return Err(FetchFailure {
                    index: Some(index),
                    error: error.context(not_got(spec)),
                });
            }
        }
    }
    Ok(Ok(prefixes))
}

fn fetch(
    provisioner: &Provisioner,
    name: &str,
    spec: &SystemSpec,
    agreed: Option<&str>,
    env: &Environment,
) -> Result<Prefix> {
    check_origin(spec)?;
    env.progress.update(&format!("{name}: searching"));
    let mut tell = telling(name, "fetching", env);
    let mut get = || env.interrupt.may_end_in(|| provisioner.get_from(spec, agreed, &mut tell));
    let mut got = get();
    // Loaded data can be made again locally, a server cannot.
    let missing = got.as_ref().err().and_then(assay_provision::ProvisionError::missing_room);
    if let Some(missing) = missing
        && make_room(env, missing)?
    {
        got = get();
    }
    let prefix = got?;
    let build = &prefix.build;
    let place = format!("{} {}", build.source, build.channel);
    let why = provisioner.why(spec, &prefix, agreed);
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    let what = format!("is {} {} from {}{why}", prefix.product, prefix.version, place.trim());
    env.progress.done(name, &what);
    Ok(prefix)
}

pub fn fetch_one(
    provisioner: &Provisioner,
    name: &str,
    spec: &SystemSpec,
    from: Option<&str>,
    env: &Environment,
) -> Result<Prefix> {
    fetch(provisioner, name, spec, from, env).map_err(|error| error.context(not_got(spec)))
}

/// Leaves options out: they have no part in fetching a server, and a config file may have many.
fn not_got(spec: &SystemSpec) -> String {
    format!("cannot get `{}`", spec.without_options())
}

fn check_origin(spec: &SystemSpec) -> Result<(), HintedError> {
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

/// Shows each step if the line can be rewritten. A log gets one line, for slow downloads and builds.
fn telling(name: &str, begun: &str, env: &Environment) -> impl FnMut(Fetching) {
    let mut is_begun = false;
    move |step| {
        if let Fetching::PassedOver { why } = &step {
            env.progress.note(&format!(
                "note: {name}: {why}; the next best source is asked (`--accept-expired-index` uses the index anyway)"
            ));
            return;
        }
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
        Fetching::PassedOver { why } => format!("{name}: {why}"),
        Fetching::Building { what } => format!("{name}: {what}"),
        Fetching::Cached => format!("{name}: in the cache"),
    }
}

fn agree(
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

    type Past = (Result<(Vec<String>, Vec<String>), FetchFailure>, String);

    fn fetched_past(lack: fn() -> assay_provision::ProvisionError) -> Past {
        let specs = ["5.7", "8.0+max_connections=500", "9.7"]
            .map(|version| assay_plan::parse_system(&format!("mysql@{version}")).unwrap());
        let mariadb = assay_plan::parse_system("mariadb@11.8").unwrap();
        let named = [
            ("maria", &mariadb),
            ("old", &specs[0]),
            ("mid", &specs[1]),
            ("new", &specs[2]),
            ("new again", &specs[2]),
        ];
        let mut agreed = BTreeMap::from([(Product::MySql, "mysql.com".to_owned())]);
        let (mut number, mut message) = (0, String::new());
        let mut get = |name: &str, _: &SystemSpec, from: Option<&str>| {
            number += 1;
            match from {
                // The first one is still in the cache.
                Some("mysql.com") if name != "old" => Err(lack().into()),
                _ => Ok(format!("{number}: {name} from {}", from.unwrap_or("its best"))),
            }
        };
        let fetched =
            from_agreed(&named, &mut agreed, &mut get, &mut |note| message.push_str(note));
        (fetched, message)
    }

    #[test]
    fn a_common_source_that_cannot_be_used_is_told_and_each_version_comes_from_its_best_one() {
        use assay_provision::ProvisionError;
        let download = || ProvisionError::Download {
            url: "https://u".to_owned(),
            detail: "refused".to_owned(),
        };
        let expired =
            || ProvisionError::ExpiredIndex { release: "sid".to_owned(), detail: "old".to_owned() };
        let of_download = (fetched_past(download), "`https://u` cannot be downloaded");
        let of_expired = (fetched_past(expired), "`sid` has expired");
        for ((fetched, message), why) in [of_download, of_expired] {
            let (got, unreached) = fetched.map_err(|it| it.error).unwrap();
            // The common source is not used for this product beside others, or builds would differ for nothing.
            let expected = ["maria", "old", "mid", "new", "new"].into_iter().zip([4, 5, 6, 7, 7]);
            let expected = expected.map(|(name, at)| format!("{at}: {name} from its best"));
            assert_eq!(got, expected.collect::<Vec<_>>());
            assert_eq!(unreached, ["mysql.com"]);
            assert!(
                message.contains("mysql.com has all of these versions of mysql, but"),
                "{message}"
            );
            assert!(message.contains(why) && message.contains("one of their builds"), "{message}");
        }
    }

    #[test]
    fn a_source_whose_files_are_wrong_is_not_passed_over() {
        let (fetched, message) = fetched_past(|| assay_provision::ProvisionError::Malformed {
            what: "archive".to_owned(),
            detail: "torn".to_owned(),
        });
        let FetchFailure { index, error } = fetched.err().unwrap();
        assert_eq!(index, Some(2));
        let error = format!("{error:#}");
        assert!(error.starts_with("cannot get `mysql@8.0`: malformed archive"), "{error}");
        assert_eq!(message, "");
    }
}
