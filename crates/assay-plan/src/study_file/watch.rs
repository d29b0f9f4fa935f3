//! Watch files: study files whose systems follow from the watched range.

use assay_options::parse_budget_s;
use clap::Args;
use serde::Deserialize;

use super::options::{WATCH, keys_of, read};
use super::read::options;
use crate::document::{FileFault, FileResult, FileTable, parse};
use crate::request::{Request, SetupRequest};

/// What is watched: the `[watch]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[group(skip)]
pub struct WatchRequest {
    /// The name under which the ledger keeps its studies [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// The releases, the baseline first, such as `mariadb@11.4.5..11.8`, or a repository: `postgres@git:../postgres`
    #[arg(long, value_name = "PRODUCT@A..B", required = false)]
    pub range: String,

    /// The commits of the repository, the baseline first, such as `REL_17_0..master`
    #[arg(long, value_name = "BASELINE..BRANCH")]
    pub commits: Option<String>,

    /// Consider only commits that change one of these files or directories
    #[arg(long, value_name = "PATH,...", value_delimiter = ',')]
    pub paths: Vec<String>,

    /// Time limit of the searches of a run, such as `2h`
    #[arg(long = "searches", value_name = "TIME", value_parser = parse_budget_s)]
    #[serde(rename = "searches")]
    pub searches_s: Option<f64>,
}

const TABLES: [&str; 4] = ["setup", "oltp", "tpcc", WATCH];

const EXAMPLE: &str = "for example `[watch]` with `range = \"mariadb@11.4.5..11.8\"`";

pub(super) fn watch(text: &str) -> FileResult<(WatchRequest, Request)> {
    let document = parse(text)?;
    let file = FileTable::new(text, document.get_ref(), homes);
    file.refuse_unknown(&[keys_of::<Request>(), &TABLES].concat())?;
    let Some(value) = file.get(WATCH) else {
        return Err(
            FileFault::of_file("`[watch]`, which says what is watched, is missing").hint(EXAMPLE)
        );
    };
    let table = value.table("a table, written `[watch]`")?;
    table.refuse_unknown(keys_of::<WatchRequest>())?;
    let watch: WatchRequest = read(&table)?;
    if watch.range.is_empty() {
        return Err(value.fault("`range`, the versions to watch, is missing").hint(EXAMPLE));
    }
    Ok((watch, options(&file)?))
}

fn homes() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("at the top of the file, before all tables", keys_of::<Request>()),
        ("in a `[[setup]]` table", keys_of::<SetupRequest>()),
        ("in the `[watch]` table", keys_of::<WatchRequest>()),
    ]
}

#[cfg(test)]
mod tests {
    use assay_model::Counting;

    use crate::read_watch;

    #[test]
    fn a_watch_file_is_a_study_file_whose_systems_follow() {
        let text = "tests = [\"scan\"]\ncount = \"only\"\n[watch]\nrange = \"postgres@git:../pg\"\n\
                    commits = \"a..b\"\npaths = [\"src\", \"contrib\"]\nsearches = \"2h\"\n[[setup]]\nrows = 10_000\n";
        let (watch, request) = read_watch("w.toml", text).unwrap();
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
            let error = read_watch("w.toml", text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
