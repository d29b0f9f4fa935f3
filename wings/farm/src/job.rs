//! Directory of a job: its files, and how it is found again.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use assay_model::limits::SHARDS;
use assay_model::{Priority, ShardRun};
use assay_plan::{MachineFacts, Request, StudyPlan, shell_quoted};
use serde::{Deserialize, Serialize};

use assay_run::advice::HintedError;
use assay_run::systems::key;
use assay_run::{paths, whole_file};

pub(super) const STUDY_FILE: &str = "study.toml";

pub(super) const SCRIPT: &str = "job.sh";

const JOB: &str = "job.json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FarmJob {
    pub(super) dir: PathBuf,
    pub(super) study: String,
    pub(super) shards: u32,
    /// The scheduler's number; `None` before submission.
    pub(super) job: Option<u64>,
    /// Tasks write it into their ledgers, which proves that these belong to the job. Hexadecimal.
    pub(super) secret: String,
}

pub(super) fn jobs_dir() -> Result<PathBuf> {
    Ok(paths::made_state_dir()?.join("jobs"))
}

impl FarmJob {
    /// A job that is not submitted yet. A second one of the same study continues the measurements of the first, so it
    /// has the same secret.
    pub(super) fn new(dir: PathBuf, study: String, shards: u32) -> Result<Self> {
        let secret = Self::known(&study).map_or_else(new_secret, |job| Ok(job.secret))?;
        Ok(Self { dir, study, shards, job: None, secret })
    }

    /// Writes the job's data to the directory of all jobs and to its own. Only this user can read them.
    pub(super) fn write(&self) -> Result<()> {
        let known = jobs_dir()?.join(&self.study);
        fs_err::create_dir_all(&known)?;
        let text = serde_json::to_string(self)? + "\n";
        for place in [&known, &self.dir] {
            let mut file = tempfile::NamedTempFile::new_in(place)?;
            file.write_all(text.as_bytes())?;
            file.persist(place.join(JOB))?;
        }
        Ok(())
    }

    pub(super) fn known(study: &str) -> Option<Self> {
        let job = Self::read(&jobs_dir().ok()?.join(study)).ok()?;
        (job.study == study && !job.secret.is_empty()).then_some(job)
    }

    /// The job of a study whose name starts like this, or the last one submitted.
    pub(super) fn find(study: Option<&str>) -> Result<Self> {
        let wanted = study.unwrap_or_default();
        let entries = fs_err::read_dir(jobs_dir()?).into_iter().flatten().flatten();
        let jobs = entries.filter_map(|entry| {
            let written = fs_err::metadata(entry.path().join(JOB)).ok()?.modified().ok()?;
            Some((written, Self::read(&entry.path()).ok()?))
        });
        let latest = jobs.filter(|(_, job)| job.study.starts_with(wanted)).max_by_key(|it| it.0);
        match latest {
            Some((_, job)) => Ok(job),
            None => bail!(HintedError::new(
                "no job of such a study was submitted here",
                "`--dir` names the directory with the ledgers of its shards"
            )),
        }
    }

    fn read(dir: &Path) -> Result<Self> {
        let text = whole_file::text_of(&dir.join(JOB))?;
        let job: Self = serde_json::from_str(&text)?;
        anyhow::ensure!(SHARDS.contains(&job.shards), "a job has no {} shards", job.shards);
        Ok(job)
    }
}

/// The secret of the job with this directory, if it has this study.
pub(super) fn secret_in(dir: &Path, study: &str) -> Option<String> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    FarmJob::read(dir).ok().filter(|job| job.study == study).map(|job| job.secret)
}

pub(super) fn has_secret(shard: &ShardRun, secret: &str) -> bool {
    !secret.is_empty() && shard.secret == secret
}

fn new_secret() -> Result<String> {
    let mut bytes = [0_u8; 16];
    fs_err::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// Restarts of a task that reaches its time limit: one without progress must end.
const RESTARTS: u32 = 20;

/// Archive for the nodes, with servers and loaded data.
pub(super) const SERVERS: &str = "servers.tar";

#[derive(Debug, Clone, Copy)]
pub(super) enum NodeCache<'a> {
    /// In a directory that all nodes share.
    Shared(&'a Path),
    /// On the node's own disk, in a directory below this one that the task makes and removes.
    OnNode(&'a Path),
}

impl NodeCache<'_> {
    /// Lines of the script that create the cache, and define `leave`, which ends its use.
    fn lines(self, study: &str) -> String {
        let quoted = |path: &Path| shell_quoted(&path.to_string_lossy());
        match self {
            Self::Shared(cache) => {
                format!("export ASSAY_CACHE={}\nleave() {{ :; }}\n", quoted(cache))
            }
            Self::OnNode(dir) => format!(
                "node_dir={}
remove() {{ chmod -R u+w \"$1\"; rm -rf \"$1\"; }}
leave() {{ remove \"$ASSAY_CACHE\"; }}
# Remove what killed tasks have left. A running task holds the lock of its directory.
for left in \"$node_dir\"/{study}.*; do
    # Other users may have put something here: a link, or a pipe that nobody can open without waiting.
    if [ ! -L \"$left\" ] && [ -O \"$left\" ] && [ -f \"$left/in-use\" ]; then
        ! timeout 10 flock --nonblock \"$left/in-use\" true || remove \"$left\"
    fi
done
# Nothing else uses this directory, not even another attempt at the same shard.
export ASSAY_CACHE=\"$node_dir/{study}.$SLURM_JOB_ID.${{SLURM_RESTART_COUNT:-0}}.$SLURMD_NODENAME\"
mkdir -p \"$node_dir\" && mkdir -m 700 \"$ASSAY_CACHE\" || exit 1
trap leave EXIT
exec 9> \"$ASSAY_CACHE/in-use\" && flock 9 &&
    # sbcast fails if slurmd does not run as root.
    {{ sbcast --force {SERVERS} \"$ASSAY_CACHE/{SERVERS}\" || cp {SERVERS} \"$ASSAY_CACHE/\"; }} &&
    tar -C \"$ASSAY_CACHE\" -xf \"$ASSAY_CACHE/{SERVERS}\" &&
    rm \"$ASSAY_CACHE/{SERVERS}\" || exit 1
",
                quoted(dir)
            ),
        }
    }
}

/// The script of a task, which measures one shard into its own ledger. `assay` is the path of the program.
pub(super) fn script(study: &str, shards: u32, assay: &Path, cache: NodeCache<'_>) -> String {
    let mut script = format!(
        "#!/bin/bash
# Measures one shard of study {study}. `assay submit` wrote this file.
set -u
{}again=no
assay=
# The time limit is near: end after the current round, and go on in another allocation.
trap 'again=yes; [ -z \"$assay\" ] || kill -TERM \"$assay\"' USR1
trap '[ -z \"$assay\" ] || kill -TERM \"$assay\"' TERM
",
        cache.lines(study)
    );
    let _ = write!(
        script,
        "{} run {STUDY_FILE} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\" --offline --quiet \\
    --ledger \"shard-$SLURM_ARRAY_TASK_ID.$SLURMD_NODENAME.db\" &
assay=$!
wait \"$assay\"
code=$?
# A signal ends `wait`, not assay.
while kill -0 \"$assay\" 2>/dev/null; do
    wait \"$assay\"
    code=$?
done
if [ \"$code\" -gt 128 ]; then
    wait \"$assay\"
    code=$?
fi
if [ \"$code\" = 4 ] && [ \"$again\" = yes ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {RESTARTS} ]; then
    leave
    exec scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\"
fi
exit \"$code\"
",
        shell_quoted(&assay.to_string_lossy())
    );
    script
}

/// Options of `sbatch` for a job with a task, each on its own node, for each shard.
pub(super) fn sbatch_options(study: &str, shards: u32, dir: &Path) -> Vec<String> {
    let fixed = [
        "--parsable",
        "--nodes=1",
        "--exclusive",
        "--requeue",
        "--open-mode=append",
        "--signal=B:USR1@60",
        "--output=task-%a.log",
    ];
    let mut options: Vec<String> = fixed.map(str::to_owned).into();
    options.push(format!("--job-name={study}"));
    options.push(format!("--array=1-{shards}"));
    options.push(format!("--chdir={}", dir.display()));
    options
}

const NAME: &str = "shards-";
const DIGEST: usize = 12;

/// Name of a study with shards: a digest of the request, with the tests and setups that this machine plans. Shards of
/// machines that plan other tests belong to another study.
pub(crate) fn name(plan: &StudyPlan, of: u32) -> Result<String> {
    let study = &plan.study;
    // Paths differ between machines. The file's content is in the tests.
    let request = assay_plan::request_of(study)?;
    let (workload, offline, accept_expired_index) = (Vec::new(), false, false);
    let config_options = assay_plan::without_places(&request.config_options);
    let request = Request { workload, offline, accept_expired_index, config_options, ..request };
    let recipe = assay_plan::write_study(&request);
    let cells =
        study.cells.iter().map(|cell| (&cell.id.test.name, &cell.id.test.digest, cell.id.setup));
    let cells = serde_json::to_string(&cells.collect::<Vec<_>>())?;
    let version = format!("{} {}", study.assay_version, study.workload_version);
    let digest = key(&[&recipe, &cells, &version, &of.to_string()]);
    Ok(format!("{NAME}{}", digest.get(..DIGEST).unwrap_or(&digest)))
}

/// Facts of the machine for the plan of a shard. Nodes may have different permissions, and a study has one priority:
/// real-time priority is used only if the study asks for it, and then every node must permit it.
pub(crate) fn on_a_node(machine: MachineFacts, request: &Request) -> MachineFacts {
    let realtime = machine.realtime.filter(|_| request.priority == Some(Priority::Realtime));
    MachineFacts { realtime, ..machine }
}
