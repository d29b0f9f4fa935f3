//! Source trees in git repositories, which are only read: no worktree, branch or index changes.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_model::{Login, without_logins};
use fs_err as fs;
use percent_encoding::percent_decode_str;
use rustix::process::getpgrp;

use crate::error::Error;
use crate::programs;

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
    pub(super) fn local(place: &str) -> Result<Self, Error> {
        let wrong =
            |detail: &str| Error::Git { place: place.to_owned(), detail: detail.to_owned() };
        let path = fs::canonicalize(place)?;
        let mut command = git();
        command.arg("-C").arg(&path).args(["rev-parse", "--absolute-git-dir"]);
        let directory = PathBuf::from(said(place, command)?.trim());
        if directory.as_os_str().is_empty() {
            return Err(wrong("is not a repository"));
        }
        Ok(Self { place: place.to_owned(), directory, worktree: Some(path), login: None })
    }

    /// The fetched part of a remote repository, in a directory of the cache.
    pub(super) fn mirrored(
        place: &str,
        directory: &Path,
        login: Option<Login>,
    ) -> Result<Self, Error> {
        if !directory.join("objects").is_dir() {
            fs::create_dir_all(directory)?;
            let mut command = git();
            command.args(["init", "--quiet", "--bare"]).arg(directory);
            said(place, command)?;
        }
        Ok(Self { place: place.to_owned(), directory: directory.to_owned(), worktree: None, login })
    }

    /// Without its history.
    pub(super) fn fetch(&self, name: &str) -> Result<(), Error> {
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
    pub(super) fn commit(&self, name: &str) -> Result<Commit, Error> {
        let wanted = match self.worktree {
            Some(_) => format!("{name}^{{commit}}"),
            None => format!("refs/assay/{}^{{commit}}", hex::encode(name)),
        };
        let mut command = self.git();
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
        let id = said(&self.place, command).map_err(|_| Error::Git {
            place: self.place.clone(),
            detail: format!("has no commit `{name}`"),
        })?;
        Ok(Commit { repository: self.clone(), id: id.trim().to_owned() })
    }

    pub(super) fn said(&self, words: &[&str]) -> Result<String, Error> {
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
    pub(super) fn names(&self) -> Result<Vec<String>, Error> {
        let mut command = self.repository.git();
        command.args(["ls-tree", "--name-only", "-z", &self.id]);
        let names = said(&self.repository.place, command)?;
        Ok(names.split_terminator('\0').map(str::to_owned).collect())
    }

    pub(super) fn file(&self, path: &str) -> Result<String, Error> {
        let mut command = self.repository.git();
        command.args(["cat-file", "blob", &format!("{}:{path}", self.id)]);
        said(&self.repository.place, command)
    }

    pub(super) fn described(&self) -> String {
        let mut command = self.repository.git();
        command.args(["describe", "--tags", "--always", "--abbrev=12", &self.id]);
        let short = || self.id.chars().take(12).collect();
        said(&self.repository.place, command).map_or_else(|_| short(), |it| it.trim().to_owned())
    }

    /// Writes its files to a directory that does not exist yet. Returns the submodules omitted because they are
    /// missing. git also holds the `lock` while it writes there.
    pub(super) fn check_out(
        &self,
        to: &Path,
        needed: &[String],
        lock: &fs::File,
    ) -> Result<Vec<String>, Error> {
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
                    return Err(Error::SubmoduleMissing { place, path, commit: submodule.commit });
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

    fn submodules(&self) -> Result<Vec<Submodule>, Error> {
        let mut command = self.repository.git();
        command.args(["ls-tree", "-r", "-z", &self.id]);
        Ok(links(&said(&self.repository.place, command)?))
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

fn said(place: &str, mut command: Command) -> Result<String, Error> {
    let output = programs::output(&mut command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::ClientMissing { program: "git", package: "git" },
        _ => Error::Io(error),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let first = complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let detail = first.trim_start_matches("fatal: ").trim_start_matches("error: ");
    let detail = without_logins(detail);
    Err(Error::Git { place: place.to_owned(), detail })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
