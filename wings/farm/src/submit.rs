//! `assay submit`: writes the files of a job, fetches its servers, and submits it.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use assay_model::{Counting, Origin, Prefix, RealtimeAccess, counted, thousands};
use assay_plan::{
    MachineFacts, NamedFile, PlannedSystem, Request, StudyPlan, parse_system, shell_quoted,
};
use clap::{Arg, Args, FromArgMatches as _};

use crate::job::{self, FarmJob, NodeCache, SCRIPT, SERVERS, STUDY_FILE, name, on_a_node};
use assay_command::args::{MeasureArgs, SYSTEMS, StudyArgs};
use assay_command::exit::Exit;
use assay_command::measurement::{read_study, resolved};
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{config_file, report};
use assay_run::advice::HintedError;
use assay_run::progress::{Progress, print};
use assay_run::study::afterwards;
use assay_run::systems::{
    Environment, Participant, environment, fetch_valgrind, machine_facts, mark_used, on_disk,
    participants, provisioner, ready, size,
};
use assay_run::{paths, whole_file, workload};

/// `assay submit`.
#[derive(Debug, Args)]
#[command(after_help = SYSTEMS)]
#[command(mut_args(of_submit))]
pub struct SubmitArgs {
    /// A study file, or the base and the systems to compare with it as in `assay compare`
    #[arg(required = true, value_name = "STUDY.toml|SYSTEM")]
    pub study: Vec<String>,

    /// Submit to Slurm, as one array job with a task for each node
    #[arg(long, required = true)]
    pub slurm: bool,

    /// Nodes to measure on, each a shard of the study [default: those that `sinfo` counts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub nodes: Option<u32>,

    /// Print the files and the command, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Directory for the job, its logs and its ledgers, which all nodes share
    ///
    /// [default: `jobs` in the user's state directory]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Directory on each node's own disk for servers and their data, instead of the cache
    ///
    /// `sbcast` brings the servers there, and the loaded data that the cache has. A task removes the directory when it
    /// ends.
    #[arg(long, value_name = "DIR")]
    pub node_dir: Option<PathBuf>,

    #[command(flatten)]
    asked: StudyArgs,

    #[command(flatten)]
    pub measuring: MeasureArgs,

    /// Options of `sbatch`, such as `--partition=bench --time=2:00:00`
    #[arg(last = true, value_name = "SBATCH OPTION")]
    pub sbatch: Vec<String>,
}

/// `submit` shows no result, and its short help leaves out rarely used options.
fn of_submit(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "format" | "output" => option.hide(true),
        "threshold" | "twin" | "profile" | "terms" => option.hide_short_help(true),
        _ => option,
    }
}

impl SubmitArgs {
    pub fn request(&self, systems: &[String]) -> Request {
        self.asked.request(systems, &self.measuring)
    }
}

impl Arguments for SubmitArgs {
    const NAME: &'static str = "submit";
    const ABOUT: &'static str = "Run a study on many machines: one array job of a scheduler";
    const GROUP: CommandGroup = CommandGroup::ManyMachines;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        submit(self, cache_dir)
    }
}

fn submit(args: &SubmitArgs, cache_dir: Option<&Path>) -> Result<Exit> {
    let request = request(args)?;
    let cache_dir = paths::made_cache_dir(cache_dir)?;
    // Each node checks this itself.
    let realtime = Some(RealtimeAccess::Permitted);
    let machine = MachineFacts { realtime, ..machine_facts(&cache_dir)? };
    let machine = on_a_node(machine, &request);
    // All nodes get the sizes that fit here.
    let request = config_file::scale(request, machine, args.measuring.quiet)?;
    let suite = workload::suite(&request)?;
    let plan = afterwards::plan_of(&request, machine, suite);
    let plan = plan.map_err(|error| on_disk(error, &cache_dir))?;
    if let Some(system) = plan.systems.iter().find(|system| system.url.is_some()) {
        bail!(HintedError::new(
            format!("`{}` runs already, and several nodes would measure it at once", system.name),
            "name a version, and each node starts a server of its own"
        ));
    }
    afterwards::check_shards(&plan.study)?;
    let shards = shards(args, &plan)?;
    let study = name(&plan, shards)?;
    let dir = match &args.dir {
        Some(dir) => std::path::absolute(dir)?,
        None => job::jobs_dir()?.join(&study),
    };
    let assay = std::env::current_exe().context("cannot find the path of assay")?;
    let node_dir = args.node_dir.as_ref().map(std::path::absolute).transpose()?;
    let cache = node_dir.as_deref().map_or(NodeCache::Shared(&cache_dir), NodeCache::OnNode);
    let script = job::script(&study, shards, &assay, cache);
    let mut options = job::sbatch_options(&study, shards, &dir);
    // The user's options come last, and override.
    options.extend(args.sbatch.iter().cloned());
    // Without logins of repositories: nodes find the servers in the cache.
    let recipe = &plan.study.recipe;
    let whole: f64 = plan.study.budget_s;
    let words: Vec<String> = options.iter().map(|word| shell_quoted(word)).collect();
    let file = dir.join(SCRIPT);
    let command = format!("sbatch {} {}", words.join(" "), shell_quoted(&file.to_string_lossy()));
    if args.dry_run {
        let moved = node_dir.map(|_| moved_data(&plan, &request, &cache_dir)).transpose()?;
        return report::write_stdout(&format!(
            "# {}\n{recipe}\n# {}\n{script}\n# submits {}, each for about {}\n{}{command}\n",
            dir.join(STUDY_FILE).display(),
            file.display(),
            counted(u64::from(shards), "shard"),
            assay_plan::duration_text((whole / f64::from(shards)).ceil()),
            moved.unwrap_or_default(),
        ))
        .map(|()| Exit::Done);
    }
    fs_err::create_dir_all(&dir)?;
    paths::refuse_open_to_all(&dir, "`--dir` names another directory for the files of the job")?;
    // Nodes may have no network.
    let servers = node_dir.is_some().then(|| dir.join(SERVERS));
    let has_data = fetch_servers(&plan, &request, args, (&cache_dir, servers.as_deref()))?;
    let moved = servers.map(fs_err::metadata).transpose()?.map_or_else(String::new, |archive| {
        let what = if has_data { "servers and loaded data" } else { "servers" };
        format!(", and {} MB of {what} go to each node", thousands(megabytes(archive.len())))
    });
    whole_file::put(&dir.join(STUDY_FILE), recipe.as_bytes())?;
    whole_file::put(&file, script.as_bytes())?;
    let mut job = FarmJob::new(dir, study, shards)?;
    job.write()?;
    job.job = Some(sbatch(&options, &file)?);
    job.write()?;
    report::write_stdout(&format!("{}\n", job.study))?;
    print(&format!(
        "note: job {} measures {}{moved}; `assay status` shows how far it is, `assay collect` puts the study together",
        job.job.unwrap_or_default(),
        counted(u64::from(shards), "shard"),
    ));
    Ok(Exit::Done)
}

fn request(args: &SubmitArgs) -> Result<Request> {
    let quiet = args.measuring.quiet;
    let file = match args.study.as_slice() {
        [one] if one == "-" || Path::new(one).extension().is_some_and(|it| it == "toml") => {
            Path::new(one)
        }
        systems => {
            let request = args.request(systems);
            return absolute(config_file::with_configs(request, Path::new(""), &[], quiet)?);
        }
    };
    let nothing_else =
        Request { source: None, offline: false, accept_expired_index: false, ..args.request(&[]) };
    if nothing_else != default_request() {
        bail!(HintedError::new(
            "a study file has the options of the study",
            "change the file, or name systems instead of it"
        ));
    }
    absolute(resolved(read_study(file)?, file, &[], quiet)?)
}

/// The request of a command without options.
fn default_request() -> Request {
    let command = SubmitArgs::augment_args(clap::Command::new("submit").no_binary_name(true));
    let found = command.try_get_matches_from(["--slurm", "-"]);
    let args = found.and_then(|found| SubmitArgs::from_arg_matches(&found));
    args.expect("the options that are required are there").request(&[])
}

/// Makes paths absolute, so that the request means the same in every directory.
fn absolute(mut request: Request) -> Result<Request> {
    let path =
        |path: String| -> Result<String> { Ok(std::path::absolute(path)?.display().to_string()) };
    for workload in &mut request.workload {
        let named = NamedFile::parse(workload);
        let whole = path(named.path.to_owned())?;
        *workload = named.at(|_| whole);
    }
    for system in &mut request.systems {
        system.config = system.config.take().map(path).transpose()?;
        let mut spec = parse_system(&system.words)?;
        spec.origin = match spec.origin {
            Origin::Dir(dir) => Origin::Dir(std::path::absolute(dir)?),
            Origin::Git(place) if is_path(&place) => Origin::Git(path(place)?),
            // An address may have a login, and a version has no path.
            _ => continue,
        };
        system.words = spec.to_string();
    }
    Ok(request)
}

fn is_path(place: &str) -> bool {
    !place.contains("://") && !place.split('/').next().is_some_and(|host| host.contains(':'))
}

/// One shard for each node, as far as the study can be split.
fn shards(args: &SubmitArgs, plan: &StudyPlan) -> Result<u32> {
    let nodes = match args.nodes {
        Some(nodes) => nodes,
        None => counted_nodes()?,
    };
    let systems = plan.systems.len();
    let is_possible = |count: &u32| assay_plan::shards(&plan.study, systems, *count).is_ok();
    let most = (1..=nodes).rev().find(is_possible).unwrap_or(1);
    if most < nodes {
        print(&format!(
            "note: this study has at most {}, so {} of the nodes stay free; a longer `--budget` has more",
            counted(u64::from(most), "shard"),
            thousands(nodes - most)
        ));
    }
    Ok(most)
}

fn counted_nodes() -> Result<u32> {
    let mut command = Command::new("sinfo");
    command.args(["--noheader", "--format=%D", "--states=idle,alloc,mix"]);
    let counts = output_of(&mut command);
    let count: u32 = counts.split_whitespace().filter_map(|count| count.parse::<u32>().ok()).sum();
    if count == 0 {
        bail!(HintedError::new(
            "`sinfo` counts no nodes",
            "say how many there are with `--nodes N`"
        ));
    }
    Ok(count.min(*assay_model::limits::SHARDS.end()))
}

/// The output of a scheduler's command; empty if it is missing or fails.
pub(crate) fn output_of(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().ok().filter(|it| it.status.success());
    output.map_or_else(String::new, |it| String::from_utf8_lossy(&it.stdout).into_owned())
}

/// Fetches the servers of tasks into the cache, and into an archive if nodes have their own caches. Returns whether the
/// archive has loaded data.
fn fetch_servers(
    plan: &StudyPlan,
    request: &Request,
    args: &SubmitArgs,
    (cache_dir, archive): (&Path, Option<&Path>),
) -> Result<bool> {
    let progress = Progress::new(args.measuring.quiet);
    let (offline, expired) = (request.offline, request.accept_expired_index);
    let environment = environment(Some(cache_dir), offline, expired, &progress)?;
    let has_data = fetch(plan, request, &environment, archive);
    progress.finish();
    has_data
}

fn fetch(
    plan: &StudyPlan,
    request: &Request,
    environment: &Environment,
    archive: Option<&Path>,
) -> Result<bool> {
    let systems = participants(plan, environment)?;
    // Whether the processor of a node can count is unknown here.
    let counts = request.count != Counting::None;
    let valgrind = counts.then(|| fetch_valgrind(environment)).transpose()?;
    let Some(archive) = archive else { return Ok(false) };
    let prefixes: Vec<&Prefix> = systems.iter().map(Participant::prefix).collect::<Result<_>>()?;
    let tool = valgrind.as_ref().map(|(held, _)| held.tree());
    // Spares the nodes the loading.
    let data = ready(&systems, &plan.study, environment)?;
    let trees = prefixes.iter().map(|prefix| prefix.path.as_path()).chain(tool);
    let trees: BTreeSet<&Path> = trees.chain(data.keys().map(PathBuf::as_path)).collect();
    // Tasks of an earlier job may be reading the archive.
    let new = whole_file::temporary(archive.parent().unwrap_or(Path::new(".")), &[])?;
    // Other users may not read the data of servers.
    new.as_file().set_permissions(Permissions::from_mode(0o600))?;
    provisioner(environment)?.carry(trees, BufWriter::new(new.as_file()))?;
    new.persist(archive).map_err(|error| error.error)?;
    data.keys().try_for_each(|template| mark_used(template))?;
    Ok(!data.is_empty())
}

/// Describes how much loaded data a job would carry to each node, as far as known without fetching anything.
fn moved_data(plan: &StudyPlan, request: &Request, cache_dir: &Path) -> Result<String> {
    let is_built = |system: &PlannedSystem| matches!(system.spec.origin, Origin::Git(_));
    if plan.systems.iter().any(is_built) {
        return Ok(String::new());
    }
    let progress = Progress::new(true);
    let environment = environment(Some(cache_dir), true, request.accept_expired_index, &progress)?;
    let Ok(systems) = participants(plan, &environment) else { return Ok(String::new()) };
    let data = ready(&systems, &plan.study, &environment)?;
    let bytes = data.keys().map(|template| size(template)).sum();
    Ok(match bytes {
        0 => String::new(),
        bytes => format!("# {} MB of loaded data go to each node\n", thousands(megabytes(bytes))),
    })
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

fn sbatch(options: &[String], script: &Path) -> Result<u64> {
    let output = Command::new("sbatch")
        .args(options)
        .arg(script)
        .env_remove("ASSAY_PASSWORD")
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| {
        HintedError::new("cannot start `sbatch`", "submit from a node that has Slurm's commands")
            .caused_by(error)
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("sbatch refuses the job: {}", said.trim());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // The cluster's name may follow.
    let number = text.trim().split(';').next().and_then(|number| number.parse().ok());
    number.with_context(|| format!("sbatch answered `{}`", text.trim()))
}
