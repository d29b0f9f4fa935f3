//! Progress on stderr: live lines in a terminal, plain lines elsewhere, nothing with `--quiet`.

use std::borrow::Cow;
use std::io::{IsTerminal, Write as _};
use std::sync::OnceLock;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use assay_model::{Verdict, labels, printable, printable_lines};
use indicatif::{ProgressBar, ProgressStyle};

#[derive(Debug)]
pub struct Progress {
    sink: ProgressSink,
    labels: OnceLock<Vec<(String, String)>>,
}

#[derive(Debug)]
enum ProgressSink {
    Quiet,
    Lines,
    Live(ProgressBar),
}

#[derive(Debug)]
pub struct StudyProgress<'a> {
    pub used_s: f64,
    /// Seconds that may be used, or that the study is expected to take.
    pub budget_s: f64,
    pub is_estimate: bool,
    pub what: &'a str,
    pub so_far: &'a VerdictTally,
}

/// Numbers of decided comparisons, over all systems except the base and its twin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerdictTally {
    slower: u32,
    faster: u32,
    same: u32,
    uneven: u32,
    open: u32,
    failed: u32,
}

impl VerdictTally {
    pub fn new(verdicts: &[Verdict]) -> Self {
        let mut tally = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Slower => &mut tally.slower,
                Verdict::Faster => &mut tally.faster,
                Verdict::Same => &mut tally.same,
                Verdict::Uneven => &mut tally.uneven,
                Verdict::Undecided => &mut tally.open,
                Verdict::Failed => &mut tally.failed,
            } += 1;
        }
        tally
    }

    /// `▼ 3 slower  ▲ 5 faster  = 8 same  ? 16 open`; empty if nothing is decided. Plain text, for a line that is
    /// sanitized as a whole.
    fn words(self) -> String {
        anstream::adapter::strip_str(&self.styled()).to_string()
    }

    /// Marks the tally as interim: the last look has more error to spend than those before it, so the study may end
    /// with other verdicts. Empty if there is nothing to count.
    pub fn interim(self) -> String {
        let known = self.words();
        if known.is_empty() { known } else { format!("; interim verdicts: {known}") }
    }

    fn styled(self) -> String {
        let parts = [
            ("▼", self.slower, "slower", AnsiColor::Red.on_default()),
            ("▲", self.faster, "faster", AnsiColor::Green.on_default()),
            ("=", self.same, "same", Style::new()),
            ("≠", self.uneven, "uneven", AnsiColor::Yellow.on_default()),
            ("?", self.open, "open", Style::new().dimmed()),
            ("✗", self.failed, "failed", AnsiColor::Red.on_default()),
        ];
        let message = parts.into_iter().filter(|(_, count, _, _)| *count > 0);
        let words = message
            .map(|(symbol, count, word, style)| format!("{style}{symbol} {count} {word}{style:#}"));
        words.collect::<Vec<_>>().join("  ")
    }
}

const TICK: Duration = Duration::from_millis(100);

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let sink = if quiet {
            ProgressSink::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            bar.set_style(spinner_style());
            bar.enable_steady_tick(TICK);
            ProgressSink::Live(bar)
        } else {
            ProgressSink::Lines
        };
        Self { sink, labels: OnceLock::new() }
    }

    /// Replaces names of systems with many options by labels in all further lines, as reports do.
    pub fn label(&self, names: &[&str]) {
        let pairs = names.iter().zip(labels(names));
        let mut long: Vec<(String, String)> = pairs
            .filter(|(name, label)| **name != label && !name.contains("://"))
            .map(|(name, label)| ((*name).to_owned(), label))
            .collect();
        // A name may begin another one.
        long.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let _ = self.labels.set(long);
    }

    fn labelled<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let long = self.labels.get().into_iter().flatten();
        long.fold(Cow::Borrowed(text), |text, (name, label)| {
            if text.contains(name.as_str()) { text.replace(name, label).into() } else { text }
        })
    }

    pub fn begin(&self, what: &str) {
        match &self.sink {
            ProgressSink::Lines => print(&self.labelled(what)),
            ProgressSink::Quiet | ProgressSink::Live(_) => self.update(what),
        }
    }

    /// Shows the state of the work, if the line can be rewritten.
    pub fn update(&self, what: &str) {
        if let ProgressSink::Live(bar) = &self.sink {
            bar.set_style(spinner_style());
            bar.set_message(shortened(&printable(&self.labelled(what))));
        }
    }

    /// Prints a line that the user has asked for, even with `--quiet`.
    pub fn line(&self, line: &str) {
        self.above(|| print(line));
    }

    pub fn said(&self, said: &str) {
        self.above(|| print_said(said));
    }

    /// Prints above the line that is rewritten, if there is one.
    fn above(&self, print: impl FnOnce()) {
        match &self.sink {
            ProgressSink::Quiet | ProgressSink::Lines => print(),
            ProgressSink::Live(bar) => bar.suspend(print),
        }
    }

    /// `subject` is bold.
    pub fn done(&self, subject: &str, what: &str) {
        self.keep("✓", AnsiColor::Green, subject, what);
    }

    /// Shows a failure that does not end the study.
    pub fn failed(&self, subject: &str, what: &str) {
        self.keep("✗", AnsiColor::Red, subject, what);
    }

    pub fn note(&self, what: &str) {
        self.stay(&on_lines(&self.labelled(what)));
    }

    fn keep(&self, symbol: &str, color: AnsiColor, subject: &str, what: &str) {
        let (mark, bold) = (color.on_default(), Style::new().bold());
        let (subject, what) = (self.labelled(subject), self.labelled(what));
        let (subject, what) = (printable(&subject), on_lines(&what));
        self.stay(&format!("{mark}{symbol}{mark:#} {bold}{subject}{bold:#} {what}"));
    }

    fn stay(&self, line: &str) {
        if !matches!(self.sink, ProgressSink::Quiet) {
            self.above(|| write_line(line));
        }
    }

    pub fn measuring(&self, standing: &StudyProgress) {
        let ProgressSink::Live(bar) = &self.sink else { return };
        let StudyProgress { used_s, budget_s, is_estimate, what, so_far } = standing;
        bar.set_style(bar_style());
        bar.set_length(budget_s.ceil() as u64);
        bar.set_position(used_s.min(*budget_s) as u64);
        let about = if *is_estimate { "about " } else { "" };
        let time = format!("{} of {about}{}", minutes(*used_s), minutes(*budget_s));
        let known = so_far.styled();
        let gap = if known.is_empty() { "" } else { "  " };
        bar.set_message(format!(
            "{time}  {known}{gap}{}",
            shortened(&printable(&self.labelled(what)))
        ));
    }

    pub fn finish(&self) {
        if let ProgressSink::Live(bar) = &self.sink {
            bar.finish_and_clear();
        }
    }
}

/// Prints a permanent line. Nothing in it controls the terminal.
pub fn print(text: &str) {
    write_line(&on_lines(text));
}

/// Prints output of a user's script with its own lines, so that a program can read them. Nothing in it controls the
/// terminal.
pub fn print_said(said: &str) {
    let said = printable_lines(said);
    let said = said.strip_suffix('\n').unwrap_or(&said);
    if !said.is_empty() {
        write_line(said);
    }
}

/// [`print`] with a coloured, bold word in front, such as `error`.
pub fn print_marked(word: &str, color: AnsiColor, text: &str) {
    let style = color.on_default().bold();
    write_line(&format!("{style}{word}{style:#}: {}", on_lines(text)));
}

/// Sanitizes text from anywhere. Further lines are indented, so that none looks like a line of assay's own.
fn on_lines(text: &str) -> String {
    let lines = printable_lines(text.trim_end());
    let indented = |line: &str| if line.is_empty() { String::new() } else { format!("  {line}") };
    let further = lines.split('\n').skip(1).map(|line| format!("\n{}", indented(line)));
    further.fold(lines.split('\n').take(1).collect(), |text, line| text + &line)
}

/// Characters kept at the start and the end of a word with a URL, in a line that can be rewritten.
const OF_URL: [usize; 2] = [22, 14];

/// Shortens a line to the terminal's width by cutting the middle of long URLs.
fn shortened(text: &str) -> String {
    let [begin, end] = OF_URL;
    let short = |word: &str| {
        let count = word.chars().count();
        if !word.contains("://") || count <= begin + end {
            return word.to_owned();
        }
        let head: String = word.chars().take(begin).collect();
        let tail: String = word.chars().skip(count - end).collect();
        format!("{head}…{tail}")
    };
    text.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

fn write_line(line: &str) {
    // A closed terminal is no reason to fail.
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// `1.2 s`, `40 ms`.
pub fn seconds(elapsed: Duration) -> String {
    match elapsed.as_secs_f64() {
        short if short < 0.1 => format!("{:.0} ms", 1000.0 * short),
        long => format!("{long:.1} s"),
    }
}

/// `4:07` for 247 seconds, `1:02:00` for 3720.
pub fn minutes(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

fn spinner_style() -> ProgressStyle {
    template("{spinner:.cyan} {wide_msg}")
}

fn bar_style() -> ProgressStyle {
    template("{bar:20.cyan/dim} {wide_msg}").progress_chars("━━╌")
}

fn template(text: &str) -> ProgressStyle {
    ProgressStyle::with_template(text).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!(minutes(247.2), "4:07");
        assert_eq!(minutes(3720.0), "1:02:00");
        let of_ms = |ms| seconds(Duration::from_millis(ms));
        assert_eq!([of_ms(4), of_ms(99), of_ms(1234)], ["4 ms", "99 ms", "1.2 s"]);
    }

    #[test]
    fn no_text_controls_the_terminal_or_imitates_a_line_of_assay() {
        assert_eq!(on_lines("a\u{1b}[2J\u{202e}b\nhint: run this\n"), "a�[2J�b\n  hint: run this");
    }

    #[test]
    fn a_long_url_leaves_room_for_what_is_done() {
        let url = "mysql://root@/sbtest?socket=/var/lib/state/assay/servers/host1/0123456789ab/u/s";
        let line = shortened(&format!("{url}: loading, 5 of 10 rows"));
        assert_eq!(line, "mysql://root@/sbtest?s…3456789ab/u/s: loading, 5 of 10 rows");
        let plain = "mariadb@11.8+a=b: unpacking 1 of 2 packages";
        assert_eq!(shortened(plain), plain);
    }

    #[test]
    fn systems_with_many_options_have_their_labels() {
        let progress = Progress::new(true);
        let old = "mysql@8.0+sql_mode=STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION+sync_binlog=0";
        let new = format!("{old}+sort_buffer_size=1M");
        progress.label(&[old, &new, "mysql@9.7"]);
        let line = format!("{new} and {old} and mysql@9.7");
        assert_eq!(
            progress.labelled(&line),
            "mysql@8.0+sort_buffer_size=1M+... and mysql@8.0+... and mysql@9.7"
        );
    }

    #[test]
    fn only_nonzero_counts_are_shown() {
        let tally = VerdictTally { slower: 3, open: 16, ..VerdictTally::default() };
        assert_eq!(tally.words(), "▼ 3 slower  ? 16 open");
        assert_eq!(on_lines(&tally.interim()), "; interim verdicts: ▼ 3 slower  ? 16 open");
        assert_eq!(VerdictTally::default().interim(), "");
        assert!(tally.styled().contains('\u{1b}'));
        assert_eq!(VerdictTally::default().words(), "");
    }
}
