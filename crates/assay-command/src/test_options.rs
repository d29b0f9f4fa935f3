//! The words after `--`: options of the tests.

use anyhow::Result;
use assay_model::Suite;
use assay_plan::Request;
use clap::error::{ContextKind, Error};
use clap::{Args, Command};

use crate::sysbench::option_hint;
use assay_run::advice::Advised;

/// The options of the tests, as sysbench takes those of its scripts.
#[derive(Debug, Args)]
pub struct TestOptions {
    /// Options of the tests: of the Lua script of `--workload`, such as `--tables=4`, of `--suite oltp` or of `--suite
    /// tpcc`, such as `--warehouses=10`
    #[arg(last = true, value_name = "TEST OPTION", hide_short_help = true)]
    words: Vec<String>,
}

impl TestOptions {
    /// A request with these options as well.
    pub fn of(&self, request: Request) -> Result<Request> {
        let words = &self.words;
        Ok(match request.suite {
            Suite::Micro => Request { script_options: words.clone(), ..request },
            Suite::Oltp => Request { oltp: read(request.suite, words)?, ..request },
            Suite::Tpcc => Request { tpcc: read(request.suite, words)?, ..request },
        })
    }
}

/// Reads the options of a suite. Prints them and ends if their help is asked for.
fn read<T: Args>(suite: Suite, words: &[String]) -> Result<T> {
    let words_before = format!("--suite {} --", suite.word());
    let command = T::augment_args(Command::new("options").no_binary_name(true))
        .override_usage(format!("assay compare SYSTEM SYSTEM... {words_before} [OPTIONS]"));
    let found = command.try_get_matches_from(words);
    found.and_then(|found| T::from_arg_matches(&found)).map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let text = error.to_string();
        let what = text.split("\n\n").next().unwrap_or_default();
        let listed = || format!("`{words_before} --help` lists the options");
        Advised::new(what.trim_start_matches("error: "), hint(&error).unwrap_or_else(listed)).into()
    })
}

fn hint(error: &Error) -> Option<String> {
    let word = |kind| error.get(kind).map(ToString::to_string);
    let known = option_hint(&word(ContextKind::InvalidArg)?, "").map(str::to_owned);
    known.or_else(|| Some(format!("did you mean `{}`", word(ContextKind::SuggestedArg)?)))
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;
    use assay_workloads::{OltpOptions, TpccOptions};

    use super::*;

    fn refused<T: Args + std::fmt::Debug>(suite: Suite, words: &str) -> (String, String) {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let error = read::<T>(suite, &words).unwrap_err();
        let hints = error.downcast_ref::<Advised>().unwrap().hints();
        (error.to_string(), hints.concat())
    }

    #[test]
    fn mistakes_are_told_with_advice() {
        for (words, what, hint) in [
            (
                "--rang-size=10",
                "unexpected argument '--rang-size' found",
                "did you mean `--range-size`",
            ),
            ("--range-size=0", "'--range-size <N>'", "`--suite oltp -- --help` lists the options"),
            ("--skip-trx on", "unexpected argument 'on' found", "with `=`, as in `--auto-inc=off`"),
            ("--mysql-host=x", "unexpected argument '--mysql-host' found", "by its URL"),
            ("--warehouses=2", "unexpected argument '--warehouses' found", "lists the options"),
        ] {
            let (text, advice) = refused::<OltpOptions>(Suite::Oltp, words);
            assert!(text.contains(what) && advice.contains(hint), "{text}\n{advice}");
        }
        let (text, _) = refused::<TpccOptions>(Suite::Tpcc, "--warehouses 0");
        assert!(text.starts_with("invalid value '0' for '--warehouses <N>'"), "{text}");
    }
}
