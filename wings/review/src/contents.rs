//! What the files of a benchmark have. Pure: bytes in, results out.

use std::io;

use assay_import::{
    ClientRun, HammerdbRun, LineFault, OutputKind, PgbenchLog, QpsKind, QpsTable, Vmstat,
    hammerdb_runs, output, pgbench_log, pgbench_run, qps_table, sysbench_run, vmstat,
};
use assay_setting_files::{NamedServer, SettingsFile, read_settings};

pub(crate) enum FileContent {
    Run(Box<ClientRun>),
    Hammerdb(Vec<HammerdbRun>),
    Log(PgbenchLog),
    /// Published rates of several systems.
    Table(QpsTable),
    Vmstat(Vmstat),
    Settings(SettingsFile),
}

/// `None` if the file has nothing that is known, with the lines that could not be read. `named` is the server of a
/// config file, if its name says it.
pub(crate) fn content_of(
    file: &str,
    bytes: &[u8],
    named: Option<&NamedServer>,
) -> io::Result<(Option<FileContent>, Vec<LineFault>)> {
    let run = |(run, faults)| (Some(FileContent::Run(Box::new(run))), faults);
    match output(bytes)? {
        OutputKind::Sysbench => return sysbench_run(file, bytes).map(run),
        OutputKind::Pgbench => return pgbench_run(file, bytes).map(run),
        OutputKind::Other(_) | OutputKind::Unknown => {}
    }
    let (runs, faults) = hammerdb_runs(file, bytes)?;
    if !runs.is_empty() {
        return Ok((Some(FileContent::Hammerdb(runs)), faults));
    }
    // Rows of vmstat are numbers, as those of a log are.
    let (samples, faults) = vmstat(file, bytes)?;
    if !samples.samples.is_empty() {
        return Ok((Some(FileContent::Vmstat(samples)), faults));
    }
    let (log, faults) = pgbench_log(file, bytes)?;
    if !log.is_empty() {
        return Ok((Some(FileContent::Log(log)), faults));
    }
    let (table, faults) = qps_table(file, bytes)?;
    if table.kind == QpsKind::Absolute && !table.servers.is_empty() && !table.rows.is_empty() {
        return Ok((Some(FileContent::Table(table)), faults));
    }
    let settings = read_settings(&String::from_utf8_lossy(bytes), named);
    Ok((settings.ok().map(FileContent::Settings), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> &'static str {
        match content_of("f", text.as_bytes(), None).unwrap().0 {
            Some(FileContent::Run(_)) => "run",
            Some(FileContent::Hammerdb(_)) => "hammerdb",
            Some(FileContent::Log(_)) => "log",
            Some(FileContent::Table(_)) => "table",
            Some(FileContent::Vmstat(_)) => "vmstat",
            Some(FileContent::Settings(_)) => "settings",
            None => "unknown",
        }
    }

    #[test]
    fn files_are_known_by_their_content() {
        for (text, expected) in [
            ("sysbench 1.0.20\n    transactions:  10   (1.00 per sec.)\n", "run"),
            ("pgbench (16.1)\ntransaction type: <builtin: select only>\n", "run"),
            ("Vuser 1:TEST RESULT : System achieved 9 NOPM from 20 MySQL TPM\n", "hammerdb"),
            ("0 1 2241 0 1700000000 995598\n", "log"),
            ("col-1 : my8036\ncol-2 : my9100\n100\t90\tscan\n", "table"),
            ("procs\n r b cs us sy id wa st\n 1 0 9 50 10 40 0 0\n", "vmstat"),
            ("[mysqld]\nsync_binlog=0\n", "settings"),
            ("Variable_name\tValue\nlog_bin\tON\n", "settings"),
            ("It was a dark night.\n", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
