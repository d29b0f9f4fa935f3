//! A command of the program as a value, so that all of them are a list.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use clap::{ArgMatches, Args, Command};

use crate::exit::Exit;

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

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit>;
}

/// A command.
pub struct Verb {
    pub name: &'static str,
    pub group: CommandGroup,
    command: fn() -> Command,
    run: fn(&ArgMatches, Option<&Path>) -> Result<Exit>,
}

impl Verb {
    pub const fn new<A: Arguments>() -> Self {
        Self { name: A::NAME, group: A::GROUP, command: command::<A>, run: run::<A> }
    }

    pub fn command(&self) -> Command {
        (self.command)()
    }

    pub fn run(&self, found: &ArgMatches, cache_dir: Option<&Path>) -> Result<Exit> {
        (self.run)(found, cache_dir)
    }
}

fn command<A: Arguments>() -> Command {
    A::augment_args(Command::new(A::NAME)).about(A::ABOUT).hide(A::GROUP == CommandGroup::Hidden)
}

fn run<A: Arguments>(found: &ArgMatches, cache_dir: Option<&Path>) -> Result<Exit> {
    A::from_arg_matches(found)?.run(cache_dir)
}

/// Makes the whole command line, for commands that describe it.
static ROOT: OnceLock<fn() -> Command> = OnceLock::new();

/// Sets what [`root`] calls; only the first call counts.
pub fn set_root(root: fn() -> Command) {
    ROOT.get_or_init(|| root);
}

/// The command line of the program.
pub fn root() -> Command {
    let root = ROOT.get().expect("the program sets it when it begins");
    root()
}
