//! `assay reference NAME`: the parts of the documentation that follow from the program, in Markdown. `cargo xtask docs`
//! writes them into the pages, and a test compares them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup, Verb, verbs};
use assay_model::Product;
use assay_terms::Terms;
use clap::{Arg, Args, Command};

#[derive(Debug, Args)]
pub(crate) struct ReferencePart {
    /// Its name in the markers of the pages: `<!-- generated:NAME -->`
    name: String,
}

impl Arguments for ReferencePart {
    const NAME: &'static str = "reference";
    const ABOUT: &'static str =
        "Print a part of the documentation that follows from the program, in Markdown";
    const GROUP: CommandGroup = CommandGroup::Hidden;

    #[expect(clippy::print_stdout, reason = "the result")]
    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        let text = match self.name.split_once(':') {
            None if self.name == "command-line" => command_line(),
            None if self.name == "exit-codes" => exit_codes(),
            None if self.name == "audit-rules" => assay_servers::audit::rule_table(),
            None if self.name == "audit-ignored" => assay_servers::audit::ignored_table(),
            None if self.name == "build-flags" => assay_provision::flag_table()?,
            None if self.name == "build-fixes" => assay_provision::fix_table()?,
            None if self.name == "json" => assay_report::json_fields(),
            None if self.name == "feeds" => assay_report::feed_table(),
            Some(("takers", option)) => takers(option),
            Some(("versions", product)) => assay_provision::version_table(named(product)?)?,
            Some(("terms", rest)) => terms(rest)?,
            _ => bail!("no part of the documentation is called `{}`", self.name),
        };
        println!("{}", text.trim_end());
        Ok(Exit::Done)
    }
}

fn named(word: &str) -> Result<Product> {
    Product::named(word).ok_or_else(|| anyhow::anyhow!("`{word}` is no product"))
}

fn terms(rest: &str) -> Result<String> {
    let Some((terms, product)) = rest.split_once(':') else { bail!("`{rest}` names no product") };
    let Some(terms) = Terms::named(terms) else { bail!("no terms are called `{terms}`") };
    Ok(assay_terms::option_table(terms, named(product)?))
}

fn exit_codes() -> String {
    let rows = Exit::ALL.map(|exit| {
        let own = |verb: &Verb| -> Vec<String> {
            let own = verb.exits.iter().filter(|(code, _)| *code == exit);
            own.map(|(_, why)| format!("; `{}` {why}", verb.name)).collect()
        };
        let own: String = verbs().iter().flat_map(own).collect();
        format!("| {} | {}{own}. |\n", exit as u8, exit.meaning())
    });
    format!("| exit code | meaning |\n|---|---|\n{}", rows.concat())
}

const SHARED_LINK: &str = "[options of a comparison](#options-of-a-comparison)";

/// An option as a row of a table.
#[derive(Clone)]
struct HelpRow<'a> {
    heading: Option<&'a str>,
    /// The long form without a value.
    name: String,
    row: String,
}

fn command_line() -> String {
    let root = built_root();
    let commands = commands(&root);
    let shared = shared_options(&commands);
    let mut text = "## Options of a comparison\n\nOther commands take some of these options too: \
                    each section below says which.\n\n"
        .to_owned();
    // Options without a heading are the usual ones, and come first.
    let headings: BTreeSet<Option<&str>> = shared.iter().map(|option| option.heading).collect();
    for heading in headings {
        if let Some(heading) = heading {
            text += &format!("*{heading}*\n\n");
        }
        text += &table(shared.iter().filter(|option| option.heading == heading));
    }
    let pages: String = commands.into_iter().map(|command| page(command, &shared)).collect();
    text + &pages
}

/// The commands with an option, such as `--config`.
fn takers(option: &str) -> String {
    let root = built_root();
    let takes = |command: &&Command| options(command).iter().any(|other| other.name == option);
    let commands = commands(&root).into_iter().filter(takes);
    let names: Vec<&str> = commands.filter_map(Command::get_bin_name).collect();
    format!("`{}` take `{option}`.", names.join("`, `"))
}

fn built_root() -> Command {
    let mut root = assay_command::verb::root();
    root.build();
    root
}

/// The commands that can be called, in the order of the help.
fn commands(parent: &Command) -> Vec<&Command> {
    let mut found = Vec::new();
    for command in parent.get_subcommands() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        if !command.has_subcommands() || !command.is_subcommand_required_set() {
            found.push(command);
        }
        found.extend(commands(command));
    }
    found
}

fn options(command: &Command) -> Vec<HelpRow<'_>> {
    let shown = |arg: &&Arg| !arg.is_hide_set() && !arg.is_global_set() && arg.get_id() != "help";
    let rows = command.get_arguments().filter(shown).map(|arg| {
        let spelling = spelling(arg);
        let row = format!("| `{}` | {} |\n", spelling.replace('|', "\\|"), meaning(arg));
        let name = arg.get_long().map_or(spelling, |long| format!("--{long}"));
        HelpRow { heading: arg.get_help_heading(), name, row }
    });
    rows.collect()
}

/// Options that three commands describe in the same words, without others of the same name.
fn shared_options<'a>(commands: &[&'a Command]) -> Vec<HelpRow<'a>> {
    let all: Vec<HelpRow<'a>> = commands.iter().copied().flat_map(options).collect();
    let mut shared: Vec<HelpRow<'a>> = Vec::new();
    for option in &all {
        let uses = all.iter().filter(|other| other.row == option.row).count();
        if uses >= 3 && shared.iter().all(|other| other.name != option.name) {
            shared.push(option.clone());
        }
    }
    shared
}

fn page(command: &Command, shared: &[HelpRow<'_>]) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().replace("\n", "\n    ");
    let options = options(command);
    let (known, mut own): (Vec<&HelpRow<'_>>, Vec<_>) =
        options.iter().partition(|option| shared.iter().any(|other| other.row == option.row));
    own.sort_by_key(|option| option.heading.is_some());
    let missing: Vec<&HelpRow<'_>> = (shared.iter())
        .filter(|option| options.iter().all(|other| other.name != option.name))
        .collect();
    let list = |options: &[&HelpRow<'_>]| {
        let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
        format!("`{}`", names.join("`, `"))
    };
    let others = if missing.is_empty() {
        format!("It takes all {SHARED_LINK}.\n\n")
    } else if missing.len() < known.len() {
        format!("It takes all {SHARED_LINK} except {}.\n\n", list(&missing))
    } else if known.is_empty() {
        String::new()
    } else {
        format!("And, [as above](#options-of-a-comparison): {}.\n\n", list(&known))
    };
    let (about, table) = (about.unwrap_or_default(), table(own.into_iter()));
    format!("## {name}\n\n{about}\n\n    {usage}\n\n{table}{others}")
}

fn table<'a, 'b: 'a>(options: impl Iterator<Item = &'a HelpRow<'b>>) -> String {
    let rows: String = options.map(|option| option.row.as_str()).collect();
    if rows.is_empty() { rows } else { format!("| | |\n|---|---|\n{rows}\n") }
}

fn spelling(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values: Vec<String> = values.iter().map(|value| format!("<{value}>")).collect();
    let value = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
    let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    let many =
        if arg.get_num_args().is_some_and(|count| count.max_values() > 1) { "..." } else { "" };
    let Some(long) = arg.get_long() else { return format!("{value}{many}") };
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    match (value.is_empty(), is_optional) {
        (true, _) => format!("{short}--{long}"),
        (false, true) => format!("{short}--{long}[={value}]"),
        (false, false) => format!("{short}--{long} {value}{many}"),
    }
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    // The first paragraph has no full stop.
    let help = help.replace(".\n\n", ".\n").replace("\n\n", ". ");
    let mut text = help.replace('\n', " ").replace('|', "\\|");
    let defaults: Vec<_> = arg.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    let is_switch = !arg.get_action().takes_values();
    if !defaults.is_empty() && !is_switch && !arg.is_hide_default_value_set() {
        let _ = write!(text, " [default: `{}`]", defaults.join(","));
    }
    let values: Vec<String> = (arg.get_possible_values().iter())
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() && !is_switch && !arg.is_hide_possible_values_set() {
        let _ = write!(text, " [values: {}]", values.join(", "));
    }
    if let Some(variable) = arg.get_env() {
        let _ = write!(text, " [environment: `{}`]", variable.to_string_lossy());
    }
    text
}
