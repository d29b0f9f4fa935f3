//! Servers built from source: a commit is checked out into the cache, built outside its tree, and kept as a prefix.
//! Each combination of commit, recipe, flags and compilers is built once.

pub(crate) mod recipe;
pub(crate) mod repository;
pub(crate) mod run;

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_model::{Build, BuildFlags, Layout, Origin, Prefix, SystemSpec};
use fs_err as fs;
use procfs::{Current as _, Meminfo};
use recipe::{
    Aids, BuildPlaces, BuildRecipe, BuildRow, BuildStep, BuildTool, CompileCommand, Fix, replaced,
};
use repository::{Commit, Repository};
use run::Workshop;
use sha2::{Digest as _, Sha256};

use super::kind::NamedSource;
use crate::catalog::Catalog;
use crate::census::belongs_to_another;
use crate::error::{ProvisionError, Result};
use crate::keep::prefix_name;
use crate::layout::Libraries;
use crate::programs;
use crate::provisioner::{OnProgress, ProvisionProgress, Provisioner};
use crate::store::{BUILDING, check_trust, lock_file, read_json, write_json};

/// Part of the names of built trees. Increase it when the same source would produce a different tree.
const TREE: u32 = 1;

/// Disk space for a build, bytes: the least that any server takes.
const ROOM: u64 = 1 << 30;

/// Memory that one compiler needs at most, bytes.
const COMPILER: u64 = 3 << 29;

struct BuildPlan<'a> {
    spec: &'a SystemSpec,
    commit: Commit,
    reference: String,
    version: String,
    recipe: BuildRecipe,
    compilers: Vec<String>,
    fixes: Vec<String>,
    /// Digest of the build's inputs. Fixes follow from them, and from the installed compilers.
    sha256: String,
}

pub(super) struct Git;

impl NamedSource for Git {
    fn prefix(
        &self,
        provisioner: &Provisioner,
        spec: &SystemSpec,
        progress: OnProgress<'_>,
    ) -> Option<Result<Prefix>> {
        let Origin::Git(reference) = &spec.origin else { return None };
        Some(provisioner.built(spec, reference, progress))
    }
}

impl Provisioner {
    /// The prefix of a commit, built unless the cache has it.
    fn built(
        &self,
        spec: &SystemSpec,
        reference: &str,
        progress: OnProgress<'_>,
    ) -> Result<Prefix> {
        let mut plan = self.plan(spec, reference, progress)?;
        let name = prefix_name(spec, &plan.version, &plan.sha256);
        let cached = |progress: OnProgress<'_>| {
            self.store.prefix(&name).inspect(|_| progress(ProvisionProgress::Cached))
        };
        if let Some(prefix) = cached(progress) {
            return Ok(prefix);
        }
        let work = self.store.path("builds").join(&name);
        fs::create_dir_all(&work)?;
        let building = lock_file(&work.join(BUILDING), || progress(ProvisionProgress::Waiting))?;
        // The previous holder of the lock may have built the same.
        if let Some(prefix) = cached(progress) {
            return Ok(prefix);
        }
        // An interrupted build continues at the same place.
        check_trust(&work)?;
        self.store.check_room(ROOM)?;
        let prefix = self.store.path("prefixes").join(&name);
        let (stage, missing) =
            plan.make_fixed(&self.catalog.fixes, &work, &building, &prefix, progress)?;
        let lock = self.store.lock(|| progress(ProvisionProgress::Waiting))?;
        let tree = self.store.new_tree()?;
        for entry in fs::read_dir(&stage)? {
            let entry = entry?;
            fs::rename(entry.path(), tree.path().join(entry.file_name()))?;
        }
        let build = Build {
            source: SOURCE.to_owned(),
            package_version: plan.commit.described(),
            released: true,
            notes: notes(&plan, &missing),
            channel: plan.reference,
        };
        let BuildPlan { version, sha256, .. } = plan;
        let (path, packages, layout) = (PathBuf::new(), Vec::new(), Layout::default());
        let product = spec.product;
        let prefix = Prefix { path, sha256, product, version, build, packages, layout };
        let prefix = self.keep(tree, &name, prefix, Libraries::Host)?;
        drop(lock);
        // Its log is useful only after a failure.
        fs::remove_dir_all(&work)?;
        Ok(prefix)
    }

    fn plan<'a>(
        &self,
        spec: &'a SystemSpec,
        reference: &str,
        progress: OnProgress<'_>,
    ) -> Result<BuildPlan<'a>> {
        let (product, flags) = (spec.product, &spec.build);
        let commit = self.commit(reference, progress)?;
        let wrong = |detail: &str| {
            let place = commit.repository.place.clone();
            ProvisionError::Git { place, detail: detail.to_owned() }
        };
        let names = commit.names()?;
        let tool = BuildTool::in_tree(&names)
            .ok_or_else(|| wrong("has neither CMakeLists.txt nor configure nor meson.build"))?;
        let has = |file: &&&str| names.iter().any(|name| name == *file);
        let mut version = None;
        for file in product.facts().version_files.iter().filter(has) {
            version = version.or(product.version_in_source(&commit.file(file)?));
        }
        let version = version
            .ok_or_else(|| wrong(&format!("has no source of {product}: it names no version")))?;
        let recipe = BuildRecipe::new(product, tool, &version, &self.catalog.builds, flags);
        let recipe = recipe.map_err(|flag| {
            let (option, tool) = (flag.option(), tool.word());
            let message =
                format!("`{option}` has no effect on {product} {version}, which {tool} builds");
            ProvisionError::plain(message, NO_ROW)
        })?;
        let compilers = compilers(&recipe)?;
        let sha256 = identity(&commit.id, &recipe, flags, &compilers)?;
        let (reference, fixes) = (reference.to_owned(), Vec::new());
        Ok(BuildPlan { spec, commit, reference, version, recipe, compilers, fixes, sha256 })
    }

    /// The commit that the user named. For a remote repository it is fetched again, unless offline.
    fn commit(&self, reference: &str, progress: OnProgress<'_>) -> Result<Commit> {
        let (place, name) = repository::split(reference);
        if !repository::is_remote(place) {
            return Repository::local(place)?.commit(name);
        }
        let directory: String = hex::encode(Sha256::digest(place)).chars().take(16).collect();
        let login = self.logins.iter().find(|login| login.address == place).cloned();
        let directory = self.store.path("git").join(directory);
        // git executes commands from a repository's files.
        check_trust(&directory)?;
        let repository = Repository::mirrored(place, &directory, login)?;
        if !self.offline() {
            progress(ProvisionProgress::Building {
                what: format!("fetching `{name}` of `{place}`"),
            });
            repository.fetch(name)?;
        }
        repository.commit(name)
    }
}

impl BuildPlan<'_> {
    /// Builds and installs. After a failure, tries again with the first fix that fits the errors, until none does.
    fn make_fixed(
        &mut self,
        fixes: &[Fix],
        work: &Path,
        lock: &fs::File,
        prefix: &Path,
        progress: OnProgress<'_>,
    ) -> Result<(PathBuf, Vec<String>)> {
        let is_for = |fix: &&Fix| fix.is_for(self.spec.product, &self.version, &self.spec.build);
        let mut untried: Vec<&Fix> = fixes.iter().filter(is_for).collect();
        let advised: Vec<&Fix> = untried.iter().copied().filter(|it| it.advice.is_some()).collect();
        loop {
            let mut error = match self.make(work, lock, prefix, progress) {
                Err(error @ ProvisionError::Build { .. }) => error,
                made => return made,
            };
            let ProvisionError::Build { lines, step, advice, .. } = &mut error else {
                return Err(error);
            };
            let next = if *step == "patching" { None } else { self.next_fix(&mut untried, lines) };
            let Some((fix, recipe, compilers)) = next else {
                let fitting = advised.iter().filter(|it| it.fits(lines));
                advice.extend(fitting.filter_map(|it| it.advice.clone()));
                return Err(error);
            };
            progress(ProvisionProgress::Building {
                what: format!("{step} failed; now {}", fix.about),
            });
            // Objects compiled with other settings must not be mixed in.
            let _ = fs::remove_dir_all(work.join("build"));
            (self.recipe, self.compilers) = (recipe, compilers);
            self.fixes.push(fix.about.clone());
        }
    }

    /// The next fix that fits the errors, with the recipe and the compilers that it leads to. A compiler that is not
    /// installed, or is the usual one, changes nothing.
    fn next_fix<'a>(
        &self,
        untried: &mut Vec<&'a Fix>,
        errors: &[String],
    ) -> Option<(&'a Fix, BuildRecipe, Vec<String>)> {
        while let Some(at) = untried.iter().position(|fix| fix.fits(errors)) {
            let fix = untried.remove(at);
            let recipe = self.recipe.clone().fixed(fix);
            let Ok(compilers) = compilers(&recipe) else { continue };
            let is_usual = fix.cc.is_some() && compilers == self.compilers;
            if recipe != self.recipe && !is_usual {
                return Some((fix, recipe, compilers));
            }
        }
        None
    }

    /// Builds and installs below `work`, to which `lock` belongs. Returns the path of the installed files, and the
    /// omitted submodules.
    fn make(
        &self,
        work: &Path,
        lock: &fs::File,
        prefix: &Path,
        progress: OnProgress<'_>,
    ) -> Result<(PathBuf, Vec<String>)> {
        let [source, build, stage] = ["source", "build", "stage"].map(|name| work.join(name));
        let missing = self.source(work, lock, &source, progress)?;
        let _ = fs::remove_dir_all(&stage);
        fs::create_dir_all(&build)?;
        // Repeats the checks that failed last time, and keeps what was compiled.
        let _ = fs::remove_file(build.join("CMakeCache.txt"));
        let aids = Aids { ninja: is_there("ninja"), ccache: has_own_ccache(), jobs: jobs() };
        let places = BuildPlaces { source: &source, build: &build, prefix, stage: &stage };
        let destination = stage.display().to_string();
        let compilers = [("CC", self.recipe.cc.as_str()), ("CXX", self.recipe.cxx.as_str())];
        let mut tell = |what: String| progress(ProvisionProgress::Building { what });
        let log = work.join("log");
        let place = &self.reference;
        let mut workshop = Workshop { place, log, lock, directory: &build, tell: &mut tell };
        for step in self.recipe.steps(places, aids) {
            let environment: &[(&str, &str)] = match (step.name, self.recipe.tool) {
                ("installing", _) => &[("DESTDIR", &destination)],
                (_, BuildTool::Meson) => &compilers,
                _ => &[],
            };
            workshop.run(&step, environment)?;
            if step.name == "configuring" {
                self.check_flags(&build)?;
            }
        }
        // An installed path is absolute, and is recreated below the staging root.
        Ok((stage.join(prefix.strip_prefix("/").unwrap_or(prefix)), missing))
    }

    /// Refuses a build whose compilers get other flags than the system asks for.
    fn check_flags(&self, build: &Path) -> Result<()> {
        let (flags, tool) = (&self.spec.build, self.recipe.tool);
        // The commands of `configure` are known only to make.
        if flags.is_empty() || tool == BuildTool::Configure {
            return Ok(());
        }
        let path = build.join("compile_commands.json");
        let commands: Vec<CompileCommand> = read_json(&path).ok_or_else(|| {
            let (tool, path) = (tool.word(), path.display());
            let message = format!("{tool} lists no commands of compilers in `{path}`");
            ProvisionError::plain(message, "leave out the flags, which cannot be checked")
        })?;
        let Some((flag, other)) = replaced(&commands, flags) else { return Ok(()) };
        let other = if other.is_empty() { "nothing".to_owned() } else { format!("`{other}`") };
        let asked = format!("{}={}", flag.option(), flags[&flag]);
        let message = format!(
            "`{asked}` does not reach the compilers: `{}` gives them {other}",
            self.reference
        );
        Err(ProvisionError::plain(message, NO_ROW))
    }

    /// Checks out and patches the source tree. An existing one has the same commit and patches.
    fn source(
        &self,
        work: &Path,
        lock: &fs::File,
        source: &Path,
        progress: OnProgress<'_>,
    ) -> Result<Vec<String>> {
        let note = work.join("missing.json");
        if source.is_dir() {
            return Ok(read_json(&note).unwrap_or_default());
        }
        progress(ProvisionProgress::Building { what: format!("checking out {}", self.reference) });
        let new = work.join("source.new");
        for old in [&new, &work.join("build")] {
            match fs::remove_dir_all(old) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        let missing = self.commit.check_out(&new, &self.recipe.submodules, lock)?;
        let mut tell = |what: String| progress(ProvisionProgress::Building { what });
        let (place, log) = (&self.reference, work.join("log"));
        let mut workshop = Workshop { place, log, lock, directory: &new, tell: &mut tell };
        for patch in &self.recipe.patches {
            let arguments =
                vec!["apply".to_owned(), "--verbose".to_owned(), patch.display().to_string()];
            workshop
                .run(&BuildStep { name: "patching", program: "git".to_owned(), arguments }, &[])?;
        }
        write_json(&note, &missing)?;
        fs::rename(&new, source)?;
        Ok(missing)
    }
}

pub(crate) const SOURCE: &str = "git";

/// Remedy for flags that the catalog cannot bring to the compilers.
const NO_ROW: &str = "leave the flag out, or add a row `[[build]]` with `when = { FLAG = \"VALUE\" }` to a catalog of \
                      your own";

const COMPILED: &str = "compiled by ";
const FIXED: &str = "did not build as it is: ";

/// The rows of the built-in catalog for flags of systems, as a Markdown table.
pub fn flag_table() -> Result<String> {
    let head = "| flag | for | adds | built here |\n|---|---|---|---|\n".to_owned();
    let rows = Catalog::built_in()?.builds;
    Ok(head + &rows.iter().filter_map(BuildRow::of_flags).collect::<String>())
}

/// The fixes of the built-in catalog in the order in which they are tried, as a Markdown table.
pub fn fix_table() -> Result<String> {
    let head = "| fix | for | adds | built here |\n|---|---|---|---|\n".to_owned();
    Ok(head + &Catalog::built_in()?.fixes.iter().map(Fix::line).collect::<String>())
}

/// The compilers and the fixes of a build. Builds of one system for which this is equal differ only in their sources.
pub fn compiled(build: &Build) -> String {
    let tell = |note: &'_ String| {
        let message = [COMPILED, FIXED].iter().find_map(|it| note.strip_prefix(it));
        message.map(str::to_owned)
    };
    build.notes.iter().filter_map(tell).collect::<Vec<_>>().join(", ")
}

fn notes(plan: &BuildPlan<'_>, missing: &[String]) -> Vec<String> {
    let BuildPlan { recipe, compilers, fixes, .. } = plan;
    let mut notes = vec![
        format!("built here by {} with `{}`", recipe.tool.word(), recipe.flags()),
        format!("{COMPILED}{}", compilers.join(", ")),
        "uses the libraries of this machine".to_owned(),
    ];
    notes.extend(fixes.iter().map(|about| format!("{FIXED}{about}")));
    let names = recipe.patches.iter().filter_map(|patch| patch.file_name());
    notes.extend(names.map(|name| format!("patched by `{}`", name.display())));
    notes.extend(missing.iter().map(|path| format!("built without the submodule `{path}`")));
    notes
}

fn compilers(recipe: &BuildRecipe) -> Result<Vec<String>> {
    let mut compilers = vec![said_first(&recipe.cc)?];
    if recipe.tool == BuildTool::Cmake {
        compilers.push(said_first(&recipe.cxx)?);
    }
    Ok(compilers)
}

fn identity(
    commit: &str,
    recipe: &BuildRecipe,
    flags: &BuildFlags,
    compilers: &[String],
) -> Result<String> {
    let mut hasher = Sha256::new();
    let BuildRecipe { tool, cc, cxx, .. } = recipe;
    hasher.update(format!("{TREE} {commit} {} {cc} {cxx}\n{}\n", tool.word(), recipe.flags()));
    // Fixes depend on them, too.
    for (flag, value) in flags.iter().filter(|(_, value)| *value != "off") {
        hasher.update(format!("{}={value}\n", flag.option()));
    }
    for compiler in compilers {
        hasher.update(format!("{compiler}\n"));
    }
    for patch in &recipe.patches {
        hasher.update(Sha256::digest(fs::read(patch)?));
    }
    Ok(hex::encode(hasher.finalize()))
}

fn said_first(program: &str) -> Result<String> {
    let mut command = Command::new(program);
    command.arg("--version").env("LC_ALL", "C").stdin(Stdio::null());
    let output = programs::output(&mut command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => ProvisionError::ToolMissing(program.to_owned()),
        _ => ProvisionError::Io(error),
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Returns whether ccache is installed and only this user can write to its cache.
fn has_own_ccache() -> bool {
    let asked = programs::output(Command::new("ccache").args(["--get-config", "cache_dir"]));
    let Ok(output) = asked.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()) else {
        return false;
    };
    let directory = Path::new(output.trim());
    let is_own = |path: &Path| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|it| it.mode() & 0o002 == 0 && !belongs_to_another(&it))
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    // ccache creates the directory if it is missing.
    let is_safe =
        !directory.exists() || is_own(directory) && { entries }.all(|entry| is_own(&entry.path()));
    if !is_safe {
        log::warn!("the build does not use ccache: others can change `{}`", directory.display());
    }
    is_safe
}

fn is_there(program: &str) -> bool {
    said_first(program).is_ok()
}

fn jobs() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = Meminfo::current().ok().and_then(|it| it.mem_available);
    let room = memory.map_or(1, |bytes| usize::try_from(bytes / COMPILER).unwrap_or(1));
    processors.min(room).max(1)
}
