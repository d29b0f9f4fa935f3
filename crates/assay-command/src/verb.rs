//! A command of the program as a value, so that all of them are a list.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use assay_ledger::Ledger;
use clap::{ArgMatches, Args, Command};

use crate::args::ResumeArgs;
use crate::exit::Exit;
use crate::keys::hidden_as_key;

/// A heading in the list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandGroup {
    Measure,
    ManyMachines,
    Read,
    Servers,
    Share,
    Other,
    /// Not listed.
    Hidden,
}

impl CommandGroup {
    /// The listed ones, in their order.
    pub const LISTED: [Self; 6] =
        [Self::Measure, Self::ManyMachines, Self::Read, Self::Servers, Self::Share, Self::Other];

    pub fn heading(self) -> &'static str {
        match self {
            Self::Measure => "Measure",
            Self::ManyMachines => "Many machines",
            Self::Read => "Read",
            Self::Servers => "Servers",
            Self::Share => "Share",
            Self::Other | Self::Hidden => "Other",
        }
    }
}

/// The arguments of a command, and its action.
pub trait Arguments: Args {
    const NAME: &'static str;
    /// One line of help.
    const ABOUT: &'static str;
    const GROUP: CommandGroup;
    /// Its own reasons for exit codes, to be read after its name.
    const EXITS: &'static [(Exit, &'static str)] = &[];

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit>;

    /// Resumes what the arguments of `assay resume` mean, if it is more than a study.
    fn resume(_: &ResumeArgs, _: &Ledger, _: Option<&Path>) -> Result<Option<Exit>> {
        Ok(None)
    }
}

type Resume = fn(&ResumeArgs, &Ledger, Option<&Path>) -> Result<Option<Exit>>;

/// A command.
pub struct Verb {
    pub name: &'static str,
    pub group: CommandGroup,
    pub exits: &'static [(Exit, &'static str)],
    command: fn() -> Command,
    run: fn(&ArgMatches, Option<&Path>) -> Result<Exit>,
    /// [`Arguments::resume`].
    pub resume: Resume,
}

impl Verb {
    pub const fn new<A: Arguments>() -> Self {
        Self {
            name: A::NAME,
            group: A::GROUP,
            exits: A::EXITS,
            command: command::<A>,
            run: run::<A>,
            resume: A::resume,
        }
    }

    pub fn command(&self) -> Command {
        (self.command)()
    }

    pub fn run(&self, found: &ArgMatches, cache_dir: Option<&Path>) -> Result<Exit> {
        (self.run)(found, cache_dir)
    }
}

fn command<A: Arguments>() -> Command {
    let command = A::augment_args(Command::new(A::NAME)).mut_args(hidden_as_key);
    command.about(A::ABOUT).hide(A::GROUP == CommandGroup::Hidden)
}

fn run<A: Arguments>(found: &ArgMatches, cache_dir: Option<&Path>) -> Result<Exit> {
    A::from_arg_matches(found)?.run(cache_dir)
}

/// The function that makes the command line of the program, and its commands.
type Program = (fn() -> Command, &'static [Verb]);

/// For commands that describe the program.
static PROGRAM: OnceLock<Program> = OnceLock::new();

/// Sets what [`root`] and [`verbs`] return; only the first call counts.
pub fn set_program(root: fn() -> Command, verbs: &'static [Verb]) {
    PROGRAM.get_or_init(|| (root, verbs));
}

fn program() -> Program {
    *PROGRAM.get().expect("the program sets it when it begins")
}

/// The command line of the program.
pub fn root() -> Command {
    program().0()
}

pub fn verbs() -> &'static [Verb] {
    program().1
}
