//! `assay repro`: its files show the same direction without assay.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Place;

const OWN: &str = r#"
[table.account]
rows = "20k"
create = "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL, note VARCHAR(20))"
[table.account.columns]
id = { sequence = 1 }
balance = { uniform = [1, 9] }
note = "it's"

[test.pay]
let.a = { uniform = "account" }
let.b = { uniform = "account" }
let.note = { one-of = ["it's", 'a\\b', "50%"] }
steps = [
  { sql = "SELECT balance FROM account WHERE id = :a", keep = "balance" },
  "SELECT SUM(balance) FROM account WHERE id IN (:a, :b, 1, 2, 3)",
  "UPDATE account SET balance = :balance + 1, note = :note WHERE id = :b",
]

[test.look]
let.a = { uniform = "account" }
steps = ["SELECT SUM(balance) FROM account WHERE id IN (:a, 1, 2, 3)"]
"#;

/// Few enough that reading all rows for each takes no minutes while data are aged.
const FEW_ROWS: [&str; 2] = ["--rows", "2k"];

/// Without an index, Postgres reads the whole table for a row.
const NO_INDEX: &str = "enable_indexscan=off+enable_bitmapscan=off+enable_indexonlyscan=off";

/// Without memory for ranges, so does MySQL for a list of values.
const NO_RANGES: &str = "range_optimizer_max_mem_size=1";

/// With too little weight for its ranges, so does MariaDB.
const NO_WEIGHT: &str = "optimizer_max_sel_arg_weight=1";

struct ShownFinding<'a> {
    place: &'a Place,
    directory: PathBuf,
}

/// Measures a system with and without an option.
#[track_caller]
fn measured(system: &str, option: &str, what: &[&str]) -> Place {
    let place = Place::with(system);
    let other = format!("{system}+{option}");
    let workload = place.ledger().with_file_name("own.toml");
    fs_err::write(&workload, OWN).unwrap();
    let what = what.iter().map(|it| it.replace("OWN", workload.to_str().unwrap()));
    let what: Vec<String> = what.collect();
    let mut compare = vec!["compare", system, &other, "--preset", "smoke", "--offline"];
    compare.extend(["--quiet", "--budget", "20m", "--key", "blocks=2,rounds=4"]);
    compare.extend(["--key", "slice=50ms"]);
    compare.extend(what.iter().map(String::as_str));
    let compared = place.run_to_end(&compare);
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    place
}

impl<'a> ShownFinding<'a> {
    #[track_caller]
    fn new(place: &'a Place, test: &str) -> Self {
        let directory = place.ledger().with_file_name(format!("finding-{}", test.replace('*', "")));
        let path = directory.to_str().unwrap();
        let repro = ["repro", "latest", "--test", test, "-o", path];
        let written = place.run_to_end(&repro);
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        shellcheck(&directory);
        assert_eq!(place.run_to_end(&repro).status.code(), Some(2));
        Self { place, directory }
    }

    fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.directory.join(name)).unwrap()
    }

    fn replace(&self, from: &str, to: &str) {
        let script = self.read("run.sh");
        assert_eq!(script.matches(from).count(), 1, "{script}");
        fs_err::write(self.directory.join("run.sh"), script.replace(from, to)).unwrap();
    }

    /// Leaves a fifth of the events of a turn, which take seconds. `last` begins the last statement of each.
    #[track_caller]
    fn shorten(&self, last: &str) {
        let script = self.read("run.sh");
        let events = script.lines().find_map(|line| line.strip_prefix("events=")).unwrap();
        let few = events.parse::<usize>().unwrap().div_ceil(5);
        self.replace(&format!("\nevents={events}\n"), &format!("\nevents={few}\n"));
        for turn in fs_err::read_dir(self.directory.join("statements")).unwrap() {
            let turn = turn.unwrap().path();
            let statements = fs_err::read_to_string(&turn).unwrap();
            let (end, _) =
                statements.match_indices(last).nth(few).unwrap_or((statements.len(), ""));
            fs_err::write(&turn, &statements[..end]).unwrap();
        }
    }

    /// Runs the script; returns its direction and its progress. On a busy machine, a run may report no direction;
    /// another one may find it.
    #[track_caller]
    fn run(&self, pairs: u32) -> [String; 2] {
        let mut runs = (0..RUNS_MAX).map(|_| self.run_once(pairs));
        let [message, steps] = runs.find(|[message, _]| !message.contains(NO_DIRECTION)).unwrap();
        assert!(message.contains("OTHER is slower than BASE"), "{message}");
        assert!(message.contains("the direction is the same"), "{message}");
        [message, steps]
    }

    #[track_caller]
    fn run_once(&self, pairs: u32) -> [String; 2] {
        let records = self.place.records();
        let prefix = &records[0].systems[0].artifact.prefix().unwrap().path;
        let run = Command::new(self.directory.join("run.sh"))
            .env("BASE", prefix)
            .env("OTHER", prefix)
            .env("PAIRS", pairs.to_string())
            .env("TURN", "1")
            .output()
            .unwrap();
        let [message, steps] =
            [run.stdout, run.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        assert!(run.status.success(), "{message}{steps}");
        // Without a direction, it does not say in how many pairs there is one.
        let is_clear = message.contains(&format!("{pairs} pairs\n"));
        assert!(is_clear || message.contains(NO_DIRECTION), "{message}");
        [message, steps]
    }
}

const NO_DIRECTION: &str = "no clear direction";

const RUNS_MAX: usize = 6;

#[track_caller]
fn shellcheck(directory: &Path) {
    let checked = Command::new("shellcheck").arg(directory.join("run.sh")).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

const AGAIN: &str = "loading the data again";

#[test]
fn sysbench_shows_a_slowdown_of_mysql() {
    let what = [&FEW_ROWS[..], &["--tests", "random-points_range=10"]].concat();
    let place = measured("mysql@5.7", NO_RANGES, &what);
    let shown = ShownFinding::new(&place, "random-points*");
    // Without `--test`, it is the one with the largest slowdown.
    let directory = shown.directory.with_file_name("again");
    let written = place.run_to_end(&["repro", "latest", "-o", directory.to_str().unwrap()]);
    let message = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{message}");
    assert!(
        message.contains("shows `random-points_range=10`") && message.contains("tar -czf"),
        "{message}"
    );
    only_for_its_own_user(&place);
    let [_, steps] = shown.run(4);
    assert!(!steps.contains(AGAIN), "{steps}");
}

/// The study has ended and is its user's own. Only this user gets executable files from it, and no user gets any from
/// an imported copy.
fn only_for_its_own_user(place: &Place) {
    let directory = place.ledger().with_file_name("theirs");
    let repro = ["repro", "latest", "-o", directory.to_str().unwrap()];
    let refused = |output: std::process::Output| {
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains("is foreign"), "{message}");
        assert!(!directory.exists());
    };
    let other = place.run().join("other");
    refused(place.command(&repro).env("XDG_STATE_HOME", other).output().unwrap());
    let ledger = place.ledger();
    let import = ["import", "ledger", ledger.to_str().unwrap()];
    let copy = place.ledger().with_file_name("copy.db");
    let imported = place.command(&import).env("ASSAY_LEDGER", &copy).output().unwrap();
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    refused(place.command(&repro).env("ASSAY_LEDGER", &copy).output().unwrap());
}

#[test]
fn pgbench_shows_a_slowdown_of_postgres() {
    let what = [&FEW_ROWS[..], &["--tests", "point-query"]].concat();
    ShownFinding::new(&measured("postgres@16", NO_INDEX, &what), "point-query").run(4);
}

/// Rows that a test uses up are loaded again, so there is no limit on the number of pairs.
#[test]
fn pgbench_shows_a_slowdown_in_a_test_that_uses_up_rows() {
    let place = measured("postgres@16", NO_INDEX, &["--tests", "delete"]);
    let shown = ShownFinding::new(&place, "delete");
    assert!(shown.read("README.md").contains("loads the data again after every 10 pairs"));
    assert!(shown.read("run.sh").contains("# BASE was postgres@16 (16."));
    assert!(!shown.read("README.md").contains("TURN"), "its turns have a number of events");
    let [_, steps] = shown.run(11);
    assert_eq!(steps.matches(AGAIN).count(), 1, "{steps}");
}

#[test]
fn the_plain_client_shows_slowdowns_of_an_own_read_and_an_own_write() {
    let tests = ["--workload", "OWN", "--tests", "look,pay"];
    let place = measured("mariadb@11.8", NO_WEIGHT, &tests);
    let shown = ShownFinding::new(&place, "look");
    shown.shorten("SELECT SUM(");
    // There are statements for three turns, which change nothing.
    let [_, steps] = shown.run(4);
    assert!(!steps.contains(AGAIN), "{steps}");
    an_own_write_is_shown(&place);
}

#[test]
fn the_plain_client_shows_a_slowdown_of_an_own_write_on_postgres() {
    let tests = ["--workload", "OWN", "--tests", "pay"];
    an_own_write_is_shown(&measured("postgres@16", NO_INDEX, &tests));
}

#[track_caller]
fn an_own_write_is_shown(place: &Place) {
    let shown = ShownFinding::new(place, "pay");
    // Twelve turns take minutes.
    shown.replace("\nlasts=12\n", "\nlasts=2\n");
    shown.shorten("UPDATE account");
    let [_, steps] = shown.run(4);
    assert_eq!(steps.matches(AGAIN).count(), 1, "{steps}");
}

#[test]
fn a_script_of_sysbench_is_shown_on_servers_that_run() {
    let place = Place::new();
    let start = |name: &str| -> serde_json::Value {
        let args = ["server", "start", "mariadb@10.11", "--offline", "--name", name];
        let started = place.run_to_end(&[&args[..], &["--format", "json"]].concat());
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        serde_json::from_slice(&started.stdout).unwrap()
    };
    let (base, other) = (start("base"), start("other"));
    let url = |server: &serde_json::Value| server["url"].as_str().unwrap().to_owned();
    let test = ["--suite", "oltp", "--tests", "oltp_point_select"];
    let short = ["--preset", "smoke", "--quiet", "--budget", "15s", "--key", "blocks=1"];
    let (base_url, other_url) = (url(&base), url(&other));
    let systems = ["compare", &base_url, &other_url];
    let compared = place.run_to_end(&[&systems[..], &test, &short].concat());
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    let directory = place.ledger().with_file_name("finding");
    let path = directory.to_str().unwrap();
    let repro = ["repro", "latest", "--test", "oltp_point_select", "-o", path];
    let written = place.run_to_end(&repro);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    shellcheck(&directory);
    let readme = fs_err::read_to_string(directory.join("README.md")).unwrap();
    assert!(readme.contains("Both must be running."), "{readme}");
    assert!(!readme.contains("starts both servers"), "{readme}");
    let socket = |server: &serde_json::Value| server["socket"].as_str().unwrap().to_owned();
    let run = Command::new(directory.join("run.sh"))
        .envs([("BASE_SOCKET", socket(&base)), ("OTHER_SOCKET", socket(&other))])
        .envs([("PAIRS", "2"), ("TURN", "1"), ("DB_USER", "root")])
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{message}{}", String::from_utf8_lossy(&run.stderr));
    assert!(message.contains("ratio "), "{message}");
    for name in ["base", "other"] {
        assert!(place.run_to_end(&["server", "stop", name]).status.success());
    }
    place.assert_nothing_left();
}
