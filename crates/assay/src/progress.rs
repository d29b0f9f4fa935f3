//! What is going on, on stderr: a live line in a terminal, plain lines elsewhere, nothing when quiet.
#![expect(clippy::print_stderr, reason = "progress goes to stderr")]

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Tells the user what assay is doing. Never part of the result.
#[derive(Debug)]
pub(crate) struct Progress {
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Quiet,
    Lines,
    Live(ProgressBar),
}

/// How often the live line moves by itself.
const TICK: Duration = Duration::from_millis(100);

impl Progress {
    /// Progress for this process's stderr.
    pub(crate) fn new(quiet: bool) -> Self {
        let sink = if quiet {
            Sink::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            bar.set_style(spinner_style());
            bar.enable_steady_tick(TICK);
            Sink::Live(bar)
        } else {
            Sink::Lines
        };
        Self { sink }
    }

    /// Something begins that takes a moment.
    pub(crate) fn begin(&self, what: &str) {
        match &self.sink {
            Sink::Quiet => {}
            Sink::Lines => eprintln!("{what}"),
            Sink::Live(bar) => {
                bar.set_style(spinner_style());
                bar.set_message(what.to_owned());
            }
        }
    }

    /// How it goes on; only where the line can be rewritten.
    pub(crate) fn update(&self, what: &str) {
        if let Sink::Live(bar) = &self.sink {
            bar.set_message(what.to_owned());
        }
    }

    /// Something worth keeping on the screen.
    pub(crate) fn done(&self, what: &str) {
        match &self.sink {
            Sink::Quiet => {}
            Sink::Lines => eprintln!("{what}"),
            Sink::Live(bar) => bar.suspend(|| eprintln!("{what}")),
        }
    }

    /// Where the measuring stands: part of the time used, and what is measured now.
    pub(crate) fn measuring(&self, used_s: f64, budget_s: f64, what: &str) {
        if let Sink::Live(bar) = &self.sink {
            bar.set_style(bar_style());
            bar.set_length(budget_s.ceil() as u64);
            bar.set_position(used_s as u64);
            let left = (budget_s - used_s).max(0.0);
            bar.set_message(format!("at most {} left  {what}", minutes(left)));
        }
    }

    /// Clears the live line: the result comes next.
    pub(crate) fn finish(&self) {
        if let Sink::Live(bar) = &self.sink {
            bar.finish_and_clear();
        }
    }
}

/// `4:07` for 247 seconds.
pub(crate) fn minutes(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    format!("{}:{:02}", whole / 60, whole % 60)
}

fn spinner_style() -> ProgressStyle {
    template("{spinner:.cyan} {wide_msg}")
}

fn bar_style() -> ProgressStyle {
    template("{bar:24.cyan/dim} {wide_msg}").progress_chars("━━╌")
}

fn template(text: &str) -> ProgressStyle {
    ProgressStyle::with_template(text).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
