//! Commits between two ends, for a search among them.

use super::repository::{Repository, is_remote};
use crate::error::Error;
use crate::provisioner::Provisioner;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
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
    ) -> Result<Vec<Change>, Error> {
        let wrong = |detail: String| Error::Git { place: place.to_owned(), detail };
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
        let mut all: Vec<Change> = Vec::new();
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

fn changes(listing: &str) -> Vec<Change> {
    let of = |line: &str| {
        let (id, title) = line.split_once('\t')?;
        Some(Change { id: id.to_owned(), title: title.to_owned(), is_aside: false })
    };
    listing.lines().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::provisioner::Options;

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
            Provisioner::new(folder.path().join("cache"), Options::default()).unwrap();
        let place = repository.to_str().unwrap();
        let message = |ends: [&str; 2], paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|&it| it.to_owned()).collect();
            let found = provisioner.commits(place, ends, &paths)?.into_iter();
            let subject = |it: Change| it.title.split_once(' ').unwrap().1.to_owned();
            Ok::<_, Error>(found.map(subject).collect::<Vec<_>>().join(" "))
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
