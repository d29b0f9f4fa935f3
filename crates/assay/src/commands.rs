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
    Verb::new::<compare::Compare>(),
    Verb::new::<assay_upgrade::UpgradeArgs>(),
    Verb::new::<assay_gate::GateArgs>(),
    Verb::new::<assay_count::CountArgs>(),
    Verb::new::<assay_bisect::BisectArgs>(),
    Verb::new::<assay_watch::WatchArgs>(),
    Verb::new::<assay_insert_bench::InsertBench>(),
    Verb::new::<run::RunFile>(),
    Verb::new::<assay_posts::PostArgs>(),
    Verb::new::<assay_farm::SubmitArgs>(),
    Verb::new::<assay_farm::StatusArgs>(),
    Verb::new::<assay_farm::CollectArgs>(),
    Verb::new::<resume::ResumeStudy>(),
    Verb::new::<report::ReportArgs>(),
    Verb::new::<assay_importer::Import>(),
    Verb::new::<assay_claims::Claims>(),
    Verb::new::<assay_review::ReviewArgs>(),
    Verb::new::<assay_trend::Trend>(),
    Verb::new::<assay_map::MapArgs>(),
    Verb::new::<assay_studies::Studies>(),
    Verb::new::<assay_site::SiteArgs>(),
    Verb::new::<assay_evidence::PackArgs>(),
    Verb::new::<assay_evidence::VerifyArgs>(),
    Verb::new::<assay_reproducer::Repro>(),
    Verb::new::<assay_test_list::TestsArgs>(),
    Verb::new::<assay_upgrade::WorkloadArgs>(),
    Verb::new::<assay_audit::Audit>(),
    Verb::new::<assay_diagnosis::Doctor>(),
    Verb::new::<assay_bench::LoadArgs>(),
    Verb::new::<assay_bench::BenchArgs>(),
    Verb::new::<assay_cache::Cache>(),
    Verb::new::<assay_sandbox::ServerVerb>(),
    Verb::new::<completions::Completions>(),
    Verb::new::<completions::ManPages>(),
    Verb::new::<reference::ReferencePart>(),
];

const COUNT: usize = 35;

/// All work after a study, in its order.
pub(crate) static AFTERWARDS: [Afterward; 4] = [
    Afterward::for_core(&assay_profiles::Profiles),
    Afterward::for_wing(&assay_soak::LongerLooks),
    Afterward::for_core(&assay_count::InstructionCounts),
    Afterward::for_wing(&assay_map::KnownFromMap),
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

  assay upgrade mysql@8.0 mysql@8.4 --queries slow.log --schema dump.sql.gz
                                              will my statements break or get slower?
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
