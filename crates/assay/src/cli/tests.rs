//! Tests of command lines, and of the recipes that repeat them.

use super::*;
use clap::CommandFactory;

#[test]
fn the_command_of_a_recipe_gives_the_same_request() {
    for typed in [
        "x@1 y@2",
        "x@1 y@2 --tests point*,oltp_read_only --set 47 --seed 7 --no-twin",
        "x@1+x=y x@1+x=y --source maven --terms published --preset standard --budget 90 --threshold 0.5% --twin",
        "x@1 y@2 --clients 1-3,8 --tables 1k --rows 1.5M --slice 0.25 --write-slice 1m30s",
        "x@1 y@2 --blocks 3 --rounds 9 --placement free --secondary --db-ps-mode disable",
        "x@1/rocksdb x@dir:/opt/m --preset published --threads 2 --table-size 5M",
        "mysql://u@h:1/d x@1 --preset smoke",
        "--base x@1 --other y@2 --max-slowdown 3% --terms published",
        "gate x@1 y@2 x@2 --max-slowdown 3%",
        "x@1 y@2 --suite oltp --range-size 1000 --range-selects=off --skip-trx --rand-type zipfian",
        "x@1 y@2 --suite oltp --tests oltp_read* --clients 1,2,4 --rand-zipfian-exp 1 --delta 7",
        "x@1 y@2 --suite oltp --auto-inc=off --create-secondary=off --create-table-options A=B",
        "x@1 y@2 --suite oltp --pgsql-variant redshift",
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
    match Cli::try_parse_from(command.iter().chain(&words)).unwrap().command {
        Command::InsertBench(bench) => bench.request(),
        Command::Compare(compare) => compare.request(),
        Command::Gate(gate) => gate.request().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Options that say where a result goes or which study is judged, which are no part of a study; and its systems, which
/// the other test covers.
const NOT_OF_A_STUDY: &str =
    "explain_terms output format file quiet verbose study junit cache_dir base others";

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
        let request = match Cli::try_parse_from(words).ok()?.command {
            Command::InsertBench(bench) => bench.request(),
            Command::Compare(compare) => compare.request(),
            Command::Gate(gate) => gate.request()?,
            other => panic!("{other:?}"),
        };
        Some(assay_plan::write_study(&request))
    };
    for command in ["compare", "gate", "insert-bench"] {
        let cli = Cli::command();
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

/// The heading of a group of options also applies to whatever follows the group.
#[test]
fn only_options_of_scripts_stand_under_the_heading_of_scripts() {
    let scripts = OltpOptions::augment_args(clap::Command::new("scripts"));
    let is_of_scripts = |id: &str| scripts.get_arguments().any(|it| it.get_id() == id);
    for command in Cli::command().get_subcommands() {
        let mut under = command
            .get_arguments()
            .filter(|it| it.get_help_heading() == Some(assay_workloads::OLTP_HEADING));
        let stray = under.find(|it| !is_of_scripts(it.get_id().as_str()));
        assert!(stray.is_none(), "{}: {stray:?}", command.get_name());
    }
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_a_group_and_every_group_its_commands() {
    let command = Cli::command();
    let listed: Vec<&str> = help::GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    for found in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let times = listed.iter().filter(|name| **name == found.get_name()).count();
        let wanted = usize::from(found.get_name() != "completions");
        assert_eq!(times, wanted, "`{}` in the groups of the help", found.get_name());
    }
    for name in listed {
        assert!(command.find_subcommand(name).is_some(), "there is no command `{name}`");
    }
}

#[test]
fn the_help_is_one_screen() {
    let help = command().term_width(80).render_help().to_string();
    assert!(help.lines().count() <= 50, "{help}");
    for line in help.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

/// A terminal of 100 columns and 40 rows, or ten more for the exit codes of a gate. Rarely used options are behind
/// `--help`.
#[test]
fn the_help_of_every_command_is_one_screen_and_says_that_there_is_more() {
    let mut assay = command().term_width(100);
    assay.build();
    for found in assay.get_subcommands_mut().filter(|it| !it.is_hide_set()) {
        let help = found.render_help().to_string();
        let rows = if found.get_name() == "gate" { 50 } else { 40 };
        assert!(help.lines().count() <= rows, "{help}");
        let long = found.render_long_help().to_string();
        let has_more = found.get_arguments().any(|it| it.is_hide_short_help_set());
        assert!(!has_more || help.contains("--help"), "{help}\n{long}");
    }
}

#[test]
fn the_help_of_count_does_not_speak_of_time() {
    let mut assay = command();
    assay.build();
    let help = assay.find_subcommand_mut("count").unwrap().render_long_help().to_string();
    for word in ["preset", "block", "slice"] {
        assert!(!help.contains(word), "{word}: {help}");
    }
}

#[test]
fn the_welcome_names_commands_that_exist() {
    for line in WELCOME.lines().filter(|line| line.starts_with("  assay ")) {
        let words = line.trim().split("  ").next().unwrap_or_default().split(' ');
        let parsed = command().try_get_matches_from(words);
        assert!(parsed.is_ok(), "{line}: {parsed:?}");
    }
}
