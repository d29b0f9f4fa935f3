//! `--key KEY=VALUE`: keys of study files that are no options of a command. Each is a hidden option whose name is
//! `key`, a space and the key: only joined words can give it, and errors name it as the user does.

use std::ffi::OsString;

use assay_plan::study_key;
use clap::{Arg, ArgAction, Command};

/// Lets only `--key` give a hidden option that is a key of study files.
pub fn hidden_as_key(option: Arg) -> Arg {
    let key = option.is_hide_set().then(|| study_key(&option)).flatten();
    let Some(key) = key else { return option };
    let option = option.long(format!("key {key}"));
    if !matches!(option.get_action(), ArgAction::SetTrue) {
        return option;
    }
    // Study files have `check = true`.
    let option = option.action(ArgAction::Set).num_args(0..=1).require_equals(true);
    option.default_value("false").default_missing_value("true")
}

/// Hides an option that the command refuses, so that no hint recommends its key.
pub fn refused(option: Arg) -> Arg {
    option.hide(true).hide_long_help(true)
}

/// The keys of study files that are no options of a command, without those that it refuses.
pub fn keys(command: &Command) -> impl Iterator<Item = &str> {
    let accepted = command.get_arguments().filter(|option| !option.is_hide_long_help_set());
    accepted.filter_map(|option| option.get_long()?.strip_prefix("key "))
}

/// The words of a command line: `--key` and what follows it are one word for each key.
pub fn joined(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            joined.push(word);
            break;
        }
        let pairs = match word.to_str() {
            Some("--key") => words.next().map(|pairs| pairs.to_string_lossy().into_owned()),
            Some(text) => text.strip_prefix("--key=").map(str::to_owned),
            None => None,
        };
        match pairs {
            Some(pairs) => joined.extend(options(&pairs).into_iter().map(OsString::from)),
            None => joined.push(word),
        }
    }
    joined.extend(words);
    joined
}

/// The options of `blocks=2,server-cpus=0,2`. A part without `=` continues a list.
fn options(pairs: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for part in pairs.split(',') {
        match options.last_mut() {
            Some(list) if !part.contains('=') => *list += &format!(",{part}"),
            _ => options.push(format!("--key {part}")),
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_a_word_with_its_value() {
        for (typed, expected) in [
            ("--key blocks=2,server-cpus=0,2-3,turn=1ms|x", "blocks=2|server-cpus=0,2-3|turn=1ms"),
            ("--key=blocks=2|x", "blocks=2"),
            ("--key check=false,twin=true|x", "check=false|twin=true"),
            ("--key config-options=mysql: a=b,c|x", "config-options=mysql: a=b,c"),
            ("--key define=a=true|x", "define=a=true"),
        ] {
            let typed = typed.replacen("--key ", "--key|", 1);
            let words = joined(typed.split('|').chain(["--", "--key", "y"]).map(OsString::from));
            let keys = expected.split('|').map(|key| format!("--key {key}"));
            let rest = ["x", "--", "--key", "y"].map(str::to_owned);
            assert_eq!(words, keys.chain(rest).map(OsString::from).collect::<Vec<_>>());
        }
        assert_eq!(joined([OsString::from("--key")]), ["--key"]);
    }
}
