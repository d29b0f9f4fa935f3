//! Tests of command lines, and of the recipes that repeat them.

use std::ffi::OsString;

use assay_command::keys::joined;
use assay_gate::GateArgs;
use assay_insert_bench::InsertBench;
use assay_plan::Request;
use clap::FromArgMatches as _;

use crate::commands::{WELCOME, command};
use crate::compare::Compare;

/// The command in a report asks for the same study, whichever options it came from.
#[test]
fn the_command_of_a_recipe_gives_the_same_request() {
    for typed in [
        "x@1 y@2",
        "x@1 y@2 --tests point*,oltp_read_only --set 47 --seed 7 --no-twin",
        "x@1+x=y x@1+x=y --source maven --terms published --preset standard --budget 90 --threshold 0.5% --twin",
        "x@1 y@2 --clients 1-3,8 --tables 1k --rows 1.5M --key slice=0.25,write-slice=1m30s",
        "x@1 y@2 --key blocks=3,rounds=9 --placement free --db-ps-mode disable",
        "x@1/rocksdb x@dir:/opt/m --preset published --threads 2 --table-size 5M",
        "mysql://u@h:1/d x@1 --preset smoke",
        "--base x@1 --other y@2 --max-slowdown 3% --terms published",
        "gate x@1 y@2 x@2 --max-slowdown 3%",
        "x@1 y@2 --suite oltp -- --range-size 1000 --range-selects=off --skip-trx --rand-type zipfian",
        "x@1 y@2 --suite oltp --tests oltp_read* --clients 1,2,4 -- --rand-zipfian-exp 1 --delta 7",
        "x@1 y@2 --suite oltp -- --auto-inc=off --create-secondary=off --create-table-options A=B",
        "gate x@1 y@2 --max-slowdown 3% --suite tpcc -- --warehouses=2 --procedures=on --think-times",
        "x@1 y@2 --workload a.lua --key allow-script-io=true -- --tables=4",
        "x@1 y@2 --workload tpcb-like -- --scale=3 -D a=1 -D b=2",
        "x@1 y@2 --accept-expired-index --preset smoke",
        "insert-bench x@1 y@2 --offline --accept-expired-index",
        "gate x@1 y@2 --max-slowdown 3% --accept-expired-index",
        "insert-bench x@1 y@2 --preset smoke --seed 3 --rows 3k,2k,1k --query-seconds 9 --repeats 2",
        "insert-bench x@1 y@2 --clients 4 --io-bound --indexes 2 --indexes-first --partitions 3 \
         --partition-rows 1k --open-transaction 60 --unprepared --source apt --terms published",
        "insert-bench x@1 y@2 --shared-table",
        "--base x@1 --other y@2 --other x@2 --max-slowdown 2.5% --limit writes=5% \
         --limit *range=10=1% --allow-undecided --tests point*,upd* --seed 3",
    ] {
        let typed = typed.replace("x@", "mariadb@").replace("y@", "mysql@");
        let asked = request(typed.split(' '));
        let recipe = assay_plan::write_study(&asked);
        let command = recipe.lines().next().and_then(|line| {
            let words = line.strip_prefix("# assay ")?;
            let mut commands = ["compare ", "gate "].iter();
            Some(commands.find_map(|it| words.strip_prefix(it)).unwrap_or(words))
        });
        let words: Vec<String> =
            command.unwrap().split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
        assert_eq!(request(words.iter().map(String::as_str)), asked, "{typed}\n{recipe}");
        let read = assay_plan::read_study("recipe", &recipe).unwrap();
        assert_eq!(Request { threshold: asked.threshold, ..read }, asked, "{typed}\n{recipe}");
    }
}

fn request<'a>(words: impl Iterator<Item = &'a str>) -> Request {
    let words: Vec<&str> = words.collect();
    let command: &[&str] = match words.first() {
        Some(&"insert-bench" | &"gate") => &["assay"],
        _ if words.contains(&"--base") => &["assay", "gate"],
        _ => &["assay", "compare"],
    };
    parsed(command.iter().chain(&words).copied()).unwrap()
}

/// The request of a command line; `None` if it is refused.
fn parsed<'a>(words: impl Iterator<Item = &'a str>) -> Option<Request> {
    let found = command().try_get_matches_from(joined(words.map(OsString::from))).ok()?;
    match found.subcommand()? {
        ("compare", found) => Compare::from_arg_matches(found).ok()?.request().ok(),
        ("gate", found) => GateArgs::from_arg_matches(found).ok()?.request().ok()?,
        ("insert-bench", found) => Some(InsertBench::from_arg_matches(found).ok()?.request()),
        other => panic!("{other:?}"),
    }
}

/// Options that say where a result goes or which study is judged, which are no part of a study; and its systems, which
/// the other test covers.
const NOT_OF_A_STUDY: &str =
    "_keys explain_terms output format file quiet verbose study junit cache_dir base others";

/// One of these values fits each option.
const VALUES: [&str; 14] = [
    "5000",
    "2",
    "90",
    "3%",
    "maven",
    "scan",
    "0.5",
    "off",
    "3k,2k,1k",
    "1-3",
    "x.toml",
    "A=B",
    "writes=5%",
    "mariadb@9",
];

#[test]
fn a_recipe_has_every_option_that_is_given() {
    let bases = [
        "compare mariadb@1 mysql@2",
        "compare mariadb@1 mysql@2 --suite oltp",
        "gate --base mariadb@1 --other mysql@2 --max-slowdown=1%",
        "gate --base mariadb@1 --other mysql@2 --max-slowdown=1% --suite oltp",
        "gate --base mariadb@1 --other mysql@2 --max-more=1%",
        "insert-bench mariadb@1 mysql@2",
    ];
    let recipe = |words: &[String]| {
        let words = std::iter::once("assay").chain(words.iter().map(String::as_str));
        let request = parsed(words)?;
        Some(assay_plan::write_study(&request))
    };
    for command in ["compare", "gate", "insert-bench"] {
        let cli = crate::commands::command();
        let options = cli.find_subcommand(command).unwrap().get_arguments();
        for option in options.filter(|it| it.get_long().is_some() && !it.is_hide_set()) {
            let id = option.get_id().as_str();
            if NOT_OF_A_STUDY.split(' ').any(|other| other == id) {
                continue;
            }
            let long = format!("--{}", option.get_long().unwrap());
            let given = option.get_possible_values();
            let words = given.iter().map(|it| format!("{long}={}", it.get_name()));
            let mut tried: Vec<String> = words.collect();
            tried.push(long.clone());
            tried.extend(VALUES.map(|value| format!("{long}={value}")));
            let is_kept = bases.iter().filter(|base| base.starts_with(command)).any(|base| {
                let base: Vec<String> = base.split(' ').map(str::to_owned).collect();
                let without: Vec<String> =
                    base.iter().filter(|it| !it.starts_with(&long)).cloned().collect();
                let plain = recipe(&base);
                tried.iter().any(|word| {
                    let with = recipe(&[base.as_slice(), std::slice::from_ref(word)].concat())
                        .or_else(|| {
                            recipe(&[without.as_slice(), std::slice::from_ref(word)].concat())
                        });
                    with.is_some() && with != plain
                })
            });
            assert!(is_kept, "the recipe of `{command}` lacks `{long}` ({id})");
        }
    }
}

#[test]
fn the_command_line_is_consistent() {
    command().debug_assert();
}

#[test]
fn the_welcome_names_commands_that_exist() {
    for line in WELCOME.lines().filter(|line| line.starts_with("  assay ")) {
        let words = line.trim().split("  ").next().unwrap_or_default().split(' ');
        let parsed = command().try_get_matches_from(words);
        assert!(parsed.is_ok(), "{line}: {parsed:?}");
    }
}
