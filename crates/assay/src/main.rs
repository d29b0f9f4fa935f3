//! The `assay` command: reads the command line, runs the study loop, prints the result, and exits with a documented
//! code.

mod advice;
mod audit;
mod base;
mod bench;
mod beside;
mod bisect;
mod cache;
mod candidates;
mod captured;
mod charts;
mod claims;
mod cli;
mod clock;
mod command_line;
mod compare;
mod completions;
mod config_file;
mod connection;
mod doctor;
mod dump_file;
mod errors;
mod evidence;
mod examination;
mod exit;
mod export;
mod feeds;
mod form;
mod import;
mod interrupt;
mod load;
mod lock_note;
mod machine_lock;
mod machine_queue;
mod open_files;
mod opened;
mod paths;
mod progress;
mod recorded;
mod reference;
mod rehearsal;
mod report;
mod repro;
mod scheduled;
mod serve;
mod server;
mod shards;
mod stacks;
mod state_lock;
mod studies;
mod study;
mod study_id;
mod systems;
mod trend;
mod usage;
mod watch;
mod which_default;
mod whole_file;
mod workload;
mod written;

use std::io::Write as _;
use std::process::ExitCode;

use assay_model::{printable_lines, without_secrets};
use clap::FromArgMatches as _;

use crate::cli::{Cli, Command};
use crate::errors::print_error;
use crate::exit::Exit;

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
    let matches = cli::command().try_get_matches_from(std::env::args_os().map(cli::dashed));
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    command_line::hide_passwords();
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) => return usage::print_usage(error),
    };
    log_to_stderr();
    let result = match &cli.command {
        Command::Compare(args) => compare::compare(args, cli.cache_dir.as_deref()),
        Command::Upgrade(args) => compare::upgrade(args, cli.cache_dir.as_deref()),
        Command::Gate(args) => compare::gate(args, cli.cache_dir.as_deref()),
        Command::Count(args) => compare::count(args, cli.cache_dir.as_deref()),
        Command::Bisect(args) => bisect::bisect(args, cli.cache_dir.as_deref()),
        Command::Watch(args) => watch::watch(args, cli.cache_dir.as_deref()),
        Command::InsertBench(args) => compare::insert_bench(args, cli.cache_dir.as_deref()),
        Command::Run(args) => compare::run(args, cli.cache_dir.as_deref()),
        Command::Submit(args) => shards::submit(args, cli.cache_dir.as_deref()),
        Command::Status(args) => shards::status(args),
        Command::Collect(args) => shards::collect(args),
        Command::Resume(args) => compare::resume(args, cli.cache_dir.as_deref()),
        Command::Report(args) => report::run(args),
        Command::Import(command) => import::run(command),
        Command::Claims(args) => claims::run(args),
        Command::Studies(args) => studies::run(args),
        Command::Trend(args) => trend::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Pack(args) => evidence::pack(args, cli.cache_dir.as_deref()),
        Command::Verify(args) => evidence::verify(args),
        Command::Repro(args) => repro::repro(args),
        Command::Export(args) => export::export(args),
        Command::Tests(args) => report::tests(args, cli.cache_dir.as_deref()),
        Command::Workload(command) => captured::run(command),
        Command::Audit(args) => audit::run(args, cli.cache_dir.as_deref()),
        Command::Doctor(args) => doctor::run(args, cli.cache_dir.as_deref()),
        Command::Cache(command) => cache::run(command, cli.cache_dir.as_deref()),
        Command::Load(args) => load::load(args),
        Command::Bench(args) => bench::bench(args),
        Command::Server(command) => server::run(command, cli.cache_dir.as_deref()),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => completions::man(args),
        Command::Supervise => return assay_servers::supervise::main(),
        Command::KeepProgram { output, command } => {
            let is_apart = output == assay_lua::ProgramOutput::Apart.word();
            return assay_servers::supervise::keep_program(is_apart, command);
        }
        Command::Reference { name } => reference::run(name),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(_) if interrupt::is_asked() => Exit::Interrupted.into(),
        Err(error) => {
            print_error(&error);
            Exit::Error.into()
        }
    }
}

fn welcome() -> ExitCode {
    match report::write_stdout(cli::WELCOME) {
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
