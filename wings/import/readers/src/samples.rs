//! Parsers of `vmstat` and `iostat` output, as kept beside published runs.

use std::collections::BTreeMap;
use std::io::BufRead;

use assay_model::Slice;

use crate::line::{self, ParseResult, each_line, not_a_number};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vmstat {
    /// One per line of numbers. The first covers the time since boot.
    pub samples: Vec<VmstatSample>,
    pub headers_repeated: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VmstatSample {
    /// Context switches per second.
    pub cs: f64,
    /// CPU time in programs, percent of all CPUs.
    pub us: f64,
    /// CPU time in the kernel, percent of all CPUs.
    pub sy: f64,
    /// Time in which CPUs were idle because of I/O, percent of all CPUs.
    pub wa: Option<f64>,
    /// Time that the hypervisor gave to other machines, percent of all CPUs.
    pub st: Option<f64>,
}

impl Vmstat {
    /// The mean as published: each repeated header counts as a sample of zero, so it is 4 to 5% too low.
    pub fn published_mean(&self, value: impl Fn(&VmstatSample) -> f64) -> Option<f64> {
        let sum = self.samples.iter().map(value).sum::<f64>();
        (!self.samples.is_empty()).then(|| sum / self.published_samples() as f64)
    }

    pub fn published_samples(&self) -> u64 {
        self.samples.len() as u64 + self.headers_repeated
    }
}

pub fn vmstat(file: &str, content: impl BufRead) -> ParseResult<Vmstat> {
    let mut all = Vmstat::default();
    let mut columns: Option<[usize; 3]> = None;
    let mut rare: [Option<usize>; 2] = [None; 2];
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match cells.first() {
            None => {}
            Some(&"procs") => all.headers_repeated += u64::from(columns.is_some()),
            Some(&"r") => {
                columns = Some(places(&cells, ["cs", "us", "sy"])?);
                rare = ["wa", "st"].map(|name| cells.iter().position(|cell| *cell == name));
            }
            Some(_) => {
                let [cs, us, sy] = numbers(&cells, columns.ok_or("no header comes before it")?)?;
                let [wa, st] = rare.map(|place| line::number(cells.get(place?)?));
                all.samples.push(VmstatSample { cs, us, sy, wa, st });
            }
        }
        Ok(())
    })?;
    Ok((all, faults))
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Iostat {
    /// Samples by device, one per line.
    pub devices: BTreeMap<String, Vec<IostatSample>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IostatSample {
    /// Per second.
    pub reads: f64,
    /// KiB per second.
    pub read_kb: f64,
    /// Per second.
    pub writes: f64,
    /// KiB per second.
    pub write_kb: f64,
}

impl Iostat {
    /// The device must have exactly this name.
    pub fn mean_of(&self, device: &str, value: impl Fn(&IostatSample) -> f64) -> Option<f64> {
        let samples = self.devices.get(device).filter(|it| !it.is_empty())?;
        Some(samples.iter().map(value).sum::<f64>() / samples.len() as f64)
    }
}

/// Parses the output of `iostat -kx`. Columns are found by name, as their order differs between releases.
pub fn iostat(file: &str, content: impl BufRead) -> ParseResult<Iostat> {
    let mut all = Iostat::default();
    let mut columns: Option<[usize; 4]> = None;
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match (cells.as_slice(), columns) {
            ([], _) => columns = None,
            ([first, ..], _) if first.trim_end_matches(':') == "Device" => {
                columns = Some(places(&cells, ["r/s", "rkB/s", "w/s", "wkB/s"])?);
            }
            ([device, ..], Some(columns)) => {
                let [reads, read_kb, writes, write_kb] = numbers(&cells, columns)?;
                let sample = IostatSample { reads, read_kb, writes, write_kb };
                all.devices.entry((*device).to_owned()).or_default().push(sample);
            }
            // The title and the table of CPUs.
            (_, None) => {}
        }
        Ok(())
    })?;
    Ok((all, faults))
}

fn places<const N: usize>(cells: &[&str], names: [&str; N]) -> Result<[usize; N], String> {
    let mut found = [0; N];
    for (place, name) in found.iter_mut().zip(names) {
        let at = cells.iter().position(|cell| *cell == name);
        *place = at.ok_or_else(|| format!("the header has no column `{name}`"))?;
    }
    Ok(found)
}

fn numbers<const N: usize>(cells: &[&str], places: [usize; N]) -> Result<[f64; N], String> {
    let mut found = [0.0; N];
    for (number, place) in found.iter_mut().zip(places) {
        let cell = cells.get(place).ok_or_else(|| format!("only {} columns", cells.len()))?;
        // Some locales write a decimal comma.
        let parsed = line::number(&cell.replace(',', "."));
        *number = parsed.ok_or_else(|| not_a_number(cell))?;
    }
    Ok(found)
}

pub type RunMetrics = Vec<(String, f64)>;

/// Decimals of a metric, as published.
const DECIMALS: f64 = 1e6;

/// The device with the most traffic in all runs, and a note if others had any: the files do not name the one with the
/// data.
pub(crate) fn busiest_device<'a>(runs: impl Iterator<Item = &'a Iostat>) -> (String, Vec<String>) {
    let mut traffic: BTreeMap<&str, f64> = BTreeMap::new();
    for (device, samples) in runs.flat_map(|it| &it.devices) {
        let all: f64 = samples.iter().map(|it| it.read_kb + it.write_kb).sum();
        *traffic.entry(device).or_default() += all;
    }
    let busy = traffic.values().filter(|all| **all > 0.0).count();
    // Ties go to the first.
    let busiest = traffic.iter().rev().max_by(|one, other| one.1.total_cmp(other.1));
    let Some((device, _)) = busiest else { return Default::default() };
    let note = (busy > 1).then(|| {
        format!(
            "r/o, rKB/o and wKB/o are those of `{device}`, the busiest of {busy} devices of iostat"
        )
    });
    ((*device).to_owned(), note.into_iter().collect())
}

/// Means of samples divided by operations per second. As published, a repeated header of vmstat counts as a sample of
/// zero.
pub(crate) fn metrics_of_samples(
    vmstat: Option<&Vmstat>,
    iostat: Option<&Iostat>,
    device: &str,
    slice: &Slice,
) -> RunMetrics {
    let Some(rate) = slice.ops_per_second() else { return Vec::new() };
    let of_machine =
        |value: fn(&crate::VmstatSample) -> f64| Some(vmstat?.published_mean(value)? / rate);
    let of_device =
        |value: fn(&crate::IostatSample) -> f64| Some(iostat?.mean_of(device, value)? / rate);
    let metrics = [
        ("cpu/o", of_machine(|it| it.us + it.sy)),
        ("cs/o", of_machine(|it| it.cs)),
        ("r/o", of_device(|it| it.reads)),
        ("rKB/o", of_device(|it| it.read_kb)),
        ("wKB/o", of_device(|it| it.write_kb)),
    ];
    let rounded = |value: f64| (value * DECIMALS).round() / DECIMALS;
    let known = metrics.into_iter();
    let known = known.filter_map(|(name, value)| Some((name.to_owned(), rounded(value?))));
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_headers_are_counted_apart() {
        let header = "procs ---memory--- --system-- ---cpu---\n r  b   swpd in   cs us sy id\n";
        let text =
            format!("{header} 3  0 1 0 100 16 10 72\n{header}4 0 1 0 300 20 14 66\n4 0 1\n\n");
        let (found, faults) = vmstat("sb.vm", text.as_bytes()).unwrap();
        assert_eq!((found.samples.len(), found.headers_repeated), (2, 1));
        assert_eq!(found.published_mean(|it| it.us + it.sy), Some(20.0));
        assert_eq!(faults[0].to_string(), "sb.vm:7: only 3 columns");
        assert_eq!(Vmstat::default().published_mean(|it| it.cs), None);
    }

    #[test]
    fn devices_are_found_by_name_and_columns_too() {
        let text = "Linux 5.15 (host)\n\navg-cpu:  %user %idle\n 1,5 98,5\n\n\
                    Device            r/s     w/s     rkB/s     wkB/s\n\
                    md2   1.00 2.00 4.00 8.00\nnvme0n1  0,5 0 0 x\n\n\
                    Device:  r/s rkB/s w/s wkB/s\nmd2   3.00 4.00 6.00 0.00\n";
        let (found, faults) = iostat("sb.io", text.as_bytes()).unwrap();
        assert_eq!(found.mean_of("md2", |it| it.reads), Some(2.0));
        assert_eq!(found.mean_of("md2", |it| it.write_kb), Some(4.0));
        assert_eq!(found.mean_of("md", |it| it.reads), None);
        assert_eq!(faults[0].to_string(), "sb.io:8: `x` is not a number");
    }
}
