//! Study events that are not measurements: kinds with fields, formatted when shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    AnswerCounts, AnswerDifference, DataSet, DumpFinding, OldRelease, SameSystems, Setup, counted,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventKind {
    Resumed,
    /// The user gave the study more time than planned.
    Extended {
        seconds: u32,
        blocks: u32,
        /// The last block, if the study had ended: its last look spent all of the planned error.
        ended_after: Option<u32>,
    },
    /// A resumed study continued under other conditions on the same machine.
    MachineChanged {
        fact: MachineFact,
        now: String,
        then: String,
    },
    /// A system takes no part because it could not be obtained or started.
    SystemMissing {
        system: String,
        why: String,
    },
    /// The system's version lacks an option that the others get.
    OptionLeftOut {
        option: String,
        /// The version's behaviour instead: a verb with its object.
        instead: String,
        /// Whether the version does by default what the option asks of the others.
        is_as_asked: bool,
    },
    /// The system's version rejects options of the shared config file.
    ConfigLeftOut {
        options: Vec<UntakenOption>,
    },
    /// The system's version accepts options of the shared config file, but warns that they are deprecated.
    ConfigDeprecated {
        options: Vec<UntakenOption>,
    },
    /// The requested series resolved to a release of years ago.
    OldRelease(OldRelease),
    /// The sizes of config files were divided to fit the machine's memory.
    Scaled(ScaledSizes),
    /// The system equals another one although other options were requested.
    Same(SameSystems),
    Unprepared {
        sql: String,
    },
    /// Instances start from a template of aged data. `seconds` is how long it took to age them, for this study or an
    /// earlier one.
    AgedTemplate {
        data: DataSet,
        seconds: u32,
    },
    /// A server of a block failed to start, so all servers of the block were restarted once.
    StartedAgain {
        error: String,
    },
    /// The system failed to start, so tests were left out of the block.
    NotMeasured {
        tests: u32,
        error: String,
    },
    TestFailed {
        test: String,
        why: String,
    },
    /// An event took too long and was killed on the server.
    TestEnded {
        test: String,
        why: String,
    },
    /// A resumed sequence repeated earlier writes to restore the state of the data.
    WritesRepeated,
    /// Work after the study that was not done for a test.
    NotDone {
        /// Name of the work. The ledger finds events by it.
        afterward: String,
        /// Words for users, before the reason: `no profile of scan`.
        what: String,
        test: String,
        data: DataSet,
        why: String,
    },
    SettingsTried(SettingsTrial),
    OtherProcesses {
        /// The busiest first.
        processes: Vec<BusyProcess>,
    },
    Restored(DumpFinding),
    AnswersCompared(AnswerCounts),
    AnswerDiffers(AnswerDifference),
    /// The system refuses a session setting of a user's workload. Statements run without the refused part.
    SettingRefused {
        /// The setting: `query_cache_type = 'OFF'`.
        setting: String,
        /// The refused modes, if it accepts the others.
        modes: Vec<String>,
        message: String,
    },
    KindLeftOut {
        test: String,
        part: String,
        why: String,
    },
    /// A reason to doubt imported results. Reports warn of it.
    Reservation {
        what: String,
    },
}

/// The share of a change that settings of the base undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsTrial {
    pub test: String,
    pub setup: Setup,
    /// Slower than the base, otherwise faster.
    pub is_slower: bool,
    pub tried: u32,
    /// Settings for which the second study could not decide whether they matter.
    pub undecided: u32,
    /// Settings that undo a part of the change, the largest first.
    pub causes: Vec<SettingCause>,
    pub study: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingCause {
    pub options: String,
    /// Percent of the change.
    pub percent: u32,
}

impl SettingsTrial {
    /// The finding without the test: `` `sync_binlog=0` undoes 80% of the change (study `x`) ``.
    pub fn finding(&self) -> String {
        let Self { tried, undecided, causes, study, .. } = self;
        if !causes.is_empty() {
            let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
            return format!("{} (study `{study}`)", causes.join(", "));
        }
        let tried = counted(u64::from(*tried), "setting");
        let undecided = match undecided {
            0 => String::new(),
            undecided => format!(", {undecided} undecided"),
        };
        format!(
            "no single setting of the base undoes the change ({tried} tried{undecided}; study `{study}`)"
        )
    }
}

impl fmt::Display for SettingsTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clients = counted(self.setup.clients, "client");
        write!(f, "{} with {clients}: {}", self.test, self.finding())
    }
}

impl fmt::Display for SettingCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, percent } = self;
        match percent {
            111.. => write!(f, "`{options}` undoes more than the change"),
            95.. => write!(f, "`{options}` undoes the change"),
            _ => write!(f, "`{options}` undoes {percent}% of the change"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntakenOption {
    pub name: String,
    pub value: String,
    /// The server's message about the value; `None` if it does not know the option.
    pub said: Option<String>,
    /// File and line that set it, such as `my.cnf:12`; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// Sizes of config files, all divided by `divisor`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaledSizes {
    pub divisor: u64,
    pub sizes: Vec<ScaledSize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaledSize {
    pub option: String,
    pub from: String,
    pub to: String,
}

/// A fact about the machine that may change between runs of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineFact {
    Kernel,
    System,
    Hypervisor,
    /// File system type of the data directories.
    FileSystem,
    /// CPU weight of clients and servers.
    CpuWeight,
}

/// Processes of one name outside the study that used CPU time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyProcess {
    pub name: String,
    /// The one that used most.
    pub pid: i32,
    /// Average CPU time, percent of one CPU.
    pub cpu_percent: u32,
}

impl fmt::Display for BusyProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, cpu_percent, .. } = self;
        write!(f, "`{name}` {}.{:02} CPUs", cpu_percent / 100, cpu_percent % 100)
    }
}

impl EventKind {
    pub fn names(&self, process: &str) -> bool {
        match self {
            Self::OtherProcesses { processes } => processes.iter().any(|busy| busy.name == process),
            _ => false,
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resumed => f.write_str("resumed after an interruption"),
            Self::Extended { seconds, blocks, .. } => write!(
                f,
                "given {} more and up to {}; error was kept back for this, so verdicts keep their error rate",
                counted(u64::from(*seconds), "second"),
                counted(u64::from(*blocks), "more block"),
            ),
            Self::MachineChanged { fact, now, then } => {
                write!(f, "resumed on {fact} {now}, began on {then}")
            }
            Self::SystemMissing { system, why } => write!(f, "`{system}` is left out: {why}"),
            Self::OptionLeftOut { option, instead, is_as_asked } => {
                write!(f, "has no `{option}`: this version {instead}")?;
                f.write_str(if *is_as_asked { ", as requested" } else { "" })
            }
            Self::ConfigLeftOut { options } => {
                let list: Vec<String> = options.iter().map(ToString::to_string).collect();
                let count = counted(options.len() as u64, "option");
                write!(f, "does not take {count} of the config file, left out: {}", list.join(", "))
            }
            Self::ConfigDeprecated { options } => {
                let list: Vec<String> = options.iter().map(ToString::to_string).collect();
                let count = counted(options.len() as u64, "option");
                write!(f, "warns of {count} of the config file, deprecated: {}", list.join(", "))
            }
            Self::OldRelease(old) => old.fmt(f),
            Self::Scaled(ScaledSizes { divisor, sizes }) => {
                let list: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                write!(f, "the sizes of the config file are divided by {divisor} on all systems")?;
                write!(f, "{}{}", if list.is_empty() { "" } else { ": " }, list.join(", "))
            }
            Self::Same(same) => {
                write!(f, "is the same as system {} of the study", same.other.saturating_add(1))
            }
            Self::Unprepared { sql } => write!(f, "cannot prepare `{sql}`: it is sent as text"),
            Self::AgedTemplate { data, seconds } => write!(
                f,
                "starts from a template of aged data, {data}, which took {} to age",
                counted(u64::from(*seconds), "second"),
            ),
            Self::StartedAgain { error } => {
                write!(f, "starting the servers of a block again: {error}")
            }
            Self::NotMeasured { tests, error } => {
                write!(f, "{tests} tests are not measured in this block: {error}")
            }
            Self::TestFailed { test, why } => write!(f, "{test} failed: {why}"),
            Self::TestEnded { test, why } => write!(f, "{test} was ended: {why}"),
            Self::NotDone { what, why, .. } => write!(f, "{what}: {why}"),
            Self::WritesRepeated => f.write_str(
                "the writes measured before the interruption are repeated without being recorded",
            ),
            Self::SettingsTried(tried) => tried.fmt(f),
            Self::OtherProcesses { processes } => other_processes(f, processes),
            Self::Restored(found) => found.fmt(f),
            Self::AnswersCompared(compared) => compared.fmt(f),
            Self::AnswerDiffers(difference) => difference.fmt(f),
            Self::SettingRefused { setting, modes, message } => {
                f.write_str(&setting_refused(setting, modes, message))
            }
            Self::KindLeftOut { test, part, why } => {
                write!(f, "{test} is measured without {part} on all systems: {why}")
            }
            Self::Reservation { what: text } => f.write_str(text),
        }
    }
}

fn setting_refused(setting: &str, modes: &[String], message: &str) -> String {
    let but = match modes {
        [] => String::new(),
        modes => format!(" (only {}; the rest of the list is set)", modes.join(", ")),
    };
    format!("refuses `{setting}`, which sessions of the workload set{but}: {message}")
}

fn other_processes(f: &mut fmt::Formatter<'_>, processes: &[BusyProcess]) -> fmt::Result {
    f.write_str("other processes used the CPU: ")?;
    for (number, BusyProcess { name, cpu_percent, .. }) in processes.iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        let (cpus, hundredths) = (cpu_percent / 100, cpu_percent % 100);
        write!(f, "{comma}`{name}` {cpus}.{hundredths:02} CPUs")?;
    }
    f.write_str(" on average")
}

impl fmt::Display for UntakenOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, said, place, .. } = self;
        write!(f, "`{name}={value}`")?;
        let details: Vec<&str> = said.iter().chain(place).map(String::as_str).collect();
        if details.is_empty() { Ok(()) } else { write!(f, " ({})", details.join("; ")) }
    }
}

impl fmt::Display for ScaledSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.option, self.from, self.to)
    }
}

impl fmt::Display for MachineFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::System => "system",
            Self::Hypervisor => "hypervisor",
            Self::FileSystem => "file system",
            Self::CpuWeight => "CPU weight",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_undo_parts_of_a_change() {
        let tried = |causes: &[(&str, u32)], undecided| {
            let cause = |&(options, percent): &(&str, u32)| SettingCause {
                options: options.to_owned(),
                percent,
            };
            let tried = SettingsTrial {
                test: "scan".to_owned(),
                setup: Setup { clients: 1, tables: 1, rows: 1 },
                is_slower: true,
                tried: 8,
                undecided,
                causes: causes.iter().map(cause).collect(),
                study: "x".to_owned(),
            };
            EventKind::SettingsTried(tried).to_string()
        };
        let all = "scan with 1 client: `a=1` undoes more than the change, `b=2` undoes the change, `c=3` undoes 50% \
                   of the change (study `x`)";
        assert_eq!(tried(&[("a=1", 130), ("b=2", 97), ("c=3", 50)], 3), all);
        let none =
            "scan with 1 client: no single setting of the base undoes the change (8 settings tried";
        assert_eq!(tried(&[], 0), format!("{none}; study `x`)"));
        assert_eq!(tried(&[], 3), format!("{none}, 3 undecided; study `x`)"));
    }

    /// Scripts and users may rely on these texts.
    #[test]
    fn every_kind_has_its_text() {
        let text = || "x".to_owned();
        let busy =
            |name: &str, cpu_percent| BusyProcess { name: name.to_owned(), pid: 7, cpu_percent };
        let left_out = |is_as_asked| EventKind::OptionLeftOut {
            option: "jit".to_owned(),
            instead: "has no compiler".to_owned(),
            is_as_asked,
        };
        let changed =
            |fact| EventKind::MachineChanged { fact, now: "2".to_owned(), then: "1".to_owned() };
        for (kind, shown) in [
            (EventKind::Resumed, "resumed after an interruption"),
            (
                EventKind::Extended { seconds: 300, blocks: 1, ended_after: Some(3) },
                "given 300 seconds more and up to 1 more block; error was kept back for this, so verdicts \
                 keep their error rate",
            ),
            (EventKind::SystemMissing { system: text(), why: text() }, "`x` is left out: x"),
            (changed(MachineFact::Kernel), "resumed on kernel 2, began on 1"),
            (changed(MachineFact::System), "resumed on system 2, began on 1"),
            (changed(MachineFact::Hypervisor), "resumed on hypervisor 2, began on 1"),
            (changed(MachineFact::FileSystem), "resumed on file system 2, began on 1"),
            (left_out(false), "has no `jit`: this version has no compiler"),
            (left_out(true), "has no `jit`: this version has no compiler, as requested"),
            (EventKind::Unprepared { sql: text() }, "cannot prepare `x`: it is sent as text"),
            (
                EventKind::AgedTemplate { data: DataSet { tables: 1, rows: 1000 }, seconds: 7 },
                "starts from a template of aged data, 1 × 1000, which took 7 seconds to age",
            ),
            (EventKind::StartedAgain { error: text() }, "starting the servers of a block again: x"),
            (
                EventKind::NotMeasured { tests: 3, error: text() },
                "3 tests are not measured in this block: x",
            ),
            (EventKind::TestFailed { test: "scan".to_owned(), why: text() }, "scan failed: x"),
            (EventKind::TestEnded { test: "scan".to_owned(), why: text() }, "scan was ended: x"),
            (
                EventKind::NotDone {
                    afterward: "profile".to_owned(),
                    what: "no profile of scan".to_owned(),
                    test: "scan".to_owned(),
                    data: DataSet { tables: 1, rows: 1 },
                    why: text(),
                },
                "no profile of scan: x",
            ),
            (
                EventKind::WritesRepeated,
                "the writes measured before the interruption are repeated without being recorded",
            ),
            (
                EventKind::OtherProcesses { processes: vec![busy("a", 58), busy("b", 205)] },
                "other processes used the CPU: `a` 0.58 CPUs, `b` 2.05 CPUs on average",
            ),
            (EventKind::Reservation { what: text() }, "x"),
        ] {
            assert_eq!(kind.to_string(), shown);
        }
    }

    #[test]
    fn what_becomes_of_users_statements_has_its_text() {
        let text = || "x".to_owned();
        for (kind, shown) in [
            (
                EventKind::SettingRefused {
                    setting: "sql_mode = 'A,B'".to_owned(),
                    modes: vec!["B".to_owned()],
                    message: text(),
                },
                "refuses `sql_mode = 'A,B'`, which sessions of the workload set (only B; the rest of the list is \
                 set): x",
            ),
            (
                EventKind::KindLeftOut { test: "everything".to_owned(), part: text(), why: text() },
                "everything is measured without x on all systems: x",
            ),
        ] {
            assert_eq!(kind.to_string(), shown);
        }
    }

    #[test]
    fn what_becomes_of_a_config_file_has_its_text() {
        let untaken = |name: &str, said: Option<&str>, place: Option<&str>| UntakenOption {
            name: name.to_owned(),
            value: "1".to_owned(),
            said: said.map(str::to_owned),
            place: place.map(str::to_owned),
            remedy: "remove the line".to_owned(),
        };
        for (kind, shown) in [
            (
                EventKind::ConfigLeftOut {
                    options: vec![
                        untaken("x", None, None),
                        untaken("y", Some("no"), None),
                        untaken("z", Some("no"), Some("my.cnf:12")),
                    ],
                },
                "does not take 3 options of the config file, left out: `x=1`, `y=1` (no), `z=1` (no; my.cnf:12)",
            ),
            (
                EventKind::ConfigDeprecated { options: vec![untaken("x", Some("old"), None)] },
                "warns of 1 option of the config file, deprecated: `x=1` (old)",
            ),
            (
                EventKind::Scaled(ScaledSizes {
                    divisor: 8,
                    sizes: vec![ScaledSize {
                        option: "pool".to_owned(),
                        from: "48G".to_owned(),
                        to: "6G".to_owned(),
                    }],
                }),
                "the sizes of the config file are divided by 8 on all systems: pool: 48G → 6G",
            ),
        ] {
            assert_eq!(kind.to_string(), shown);
        }
    }
}
