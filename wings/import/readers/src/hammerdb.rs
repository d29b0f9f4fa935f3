//! Parser of the output of HammerDB's driver of TPROC-C.

use std::io::BufRead;

use assay_model::limits::RESULTS;

use crate::line::{self, ParseResult, each_line};

/// Maximum number of counts kept: a week of them every second.
const COUNTS_MAX: usize = 604_800;

/// A run. `None` means absent from the output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HammerdbRun {
    /// New orders per minute.
    pub nopm: f64,
    /// Virtual users that send transactions.
    pub users: Option<u32>,
    pub warehouses: Option<u32>,
    pub rampup_minutes: Option<f64>,
    pub minutes: Option<f64>,
    /// Virtual users that ended with an error.
    pub failed_users: u64,
    /// Transactions per minute, as its counter printed them during the run.
    pub counts: Vec<f64>,
}

/// The runs of an output, each of which ends with its result.
pub fn hammerdb_runs(file: &str, content: impl BufRead) -> ParseResult<Vec<HammerdbRun>> {
    let (mut runs, mut run) = (Vec::new(), HammerdbRun::default());
    let faults = each_line(file, content, |_, line| {
        let text = without_user(line.trim());
        if let Some((_, result)) = text.split_once("System achieved ") {
            run.nopm = new_orders(result).ok_or("the result lacks a number")?;
            if runs.len() == RESULTS {
                return Err(format!("more than {RESULTS} results"));
            }
            runs.push(std::mem::take(&mut run));
            return Ok(());
        }
        if let Some(minutes) = text.strip_prefix("Beginning rampup time of ") {
            run.rampup_minutes = first_number(minutes);
        } else if let Some(minutes) = text.strip_prefix("Timing test period of ") {
            run.minutes = first_number(minutes);
            // Those of the ramp-up.
            run.counts.clear();
        } else if let Some((users, _)) = text.split_once(" Active Virtual Users configured") {
            run.users = users.parse().ok();
        } else if let Some((_, rest)) = text.split_once("Warehouses = ") {
            run.warehouses = warehouses(rest);
        } else if text == "FINISHED FAILED" {
            // Users also end after the result; the next run begins with its ramp-up.
            let ended = runs.last_mut().filter(|_| run.rampup_minutes.is_none());
            let failed = &mut ended.unwrap_or(&mut run).failed_users;
            *failed = failed.saturating_add(1);
        } else if let Some((count, _)) =
            text.strip_suffix(" tpm").and_then(|words| words.split_once(' '))
            && run.counts.len() < COUNTS_MAX
        {
            run.counts.extend(line::number(count));
        }
        Ok(())
    })?;
    Ok((runs, faults))
}

/// Strips the name of the virtual user: `Vuser 1:`.
fn without_user(text: &str) -> &str {
    match text.split_once(':') {
        Some((user, rest)) if user.starts_with("Vuser ") => rest.trim_start(),
        _ => text,
    }
}

/// `9000 NOPM from 20000 MySQL TPM` or, in versions up to 3, `20000 MySQL TPM at 9000 NOPM`.
fn new_orders(text: &str) -> Option<f64> {
    let (front, _) = text.split_once(" NOPM")?;
    line::number(front.rsplit(' ').next()?)
}

fn first_number(text: &str) -> Option<f64> {
    line::number(text.split_whitespace().next()?)
}

/// `10 out of 30`, or in older versions `30 (1 out of 10)`.
fn warehouses(text: &str) -> Option<u32> {
    let (own, all) = text.split_once(" out of ").unwrap_or((text, text));
    let number = if own.contains('(') { own } else { all };
    number.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "HammerDB CLI v4.9\nVuser 1:RUNNING\n\
        Vuser 1:Beginning rampup time of 2 minutes\n\
        Vuser 2:Assigned 10 WIDs = 1 4 based on VU count 3, Warehouses = 10 out of 30\n\
        Vuser 2:Processing 10000000 transactions with output suppressed...\n\
        0 MySQL tpm\n12000 MySQL tpm\n\
        Vuser 1:Rampup complete, Taking start Transaction Count.\n\
        Vuser 1:Timing test period of 5 in minutes\n21000 MySQL tpm\n19000 MySQL tpm\n\
        Vuser 1:Test complete, Taking end Transaction Count.\n\
        Vuser 1:3 Active Virtual Users configured\n\
        Vuser 1:TEST RESULT : System achieved 9000 NOPM from 20000 MySQL TPM\n";

    #[test]
    fn a_run_ends_with_its_result() {
        let twice = [OUTPUT, &OUTPUT.replace("9000 NOPM", "9100 NOPM")].concat();
        let (runs, faults) = hammerdb_runs("h", twice.as_bytes()).unwrap();
        assert_eq!(faults.len(), 0);
        let [first, second] = runs.as_slice() else { panic!("{runs:?}") };
        assert_eq!(first.nopm, 9000.0);
        assert_eq!((first.users, first.warehouses), (Some(3), Some(30)));
        assert_eq!((first.rampup_minutes, first.minutes), (Some(2.0), Some(5.0)));
        assert_eq!(first.counts, [21_000.0, 19_000.0]);
        assert_eq!((second.nopm, second.failed_users), (9100.0, 0));
    }

    #[test]
    fn old_results_and_failed_users_are_read() {
        let text = "Error in Virtual User 2: lost\nVuser 2:FINISHED FAILED\n\
                    Vuser 1:TEST RESULT : System achieved 20000 SQL Server TPM at 9000 NOPM\n\
                    Vuser 3:FINISHED FAILED\nVuser 1:TEST RESULT : System achieved x NOPM from 1 MySQL TPM\n";
        let (runs, faults) = hammerdb_runs("h", text.as_bytes()).unwrap();
        assert_eq!((runs[0].nopm, runs[0].failed_users), (9000.0, 2));
        assert_eq!(
            (warehouses("30 (1 out of 10)"), warehouses("30"), warehouses("")),
            (Some(30), Some(30), None)
        );
        assert_eq!(faults[0].to_string(), "h:5: the result lacks a number");
    }
}
