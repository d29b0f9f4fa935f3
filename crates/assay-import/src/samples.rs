//! Parsers of `vmstat` and `iostat` output, as kept beside published runs.

use std::collections::BTreeMap;
use std::io::{BufRead, Result};

use crate::line::{Fault, each_line};

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
}

impl Vmstat {
    #[must_use]
    pub fn mean(&self, of: impl Fn(&VmstatSample) -> f64) -> Option<f64> {
        self.sum(of).map(|sum| sum / self.samples.len() as f64)
    }

    /// The mean as published: each repeated header counts as a sample of zero, so it is 4 to 5% too low.
    #[must_use]
    pub fn published_mean(&self, of: impl Fn(&VmstatSample) -> f64) -> Option<f64> {
        self.sum(of).map(|sum| sum / self.published_samples() as f64)
    }

    #[must_use]
    pub fn published_samples(&self) -> u64 {
        self.samples.len() as u64 + self.headers_repeated
    }

    fn sum(&self, of: impl Fn(&VmstatSample) -> f64) -> Option<f64> {
        (!self.samples.is_empty()).then(|| self.samples.iter().map(of).sum())
    }
}

pub fn vmstat(file: &str, content: impl BufRead) -> Result<(Vmstat, Vec<Fault>)> {
    let mut all = Vmstat::default();
    let mut columns: Option<[usize; 3]> = None;
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match cells.first() {
            None => {}
            Some(&"procs") => all.headers_repeated += u64::from(columns.is_some()),
            Some(&"r") => columns = Some(places(&cells, ["cs", "us", "sy"])?),
            Some(_) => {
                let [cs, us, sy] = numbers(&cells, columns.ok_or("no header comes before it")?)?;
                all.samples.push(VmstatSample { cs, us, sy });
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
    /// As published: all devices whose names contain `name`.
    pub fn of_device(&self, name: &str) -> impl Iterator<Item = &IostatSample> {
        self.devices
            .iter()
            .filter(move |(device, _)| device.contains(name))
            .flat_map(|(_, all)| all)
    }

    /// The device must have exactly this name.
    #[must_use]
    pub fn mean_of(&self, device: &str, of: impl Fn(&IostatSample) -> f64) -> Option<f64> {
        let samples = self.devices.get(device).filter(|it| !it.is_empty())?;
        Some(samples.iter().map(of).sum::<f64>() / samples.len() as f64)
    }

    /// Number of samples and their mean; `None` without samples.
    #[must_use]
    pub fn mean(&self, device: &str, of: impl Fn(&IostatSample) -> f64) -> Option<(u64, f64)> {
        let (count, sum) =
            self.of_device(device).fold((0, 0.0), |(count, sum), it| (count + 1, sum + of(it)));
        (count > 0).then(|| (count, sum / count as f64))
    }
}

/// Parses the output of `iostat -kx`. Columns are found by name, as their order differs between releases.
pub fn iostat(file: &str, content: impl BufRead) -> Result<(Iostat, Vec<Fault>)> {
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

fn places<const N: usize>(
    cells: &[&str],
    names: [&str; N],
) -> std::result::Result<[usize; N], String> {
    let mut found = [0; N];
    for (place, name) in found.iter_mut().zip(names) {
        let at = cells.iter().position(|cell| *cell == name);
        *place = at.ok_or_else(|| format!("the header has no column `{name}`"))?;
    }
    Ok(found)
}

fn numbers<const N: usize>(
    cells: &[&str],
    places: [usize; N],
) -> std::result::Result<[f64; N], String> {
    let mut found = [0.0; N];
    for (number, place) in found.iter_mut().zip(places) {
        let cell = cells.get(place).ok_or_else(|| format!("only {} columns", cells.len()))?;
        // Some locales write a decimal comma.
        let parsed = cell.replace(',', ".").parse::<f64>();
        *number = parsed
            .ok()
            .filter(|it| it.is_finite() && *it >= 0.0)
            .ok_or_else(|| format!("`{}` is not a number", assay_model::shortened(cell)))?;
    }
    Ok(found)
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
        assert_eq!(found.mean(|it| it.cs), Some(200.0));
        assert_eq!(found.published_mean(|it| it.us + it.sy), Some(20.0));
        assert_eq!(faults[0].to_string(), "sb.vm:7: only 3 columns");
        assert_eq!(Vmstat::default().mean(|it| it.cs), None);
    }

    #[test]
    fn devices_are_found_by_columns_and_part_of_the_name() {
        let text = "Linux 5.15 (host)\n\navg-cpu:  %user %idle\n 1,5 98,5\n\n\
                    Device            r/s     w/s     rkB/s     wkB/s\n\
                    md2   1.00 2.00 4.00 8.00\nnvme0n1  0,5 0 0 x\n\n\
                    Device:  r/s rkB/s w/s wkB/s\nmd2   3.00 4.00 6.00 0.00\n";
        let (found, faults) = iostat("sb.io", text.as_bytes()).unwrap();
        assert_eq!(found.mean("md", |it| it.reads), Some((2, 2.0)));
        assert_eq!(found.mean("md2", |it| it.write_kb), Some((2, 4.0)));
        assert_eq!(found.mean("sda", |it| it.reads), None);
        assert_eq!(faults[0].to_string(), "sb.io:8: `x` is not a number");
    }
}
