//! `assay reference NAME`: the parts of the documentation that follow from the program, in Markdown. `cargo xtask docs`
//! writes them into the pages, and a test compares them.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup};
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
    let rows = Exit::ALL.map(|exit| format!("| {} | {} |\n", exit as u8, exit.meaning()));
    format!("| exit code | meaning |\n|---|---|\n{}", rows.concat())
}

fn command_line() -> String {
    let mut root = assay_command::verb::root();
    root.build();
    let mut text = String::new();
    commands(&root, &mut text);
    text
}

fn commands(parent: &Command, text: &mut String) {
    for command in
        parent.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help")
    {
        if command.has_subcommands() && command.is_subcommand_required_set() {
            commands(command, text);
            continue;
        }
        page(command, text);
        commands(command, text);
    }
}

/// Writing to memory cannot fail.
fn page(command: &Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().replace("\n", "\n    ");
    let _ = write!(text, "## {name}\n\n{}\n\n    {usage}\n\n", about.unwrap_or_default());
    let shown = |arg: &&Arg| !arg.is_hide_set() && !arg.is_global_set() && arg.get_id() != "help";
    let args: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in &args {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    // Options without a heading are the usual ones, and come first.
    headings.sort_by_key(Option::is_some);
    for heading in headings {
        if let Some(heading) = heading {
            let _ = write!(text, "*{heading}*\n\n");
        }
        text.push_str("| option | meaning |\n|---|---|\n");
        for arg in args.iter().filter(|arg| arg.get_help_heading() == heading) {
            let _ =
                writeln!(text, "| `{}` | {} |", spelling(arg).replace('|', "\\|"), meaning(arg));
        }
        text.push('\n');
    }
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
