//! The `assay` command: reads the command line, runs the study loop, prints the result, and exits with a documented
//! code.

mod command_line;
#[cfg(test)]
mod command_tests;
mod commands;
mod compare;
mod completions;
mod reference;
mod report;
mod resume;
mod run;
mod usage;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use assay_model::{printable_lines, without_secrets};

use crate::commands::{AFTERWARDS, COMMANDS};
use assay_command::afterward;
use assay_command::errors::print_error;
use assay_command::exit::Exit;
use assay_command::keys::joined;
use assay_command::known::set_known_counts;
use assay_command::report::write_stdout;
use assay_command::sysbench::dashed;
use assay_command::verb::set_program;

/// Bytes. Memory is used only as far as the stack grows.
const STACK_BYTES: usize = 64 << 20;

const PANICKED: u8 = 101;

/// Works in a thread: the stack of the main thread depends on the user's limit (`ulimit -s`).
fn main() -> ExitCode {
    let worker = std::thread::Builder::new().name("assay".to_owned()).stack_size(STACK_BYTES);
    match worker.spawn(run) {
        Ok(worker) => worker.join().unwrap_or(ExitCode::from(PANICKED)),
        Err(_) => run(),
    }
}

fn run() -> ExitCode {
    assay_servers::narrow_umask();
    assay_servers::supervise::fail_at_the_limit_of_file_sizes();
    if let Some(exit) = child() {
        return exit;
    }
    set_program(commands::command, &COMMANDS);
    afterward::set_all(&AFTERWARDS);
    set_known_counts(&assay_map::KnownFromMap);
    match completions::answered() {
        Ok(true) => return Exit::Done.into(),
        Ok(false) => {}
        Err(error) => {
            print_error(&error);
            return Exit::Error.into();
        }
    }
    if std::env::args_os().len() < 2 {
        return welcome();
    }
    let matches = commands::command().try_get_matches_from(joined(std::env::args_os().map(dashed)));
    command_line::hide_passwords();
    let matches = match matches {
        Ok(matches) => matches,
        Err(error) => return usage::print_usage(error),
    };
    log_to_stderr();
    let cache_dir = matches.get_one::<PathBuf>("cache_dir").map(PathBuf::as_path);
    let verb = |name| COMMANDS.iter().find(|verb| verb.name == name);
    let named = matches.subcommand().and_then(|(name, found)| Some((verb(name)?, found)));
    let Some((verb, found)) = named else { return welcome() };
    let result = verb.run(found, cache_dir);
    match result {
        Ok(exit) => exit.into(),
        Err(_) if assay_run::interrupt::is_asked() => Exit::Interrupted.into(),
        Err(error) => {
            print_error(&error);
            Exit::Error.into()
        }
    }
}

/// The roles in which assay starts itself: the supervisor of a server, or the keeper of a program of a Lua script.
fn child() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let name = words.next()?;
    if name == "supervise" {
        return Some(assay_servers::supervise::main());
    }
    if name == assay_lua::PROGRAM_COMMAND {
        let (output, command) = (words.next()?, words.next()?);
        let is_apart = output == assay_lua::ProgramOutput::Apart.word();
        return Some(assay_servers::supervise::keep_program(is_apart, &command));
    }
    None
}

fn welcome() -> ExitCode {
    match write_stdout(commands::WELCOME) {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            print_error(&error);
            Exit::Error.into()
        }
    }
}

/// Logs to stderr, for investigating problems. Text in the log may come from anywhere.
fn log_to_stderr() {
    let wanted = env_logger::Env::default().default_filter_or("warn,tiny_skia=off,usvg=off");
    let line = |buffer: &mut env_logger::fmt::Formatter, record: &log::Record<'_>| {
        let message = record.args().to_string();
        let message = printable_lines(&without_secrets(&message)).into_owned();
        writeln!(buffer, "[{} {}] {message}", record.level(), record.target())
    };
    env_logger::Builder::from_env(wanted).format(line).init();
}
