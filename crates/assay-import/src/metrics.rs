//! Metrics per operation: `o.met.*` and `met.*.txt`.

use std::io::{BufRead, Result};

use crate::line::{Fault, each_line, value};

/// The column with the name of the server.
const SERVER: &str = "dbms";

/// A file of metrics.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    /// One section for each run.
    pub sections: Vec<Section>,
}

/// The metrics of all servers in a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// Its title, such as `sb.met.point-query.range100.pk1.dop1`; that of a load begins with `sb.prepare`.
    pub title: String,
    /// The names of the columns, such as `cpu/o`, without that of the server.
    pub columns: Vec<String>,
    /// The metrics themselves, in the order of the servers.
    pub absolute: Vec<MetricRow>,
    /// The printed ratios of all servers but the first.
    pub relative: Vec<MetricRow>,
}

/// The metrics of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    /// Its name.
    pub server: String,
    /// The values as they are printed, by column: a ratio to zero is `inf`.
    pub printed: Vec<String>,
    /// The same as numbers; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

impl Section {
    /// The number of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

/// Reads a file of metrics. Columns may be missing, as in older files, or others be there.
///
/// # Errors
/// When the content cannot be read. Lines that make no sense are faults.
pub fn metrics(file: &str, content: impl BufRead) -> Result<(Metrics, Vec<Fault>)> {
    let mut all = Metrics::default();
    let mut is_relative = false;
    let faults = each_line(file, content, |_, line| {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        if line.starts_with("sb.") {
            all.sections.push(Section { title: line.to_owned(), ..Section::default() });
            is_relative = false;
            return Ok(());
        }
        let section = all.sections.last_mut().ok_or("no title comes before it")?;
        match line.strip_prefix("---").map(str::trim) {
            Some("absolute") => is_relative = false,
            Some(words) if words.starts_with("relative") => is_relative = true,
            Some(other) => return Err(format!("unknown part `{other}`")),
            None => return add_row(section, line, is_relative),
        }
        Ok(())
    })?;
    Ok((all, faults))
}

fn add_row(
    section: &mut Section,
    line: &str,
    is_relative: bool,
) -> std::result::Result<(), String> {
    let mut cells: Vec<&str> = line.split('\t').filter(|cell| !cell.is_empty()).collect();
    let server = cells.pop().unwrap_or_default();
    if server == SERVER {
        section.columns = cells.iter().map(|&name| name.to_owned()).collect();
        return Ok(());
    }
    if cells.len() != section.columns.len() {
        return Err(format!("{} of {} values", cells.len(), section.columns.len()));
    }
    let values = cells.iter().map(|text| value(text)).collect::<std::result::Result<_, _>>()?;
    let printed = cells.iter().map(|&text| text.to_owned()).collect();
    let row = MetricRow { server: server.to_owned(), printed, values };
    if is_relative {
        section.relative.push(row)
    } else {
        section.absolute.push(row)
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_both_parts() {
        let text = "sb.met.point-query.range100.pk1.dop1\n--- absolute\ncpu/o\t\tcs/o\to/s\tdbms\n\
                    0.000510\t3.825\t24733\tx.my5651\n0.000599\t0\t21740\tx.my5744\n\
                    --- relative to first result\n1.17\t\t0.00\t0.88\tx.my5744\n\n\
                    sb.met.scan.range100.pk1.dop1\n--- absolute\ncpu/o\to/s\tdbms\n0.1\tx.my5651\n";
        let (found, faults) = metrics("o.met", text.as_bytes()).unwrap();
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["o.met:12: 1 of 2 values"]);
        let [first, second] = found.sections.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.columns.len(), first.column("o/s")), (3, Some(2)));
        assert_eq!(first.absolute[1].values, [Some(0.000_599), Some(0.0), Some(21740.0)]);
        assert_eq!(first.relative[0].printed, ["1.17", "0.00", "0.88"]);
        assert_eq!(
            (second.title.as_str(), second.absolute.len()),
            ("sb.met.scan.range100.pk1.dop1", 0)
        );
    }

    #[test]
    fn lines_without_a_title_are_faults() {
        let (found, faults) = metrics("o.met", &b"1\tx\n--- other\n"[..]).unwrap();
        assert_eq!((found.sections.len(), faults.len()), (0, 2));
    }
}
