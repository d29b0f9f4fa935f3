//! Source trees in git repositories, which are only read: no worktree, branch or index changes.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_model::{Login, without_logins};
use fs_err as fs;
use percent_encoding::percent_decode_str;
use rustix::process::getpgrp;

use crate::error::{ProvisionError, Result};
use crate::programs;
use crate::provisioner::Provisioner;

/// Environment variables that change git's behaviour. None of them is meant for these calls.
const FOREIGN: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"];

#[derive(Debug, Clone)]
pub(super) struct Repository {
    pub(super) place: String,
    directory: PathBuf,
    worktree: Option<PathBuf>,
    login: Option<Login>,
}

#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) repository: Repository,
    pub(super) id: String,
}

/// A part of a tree that is a commit of another repository.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Submodule {
    path: String,
    commit: String,
}

/// `PATH#REF` or `URL#REF`; without a ref, the checked-out commit or the URL's default branch.
pub(super) fn split(reference: &str) -> (&str, &str) {
    match reference.rsplit_once('#') {
        Some((place, "")) => (place, "HEAD"),
        Some((place, name)) => (place, name),
        None => (reference, "HEAD"),
    }
}

pub(super) fn is_remote(place: &str) -> bool {
    let scp = || place.split_once(':').is_some_and(|(host, _)| host.contains('@'));
    place.contains("://") || (scp() && !Path::new(place).exists())
}

impl Repository {
    pub(super) fn local(place: &str) -> Result<Self> {
        let path = fs::canonicalize(place)?;
        let mut command = git();
        command.arg("-C").arg(&path).args(["rev-parse", "--absolute-git-dir"]);
        let directory = PathBuf::from(said(place, command)?.trim());
        if directory.as_os_str().is_empty() {
            let detail = "is not a repository".to_owned();
            return Err(ProvisionError::Git { place: place.to_owned(), detail });
        }
        Ok(Self { place: place.to_owned(), directory, worktree: Some(path), login: None })
    }

    /// The fetched part of a remote repository, in a directory of the cache.
    pub(super) fn mirrored(place: &str, directory: &Path, login: Option<Login>) -> Result<Self> {
        if !directory.join("objects").is_dir() {
            fs::create_dir_all(directory)?;
            let mut command = git();
            command.args(["init", "--quiet", "--bare"]).arg(directory);
            said(place, command)?;
        }
        Ok(Self { place: place.to_owned(), directory: directory.to_owned(), worktree: None, login })
    }

    /// Without its history.
    pub(super) fn fetch(&self, name: &str) -> Result<()> {
        let mut command = self.git();
        if let Some(login) = &self.login {
            log_in(login, &mut command);
        }
        command.args(["fetch", "--quiet", "--depth=1", "--no-tags", "--", &self.place]);
        // In hexadecimal, as not every ref name can be the end of another one.
        command.arg(format!("+{name}:refs/assay/{}", hex::encode(name)));
        // Its ssh may ask for a password, which requires the terminal's foreground.
        command.process_group(getpgrp().as_raw_nonzero().get());
        said(&self.place, command).map(drop)
    }

    /// The commit of a ref; for a remote repository, the fetched one.
    pub(super) fn commit(&self, name: &str) -> Result<Commit> {
        let wanted = match self.worktree {
            Some(_) => format!("{name}^{{commit}}"),
            None => format!("refs/assay/{}^{{commit}}", hex::encode(name)),
        };
        let id = self.said(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
        let id = id.map_err(|_| ProvisionError::Git {
            place: self.place.clone(),
            detail: format!("has no commit `{name}`"),
        })?;
        Ok(Commit { repository: self.clone(), id: id.trim().to_owned() })
    }

    pub(super) fn said(&self, words: &[&str]) -> Result<String> {
        let mut command = self.git();
        command.args(words);
        said(&self.place, command)
    }

    fn git(&self) -> Command {
        let mut command = git();
        command.arg("--git-dir").arg(&self.directory);
        command
    }

    fn submodule(&self, submodule: &Submodule) -> Option<Self> {
        let modules = self.directory.join("modules").join(&submodule.path);
        let checked_out = self.worktree.as_ref().map(|it| it.join(&submodule.path));
        let bare = modules.join("objects").is_dir().then_some((modules, checked_out.clone()));
        let beside = checked_out.filter(|it| it.join(".git").exists()).and_then(|it| {
            let found = Self::local(it.to_str()?).ok()?;
            Some((found.directory, found.worktree))
        });
        let (directory, worktree) = bare.or(beside)?;
        let place = format!("{}/{}", self.place, submodule.path);
        let found = Self { place, directory, worktree, login: None };
        found.commit(&submodule.commit).is_ok().then_some(found)
    }
}

impl Commit {
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let names = self.repository.said(&["ls-tree", "--name-only", "-z", &self.id])?;
        Ok(names.split_terminator('\0').map(str::to_owned).collect())
    }

    pub(super) fn file(&self, path: &str) -> Result<String> {
        self.repository.said(&["cat-file", "blob", &format!("{}:{path}", self.id)])
    }

    pub(super) fn described(&self) -> String {
        let words = ["describe", "--tags", "--always", "--abbrev=12", &self.id];
        let short = || self.id.chars().take(12).collect();
        self.repository.said(&words).map_or_else(|_| short(), |name| name.trim().to_owned())
    }

    /// Writes its files to a directory that does not exist yet. Returns the submodules omitted because they are
    /// missing. git also holds the `lock` while it writes there.
    pub(super) fn check_out(
        &self,
        to: &Path,
        needed: &[String],
        lock: &fs::File,
    ) -> Result<Vec<String>> {
        fs::create_dir_all(to)?;
        let scratch = tempfile::tempdir()?;
        let index = scratch.path().join("index");
        for arguments in [&["read-tree", self.id.as_str()][..], &["checkout-index", "--all"]] {
            let mut command = self.repository.git();
            command.arg("--work-tree").arg(to).args(arguments);
            command.env("GIT_INDEX_FILE", &index).current_dir(to);
            command.stdin(Stdio::from(lock.file().try_clone()?));
            said(&self.repository.place, command)?;
        }
        let mut missing = Vec::new();
        for submodule in self.submodules()? {
            let Some(repository) = self.repository.submodule(&submodule) else {
                if needed.contains(&submodule.path) {
                    let (place, path) = (self.repository.place.clone(), submodule.path);
                    return Err(ProvisionError::SubmoduleMissing {
                        place,
                        path,
                        commit: submodule.commit,
                    });
                }
                missing.push(submodule.path);
                continue;
            };
            let commit = Commit { repository, id: submodule.commit };
            let below = commit.check_out(&to.join(&submodule.path), &[], lock)?;
            missing.extend(below.into_iter().map(|it| format!("{}/{it}", submodule.path)));
        }
        Ok(missing)
    }

    fn submodules(&self) -> Result<Vec<Submodule>> {
        Ok(links(&self.repository.said(&["ls-tree", "-r", "-z", &self.id])?))
    }
}

/// The submodules among the entries of a tree, which are `MODE KIND ID<tab>PATH<nul>`.
fn links(listing: &str) -> Vec<Submodule> {
    let entries = listing.split_terminator('\0');
    let links = entries.filter_map(|entry| {
        let (commit, path) = entry.strip_prefix("160000 commit ")?.split_once('\t')?;
        Some(Submodule { path: path.to_owned(), commit: commit.to_owned() })
    });
    links.collect()
}

/// Lets git use a login, for this host only. The login is in the environment, which only the user can read: a command
/// line can be read by all users, even that of git's own helpers.
fn log_in(login: &Login, command: &mut Command) {
    let host = login.address.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let answer = "!f() { test \"$1\" != get || \
        printf 'username=%s\\npassword=%s\\n' \"$ASSAY_GIT_USER\" \"$ASSAY_GIT_PASSWORD\"; }; f";
    // None of the user's own helpers: they would keep it.
    command.args(["-c", "credential.helper=", "-c", &format!("credential.{host}.helper={answer}")]);
    for (name, value) in [("USER", &login.user), ("PASSWORD", &login.password)] {
        let decoded = percent_decode_str(value.reveal()).decode_utf8_lossy();
        // A line is a field of the answer.
        let line = decoded.lines().next().unwrap_or_default();
        command.env(format!("ASSAY_GIT_{name}"), line);
    }
}

fn git() -> Command {
    let mut command = Command::new("git");
    FOREIGN.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
    // Away from the terminal, whose Ctrl-C is for assay alone.
    command.stdin(Stdio::null()).process_group(0);
    command
}

fn said(place: &str, mut command: Command) -> Result<String> {
    let output = programs::output(&mut command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => ProvisionError::ClientMissing { program: "git", package: "git" },
        _ => ProvisionError::Io(error),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let first = complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let detail = first.trim_start_matches("fatal: ").trim_start_matches("error: ");
    let detail = without_logins(detail);
    Err(ProvisionError::Git { place: place.to_owned(), detail })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryCommit {
    pub id: String,
    pub title: String,
    /// Whether it is an end that changes none of the paths.
    pub is_aside: bool,
}

impl Provisioner {
    /// The commits from one end to the other along first parents; between the ends, only those that change one of the
    /// paths, if any are given. If the ends are on different branches, the fork point follows the first end, then the
    /// commits from there to the last end.
    pub fn commits(
        &self,
        place: &str,
        [first, last]: [&str; 2],
        paths: &[String],
    ) -> Result<Vec<HistoryCommit>> {
        let wrong = |detail: String| ProvisionError::Git { place: place.to_owned(), detail };
        if is_remote(place) {
            return Err(wrong(
                "is on another machine; clone it, because its history is needed".into(),
            ));
        }
        let repository = Repository::local(place)?;
        let [first, last] = [repository.commit(first)?, repository.commit(last)?].map(|it| it.id);
        let fork = repository.said(&["merge-base", &first, &last]);
        let fork = fork.map_err(|_| wrong("has no common history of both ends".to_owned()))?;
        let fork = fork.trim().to_owned();
        if fork == last {
            return Err(wrong(
                "has the second end before the first one, or both are the same".into(),
            ));
        }
        let format = "--format=%H%x09%as %s";
        let range = format!("{fork}..{last}");
        let mut words = vec!["log", "--first-parent", "--reverse", format, &range, "--"];
        words.extend(paths.iter().map(String::as_str));
        let between = changes(&repository.said(&words)?);
        let mut all: Vec<HistoryCommit> = Vec::new();
        for id in [&first, &fork] {
            all.extend(changes(&repository.said(&["log", "--max-count=1", format, id])?));
        }
        all.extend(between.iter().cloned());
        all.extend(changes(&repository.said(&["log", "--max-count=1", format, &last])?));
        all.dedup_by(|one, other| one.id == other.id);
        let is_between = |id: &str| between.iter().any(|it| it.id == id);
        all.iter_mut().for_each(|it| it.is_aside = !is_between(&it.id));
        Ok(all)
    }
}

fn changes(listing: &str) -> Vec<HistoryCommit> {
    let commit = |line: &str| {
        let (id, title) = line.split_once('\t')?;
        Some(HistoryCommit { id: id.to_owned(), title: title.to_owned(), is_aside: false })
    };
    listing.lines().filter_map(commit).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::provisioner::ProvisionOptions;

    #[test]
    fn references_are_a_place_and_a_ref() {
        assert_eq!(split("../mysql-server#mysql-8.0.40"), ("../mysql-server", "mysql-8.0.40"));
        assert_eq!(split("/a#b#c"), ("/a#b", "c"));
        assert_eq!(split("/a#"), ("/a", "HEAD"));
        assert_eq!(split("/a"), ("/a", "HEAD"));
        assert!(is_remote("https://x/y.git") && is_remote("git@host:x/y.git"));
        assert!(!is_remote("../a:b") && !is_remote("/a@b"));
    }

    #[test]
    fn submodules_are_found_among_the_entries_of_a_tree() {
        let listing = "100644 blob 12\tVERSION\x00160000 commit ab\tlibmariadb\x00garbage\0";
        let expected = Submodule { path: "libmariadb".to_owned(), commit: "ab".to_owned() };
        assert_eq!(links(listing), [expected]);
    }

    fn git(directory: &std::path::Path, words: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        command.arg("-C").arg(directory).args(identity).args(words);
        assert!(command.output().unwrap().status.success(), "{words:?}");
    }

    #[test]
    fn commits_follow_first_parents_and_pass_where_branches_fork() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("r");
        fs_err::create_dir(&repository).unwrap();
        let commit = |name: &str| {
            fs_err::write(repository.join(name), name).unwrap();
            git(&repository, &["add", "."]);
            git(&repository, &["commit", "--quiet", "-m", name]);
        };
        git(&repository, &["init", "--quiet", "--initial-branch=main"]);
        commit("one");
        git(&repository, &["tag", "start"]);
        commit("two");
        git(&repository, &["checkout", "--quiet", "-b", "stable"]);
        commit("fix");
        git(&repository, &["checkout", "--quiet", "-b", "side", "main"]);
        commit("aside");
        git(&repository, &["checkout", "--quiet", "main"]);
        commit("three");
        git(&repository, &["merge", "--quiet", "--no-ff", "-m", "merged", "side"]);
        commit("four");
        let provisioner =
            Provisioner::new(folder.path().join("cache"), ProvisionOptions::default()).unwrap();
        let place = repository.to_str().unwrap();
        let message = |ends: [&str; 2], paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|&it| it.to_owned()).collect();
            let found = provisioner.commits(place, ends, &paths)?.into_iter();
            let subject = |it: HistoryCommit| it.title.split_once(' ').unwrap().1.to_owned();
            Ok::<_, ProvisionError>(found.map(subject).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(message(["start", "main"], &[]).unwrap(), "one two three merged four");
        assert_eq!(message(["start", "main"], &["three"]).unwrap(), "one three four");
        assert_eq!(message(["stable", "main"], &[]).unwrap(), "fix two three merged four");
        assert!(
            message(["main", "start"], &[]).unwrap_err().to_string().contains("before the first")
        );
        assert!(message(["start", "nowhere"], &[]).unwrap_err().to_string().contains("`nowhere`"));
    }
}
