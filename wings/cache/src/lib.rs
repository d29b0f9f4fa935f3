//! `assay cache`: lists and frees entries of the cache.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use assay_command::args::ShapeArg;
use assay_command::exit::Exit;
use assay_command::report;
use assay_command::verb::{Arguments, CommandGroup};
use assay_model::Prefix;
use assay_options::parse_duration_s;
use assay_provision::{CacheEntryKind, Cleaning, Hold, Provisioner};
use assay_run::advice::HintedError;
use assay_run::paths::check_there;
use assay_run::progress::{Progress, print};
use assay_run::systems::{
    Environment, described, environment, last_used, limit, provisioner, remove_unused,
    sandbox_site, size, templates,
};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;

#[derive(Debug, Args)]
pub struct Cache {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Debug, Subcommand)]
enum CacheCommand {
    /// List servers, loaded data directories and package indexes, with their sizes and last use
    List(ShapeArg),
    /// Remove what has not been used for a while
    Clean(CacheClean),
}

#[derive(Debug, Args)]
pub(crate) struct CacheClean {
    /// Remove servers and data that were last used longer ago than this
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s, default_value = "30d")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) unused: f64,

    /// Remove everything that no running assay uses
    #[arg(long, conflicts_with = "unused")]
    pub(crate) all: bool,
}

impl Arguments for Cache {
    const NAME: &'static str = "cache";
    const ABOUT: &'static str = "Show or free the contents of the cache";
    const GROUP: CommandGroup = CommandGroup::Servers;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        if let Some(named) = cache_dir {
            check_there(
                named,
                "`--cache-dir` and `ASSAY_CACHE` must name an existing cache; without them, assay uses the default one",
            )?;
        }
        let progress = Progress::new(false);
        let env = environment(cache_dir, true, false, &progress)?;
        match &self.command {
            CacheCommand::List(shape) => list(shape, &env),
            CacheCommand::Clean(args) => clean(args, &env),
        }
    }
}

#[derive(Debug, Serialize)]
struct ListedCacheEntry {
    kind: &'static str,
    name: String,
    bytes: u64,
    last_used: String,
    in_use: bool,
    path: PathBuf,
}

fn list(shape: &ShapeArg, env: &Environment) -> Result<Exit> {
    let kept = everything(env)?;
    env.progress.finish();
    let line = |it: &ListedCacheEntry| {
        let used = if it.in_use { "in use" } else { &it.last_used };
        format!("{:<10} {:>9}  {used:<16}  {}", it.kind, megabytes(it.bytes), it.name)
    };
    report::put_rows(shape, &kept, line)?;
    if shape.is_text() {
        let total: u64 = kept.iter().map(|it| it.bytes).sum();
        let (total, most) = (megabytes(total), megabytes(limit(&env.cache_dir)?));
        print(&format!("{total} of at most {most} in `{}`", env.cache_dir.display()));
    }
    Ok(Exit::Done)
}

/// Servers with their files, then loaded data directories, most recently used first.
fn everything(env: &Environment) -> Result<Vec<ListedCacheEntry>> {
    let mut kept: Vec<ListedCacheEntry> = provisioner(env)?
        .entries()?
        .into_iter()
        .map(|entry| {
            let (kind, name) = match entry.kind {
                CacheEntryKind::Prefix { product, version } => {
                    ("server", format!("{product} {version}"))
                }
                CacheEntryKind::Valgrind { version } => ("tool", format!("valgrind {version}")),
                CacheEntryKind::Damaged => ("damaged", file_name(&entry.path)),
                CacheEntryKind::Unfinished => ("unfinished", file_name(&entry.path)),
                CacheEntryKind::Indexes => ("index", file_name(&entry.path)),
                CacheEntryKind::Pins => ("checksums", "pinned on first use".to_owned()),
            };
            let last_used = moment(entry.last_used);
            ListedCacheEntry {
                kind,
                name,
                bytes: entry.bytes,
                last_used,
                in_use: entry.in_use,
                path: entry.path,
            }
        })
        .collect();
    kept.extend(data(env)?);
    Ok(kept)
}

fn data(env: &Environment) -> Result<Vec<ListedCacheEntry>> {
    let mut found = Vec::new();
    for path in templates(&env.cache_dir)? {
        let last_used = last_used(&path)?;
        found.push((
            last_used,
            ListedCacheEntry {
                kind: "data",
                name: described(&path),
                bytes: size(&path),
                last_used: moment(last_used),
                in_use: false,
                path,
            },
        ));
    }
    found.sort_by_key(|(last_used, _)| std::cmp::Reverse(*last_used));
    Ok(found.into_iter().map(|(_, kept)| kept).collect())
}

fn clean(args: &CacheClean, env: &Environment) -> Result<Exit> {
    let provisioner = provisioner(env)?;
    let _holds = hold_of_running(&provisioner, &env.cache_dir)?;
    let limit = Duration::from_secs_f64(args.unused);
    let cleaning = if args.all { Cleaning::Everything } else { Cleaning::Unused(limit) };
    let mut freed = 0;
    for path in templates(&env.cache_dir)? {
        let age = last_used(&path)?.elapsed().unwrap_or_default();
        if args.all || age >= limit {
            let bytes = size(&path);
            if remove_unused(&path)? {
                freed += bytes;
            } else {
                print(&format!("note: `{}` is in use and was kept", path.display()));
            }
        }
    }
    let waiting = || env.progress.update("waiting for another assay that is filling the cache");
    let cleaned = provisioner.clean(cleaning, waiting)?;
    env.progress.finish();
    freed += cleaned.removed.iter().map(|entry| entry.bytes).sum::<u64>();
    for entry in &cleaned.in_use {
        print(&format!("note: `{}` is in use and was kept", entry.path.display()));
    }
    report::write_stdout(&format!("freed {}\n", megabytes(freed)))?;
    Ok(Exit::Done)
}

/// Holds the binaries of servers left running, which hold nothing themselves.
fn hold_of_running(provisioner: &Provisioner, cache: &Path) -> Result<Vec<Hold>> {
    let running = assay_servers::kept_servers(&sandbox_site()?.run_root)?;
    let mut holds = Vec::new();
    for server in running.into_iter().filter(|it| it.ended.is_none()) {
        let program = fs_err::read_link(format!("/proc/{}/exe", server.kept.pid)).ok();
        match used(&provisioner.cached()?, cache, program.as_deref()) {
            CacheUse::Prefix(prefix) => holds.push(provisioner.hold(prefix)?),
            CacheUse::Nothing => {}
            CacheUse::Unknown => {
                let name = server.kept.name;
                bail!(HintedError::new(
                    format!("the server `{name}` is running and may use the cache"),
                    format!("stop it first: `assay server stop {name}`"),
                ))
            }
        }
    }
    Ok(holds)
}

#[derive(Debug, PartialEq, Eq)]
enum CacheUse<'a> {
    Prefix(&'a Prefix),
    Nothing,
    Unknown,
}

fn used<'a>(cached: &'a [Prefix], cache: &Path, program: Option<&Path>) -> CacheUse<'a> {
    let Some(program) = program else { return CacheUse::Unknown };
    // The kernel reports the path of the program without links.
    let is_below = |path: &Path| fs_err::canonicalize(path).is_ok_and(|it| program.starts_with(it));
    match cached.iter().find(|prefix| is_below(&prefix.path)) {
        Some(prefix) => CacheUse::Prefix(prefix),
        None if is_below(cache) => CacheUse::Unknown,
        None => CacheUse::Nothing,
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn moment(time: SystemTime) -> String {
    Timestamp::try_from(time)
        .map(|moment| moment.strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default()
}

fn megabytes(bytes: u64) -> String {
    match bytes as f64 / f64::from(1 << 20) {
        some if some >= 0.05 || bytes == 0 => format!("{some:.1} MB"),
        _ => "<0.1 MB".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unrelated_programs_below_the_cache_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().canonicalize().unwrap();
        let cache_use = |program: Option<&Path>| used(&[], &cache, program);
        assert_eq!(cache_use(Some(Path::new("/usr/sbin/mysqld"))), CacheUse::Nothing);
        assert_eq!(cache_use(Some(&cache.join("x/mysqld"))), CacheUse::Unknown);
        assert_eq!(cache_use(None), CacheUse::Unknown);
    }
}
