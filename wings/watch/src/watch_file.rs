//! Watch files: study files whose systems follow from the watched range.

use assay_plan::{SubjectTable, parse_budget_s};
use clap::Args;
use serde::Deserialize;

/// The `[watch]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[group(skip)]
pub(super) struct WatchRequest {
    /// The name under which the ledger keeps its studies [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,

    /// The releases, the baseline first, such as `mariadb@11.4.5..11.8`, or a repository: `postgres@git:../postgres`
    #[arg(long, value_name = "PRODUCT@A..B", required = false)]
    pub(super) range: String,

    /// The commits of the repository, the baseline first, such as `REL_17_0..master`
    #[arg(long, value_name = "BASELINE..BRANCH")]
    pub(super) commits: Option<String>,

    /// Consider only commits that change one of these files or directories
    #[arg(long, value_name = "PATH,...", value_delimiter = ',')]
    pub(super) paths: Vec<String>,

    /// Time limit of the searches of a run, such as `2h`
    #[arg(long = "searches", value_name = "TIME", value_parser = parse_budget_s)]
    #[serde(rename = "searches")]
    pub(super) searches_s: Option<f64>,
}

impl SubjectTable for WatchRequest {
    const KEY: &'static str = "watch";
    const HOME: &'static str = "in the `[watch]` table";
    const MISSING: &'static str = "`[watch]`, which says what is watched, is missing";
    const EXAMPLE: &'static str = "for example `[watch]` with `range = \"mariadb@11.4.5..11.8\"`";

    fn lacks(&self) -> Option<&'static str> {
        self.range.is_empty().then_some("`range`, the versions to watch, is missing")
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Counting;
    use assay_plan::{FileError, Request, read_subject};

    use super::WatchRequest;

    fn read_watch(text: &str) -> Result<(WatchRequest, Request), FileError> {
        read_subject("w.toml", text)
    }

    #[test]
    fn a_watch_file_is_a_study_file_whose_systems_follow() {
        let text = "tests = [\"scan\"]\ncount = \"only\"\n[watch]\nrange = \"postgres@git:../pg\"\n\
                    commits = \"a..b\"\npaths = [\"src\", \"contrib\"]\nsearches = \"2h\"\n[[setup]]\nrows = 10_000\n";
        let (watch, request) = read_watch(text).unwrap();
        assert_eq!(watch.range, "postgres@git:../pg");
        assert_eq!((watch.commits.as_deref(), watch.searches_s), (Some("a..b"), Some(7200.0)));
        assert_eq!(watch.paths, ["src", "contrib"]);
        assert_eq!((request.tests[0].as_str(), request.count), ("scan", Counting::Only));
        assert_eq!(request.setups[0].rows, Some(10_000));
        assert!(request.systems.is_empty());
    }

    #[test]
    fn what_is_wrong_with_a_watch_file_is_said() {
        for (text, message) in [
            ("tests = [\"scan\"]\n", "`[watch]`, which says what is watched, is missing"),
            ("watch = 1\n", "must be a table, written `[watch]`"),
            ("[watch]\n", "`range`, the versions to watch, is missing"),
            ("compare = [\"mariadb@11.8\"]\n[watch]\nrange = \"x\"\n", "unknown key `compare`"),
            ("[watch]\nrange = \"x\"\nsearches = \"soon\"\n", "soon"),
            ("[watch]\nrnage = \"x\"\n", "unknown key `rnage`"),
            ("[watch]\nrange = 7\n", "range"),
        ] {
            let error = read_watch(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
