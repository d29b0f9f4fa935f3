//! Prints mistakes in the command line like all other errors.

use std::process::ExitCode;

use anstyle::AnsiColor;
use assay_command::exit::Exit;
use assay_command::keys::{joined, keys};
use assay_command::sysbench::{option_hint, subcommand_hint};
use assay_model::without_secrets;
use assay_plan::nearest;
use assay_run::progress::{print, print_marked};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Prints the help, or the mistake in the command line. The words come from the user and may be harmful to a terminal.
pub(crate) fn print_usage(error: Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let typed = joined(std::env::args_os().skip(1));
    let typed: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (text, hint) = message(only_typed(error, &typed), &crate::commands::command());
    let text = without_secrets(text.trim_end());
    match text.strip_prefix("error: ") {
        Some(text) => print_marked("error", AnsiColor::Red, text),
        None => print(&text),
    }
    if let Some(hint) = hint {
        print("");
        print_marked("hint", AnsiColor::Cyan, &without_secrets(&hint));
    }
    Exit::Error.into()
}

/// Reduces a conflict to options that were typed: clap lists all conflicting ones.
fn only_typed(mut error: Error, typed: &[String]) -> Error {
    let Some(ContextValue::Strings(all)) = error.get(ContextKind::PriorArg) else { return error };
    let is_typed = |option: &&String| {
        let name = option.split(['<', '[', '=']).next().unwrap_or_default().trim_end();
        typed.iter().any(|word| word == name || word.starts_with(&format!("{name}=")))
    };
    let conflicts: Vec<String> = all.iter().filter(is_typed).cloned().collect();
    if !conflicts.is_empty() {
        error.insert(ContextKind::PriorArg, ContextValue::Strings(conflicts));
    }
    error
}

const TIPS: [ContextKind; 4] = [
    ContextKind::Suggested,
    ContextKind::SuggestedArg,
    ContextKind::SuggestedSubcommand,
    ContextKind::SuggestedValue,
];

const SEE_HELP: &str = "For more information, try '--help'.";

/// Message and hint. `assay` is the whole command line.
fn message(mut error: Error, assay: &clap::Command) -> (String, Option<String>) {
    let text_of = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let usage = text_of(ContextKind::Usage);
    let command = NamedCommand::new(&usage, assay);
    let typed = text_of(ContextKind::InvalidArg);
    let hint = match error.kind() {
        ErrorKind::UnknownArgument => Some(command.hint_for_option(&typed, &usage, assay)),
        ErrorKind::InvalidSubcommand => {
            let word = text_of(ContextKind::InvalidSubcommand);
            Some(command.hint_for_command(&word))
        }
        ErrorKind::InvalidValue => hint_for_value(&error),
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => {
            Some(command.see_help())
        }
        _ => None,
    };
    for tip in TIPS {
        error.remove(tip);
    }
    if !usage.is_empty() {
        // clap's has the options that were typed.
        let whole = command.command.clone().bin_name(&command.words).render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(whole));
    }
    let text = error.render().to_string();
    let text = text.trim_end();
    (text.strip_suffix(SEE_HELP).unwrap_or(text).trim_end().to_owned(), hint)
}

struct NamedCommand<'a> {
    words: String,
    command: &'a clap::Command,
}

impl<'a> NamedCommand<'a> {
    fn new(usage: &str, assay: &'a clap::Command) -> Self {
        let mut found = Self { words: "assay".to_owned(), command: assay };
        for word in usage.split_whitespace().skip_while(|it| *it != "assay").skip(1) {
            let Some(command) = found.command.find_subcommand(word) else { break };
            found = Self { words: format!("{} {word}", found.words), command };
        }
        found
    }

    fn see_help(&self) -> String {
        format!("`{} -h` says how it is used", self.words)
    }

    fn hint_for_command(&self, word: &str) -> String {
        if let Some(hint) = subcommand_hint(word) {
            return hint.to_owned();
        }
        let visible = self.command.get_subcommands().filter(|it| !it.is_hide_set());
        match nearest(word, visible.map(clap::Command::get_name)) {
            Some(meant) => format!("did you mean `{} {meant}`", self.words),
            None => format!("`{} -h` lists the commands", self.words),
        }
    }

    fn hint_for_option(&self, typed: &str, usage: &str, assay: &clap::Command) -> String {
        if let Some(hint) = option_hint(typed, usage) {
            return hint.to_owned();
        }
        let Some(name) = typed.strip_prefix("--").and_then(|it| it.split('=').next()) else {
            return self.see_help();
        };
        if let Some(key) = name.strip_prefix("key ") {
            return self.hint_for_key(key);
        }
        if keys(self.command).any(|key| key == name) {
            return format!("`{name}` is a key of study files: `--key {name}=VALUE`");
        }
        let elsewhere: Vec<String> = assay
            .get_subcommands()
            .filter(|it| !it.is_hide_set() && longs(it).any(|long| long == name))
            .map(|it| format!("`assay {}`", it.get_name()))
            .collect();
        if let [others @ .., last] = &elsewhere[..] {
            let others = others.join(", ");
            let and = if others.is_empty() { "" } else { " and " };
            return format!("`--{name}` is an option of {others}{and}{last}; {}", self.see_help());
        }
        match nearest(name, longs(self.command)) {
            Some(meant) => format!("did you mean `--{meant}`"),
            None => format!("`{} --help` lists all options", self.words),
        }
    }

    fn hint_for_key(&self, key: &str) -> String {
        match nearest(key, longs(self.command).chain(keys(self.command))) {
            Some(meant) if keys(self.command).any(|key| key == meant) => {
                format!("did you mean `--key {meant}=VALUE`")
            }
            Some(meant) => format!("did you mean `--{meant}`"),
            None => format!("the keys are {}", keys(self.command).collect::<Vec<_>>().join(", ")),
        }
    }
}

fn longs(command: &clap::Command) -> impl Iterator<Item = &str> {
    let shown = command.get_arguments().filter(|it| !it.is_hide_set());
    shown.flat_map(|it| it.get_long_and_visible_aliases().unwrap_or_default())
}

fn hint_for_value(error: &Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidValue) else {
        return None;
    };
    let Some(ContextValue::Strings(known)) = error.get(ContextKind::ValidValue) else {
        return None;
    };
    if let Some((value, option)) = typed.split_once('+')
        && known.iter().any(|it| it == value)
    {
        return Some(format!(
            "options of one server follow its name, such as `mariadb@11.8+{}`",
            if option.contains('=') { option.to_owned() } else { format!("{option}=VALUE") },
        ));
    }
    nearest(typed, known).map(|meant| format!("did you mean `{meant}`"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn refused(words: &str) -> (String, String) {
        let command = crate::commands::command();
        let typed = std::iter::once("assay").chain(words.split(' '));
        let typed = joined(typed.map(OsString::from));
        let error = command.clone().try_get_matches_from(&typed).unwrap_err();
        let typed: Vec<String> =
            typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let (text, hint) = message(only_typed(error, &typed), &command);
        assert!(!text.contains("tip:") && !text.contains("try '--help'"), "{text}");
        (text, hint.unwrap_or_default())
    }

    #[test]
    fn a_conflict_names_what_was_typed() {
        let (text, _) = refused("gate --study x --max-slowdown 5% --tests scan");
        assert!(text.contains("--tests") && !text.contains("--preset"), "{text}");
        let (text, _) = refused("gate --study x --key blocks=2");
        assert!(text.contains("--key blocks") && !text.contains("--key rounds"), "{text}");
        let (text, _) = refused("bisect mariadb@10.6..11.8 --test scan --key tests=scan");
        assert!(text.contains("--key tests") && text.contains("cannot be used with"), "{text}");
    }

    #[test]
    fn a_misspelt_word_gets_the_nearest_one() {
        let systems = "mariadb@10.11 mariadb@11.8";
        for (typed, meant) in [
            ("compare SYSTEMS --budgt 5m", "did you mean `--budget`"),
            ("compare SYSTEMS --thresold 5%", "did you mean `--threshold`"),
            ("compare SYSTEMS --preset quik", "did you mean `quick`"),
            ("compare SYSTEMS --terms leen", "did you mean `lean`"),
            ("compare SYSTEMS --sed 3", "did you mean `--seed`"),
            (
                "compare SYSTEMS --blocks 2",
                "`blocks` is a key of study files: `--key blocks=VALUE`",
            ),
            ("compare SYSTEMS --key blcks=2", "did you mean `--key blocks=VALUE`"),
            ("compare SYSTEMS --key seed=2", "did you mean `--seed`"),
            ("comparee SYSTEMS", "did you mean `assay compare`"),
            ("server strat mariadb@11.8", "did you mean `assay server start`"),
            ("server start mariadb@11.8 --buffer-pol 1G", "did you mean `--buffer-pool`"),
        ] {
            assert_eq!(refused(&typed.replace("SYSTEMS", systems)).1, meant, "{typed}");
        }
    }

    #[test]
    fn an_option_of_another_command_is_told_as_such() {
        let more = refused("resume latest --budget 5m").1;
        assert!(more.contains("`--more"), "{more}");
        let twin = refused("report latest --twin").1;
        let all = "`--twin` is an option of `assay compare` and `assay submit`;";
        assert!(twin.starts_with(all), "{twin}");
        let limits = refused("gate mariadb@10.11 mariadb@11.8 --max-slowdown 3% --threshold 1%").1;
        assert!(limits.starts_with("`--threshold` is an option of `assay compare`"), "{limits}");
        let clients = refused("count mariadb@10.11 mariadb@11.8 --clients 4").1;
        assert!(clients.starts_with("`--clients` is an option of `assay compare`"), "{clients}");
        let several = refused("report latest --profile").1;
        assert!(
            several.starts_with(
                "`--profile` is an option of `assay compare`, `assay upgrade`, `assay gate`"
            ),
            "{several}"
        );
    }

    #[test]
    fn every_hint_names_a_command_that_has_a_help() {
        assert_eq!(refused("load").1, "`assay load -h` says how it is used");
        assert_eq!(refused("server x").1, "`assay server -h` lists the commands");
        let none = refused("compare mariadb@10.11 mariadb@11.8 --xyzzy").1;
        assert_eq!(none, "`assay compare --help` lists all options");
        let option = refused("compare mariadb@10.11 mariadb@11.8 --terms lean+loose_xyz").1;
        assert!(option.contains("`mariadb@11.8+loose_xyz=VALUE`"), "{option}");
    }
}
