//! The lists of commands and of work after studies, and the command line that the commands make.

use std::fmt::Write as _;
use std::path::PathBuf;

use assay_command::afterward::Afterward;
use assay_command::args::SERVERS;
use assay_command::verb::{CommandGroup, Verb};
use clap::{Args, Command};

use crate::{compare, completions, reference, report, resume, run};

/// All commands, in the order of the reference; the help has them by groups.
pub(crate) const COMMANDS: [Verb; COUNT] = [
    Verb::of::<compare::Compare>(),
    Verb::of::<assay_upgrade::UpgradeArgs>(),
    Verb::of::<assay_gate::GateArgs>(),
    Verb::of::<assay_count::CountArgs>(),
    Verb::of::<assay_bisect::BisectArgs>(),
    Verb::of::<assay_watch::WatchArgs>(),
    Verb::of::<assay_insert_bench::InsertBench>(),
    Verb::of::<run::RunFile>(),
    Verb::of::<assay_posts::PostArgs>(),
    Verb::of::<assay_farm::SubmitArgs>(),
    Verb::of::<assay_farm::StatusArgs>(),
    Verb::of::<assay_farm::CollectArgs>(),
    Verb::of::<resume::ResumeStudy>(),
    Verb::of::<report::ReportArgs>(),
    Verb::of::<assay_importer::Import>(),
    Verb::of::<assay_claims::Claims>(),
    Verb::of::<assay_trend::Trend>(),
    Verb::of::<assay_studies::Studies>(),
    Verb::of::<assay_evidence::PackArgs>(),
    Verb::of::<assay_evidence::VerifyArgs>(),
    Verb::of::<assay_reproducer::Repro>(),
    Verb::of::<assay_test_list::TestsArgs>(),
    Verb::of::<assay_upgrade::WorkloadArgs>(),
    Verb::of::<assay_audit::Audit>(),
    Verb::of::<assay_diagnosis::Doctor>(),
    Verb::of::<assay_bench::LoadArgs>(),
    Verb::of::<assay_bench::BenchArgs>(),
    Verb::of::<assay_cache::Cache>(),
    Verb::of::<assay_sandbox::ServerVerb>(),
    Verb::of::<completions::Completions>(),
    Verb::of::<completions::ManPages>(),
    Verb::of::<reference::ReferencePart>(),
];

const COUNT: usize = 32;

/// All work after a study, in its order.
pub(crate) static AFTERWARDS: [Afterward; 3] = [
    Afterward::for_core(&assay_profiles::Profiles),
    Afterward::of(&assay_soak::LongerLooks),
    Afterward::for_core(&assay_count::InstructionCounts),
];

/// Arguments of all commands.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Directory for servers and templates [default: the user's cache directory]
    #[arg(long, global = true, value_name = "DIR", env = "ASSAY_CACHE")]
    #[arg(help_heading = SERVERS, hide_short_help = true)]
    pub(crate) cache_dir: Option<PathBuf>,
}

pub(crate) const WELCOME: &str = "\
assay finds out which version of a database is slower, by how much, and why.

  assay doctor                                is this machine fit to measure?
  assay compare mariadb@10.11 mariadb@11.8    get both, measure them, say which is slower
  assay report                                the latest result again; `-o result.html` for a browser
  assay resume --more 10m                     go on with what is still undecided
  assay server list --available mysql         the versions that can be compared

`assay -h` lists all commands, `assay compare -h` the options. With `--workload FILE`, `compare`
measures your own tables and statements.
";

pub(crate) fn command() -> Command {
    // The name is fixed, whatever the file name: hints name commands as documented.
    let root = Command::new("assay").bin_name("assay").version(env!("CARGO_PKG_VERSION"));
    let root = Global::augment_args(root).subcommand_required(true).arg_required_else_help(true);
    let root = root.about("Find where a database got slower, and why").max_term_width(100);
    let command = root.subcommands(COMMANDS.iter().map(Verb::command));
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let style = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in CommandGroup::LISTED {
        let _ = write!(text, "\n{style}{}:{style:#}\n", group.heading());
        for verb in COMMANDS.iter().filter(|verb| verb.group == group) {
            let (name, about) = (verb.name, verb.command().get_about().map(ToString::to_string));
            let about = about.unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<13}{literal:#} {about}");
        }
    }
    let _ = write!(text, "\n{style}Options:{style:#}\n{{options}}{{after-help}}");
    text
}
