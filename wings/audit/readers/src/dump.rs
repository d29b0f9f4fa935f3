//! Variables as clients print them: tables with and without borders, fields between tabs or bars, CSV, and one field a
//! line.

use std::collections::BTreeMap;

use assay_model::Dialect;

use crate::units::postgres_value;

pub(crate) struct VariableDump {
    pub(crate) dialect: Dialect,
    pub(crate) settings: BTreeMap<String, String>,
}

/// Headings of the columns of names, values and units.
const NAMES: [&str; 2] = ["variable_name", "name"];
const VALUES: [&str; 4] = ["value", "variable_value", SETTING, "global_value"];
/// The heading of values in `pg_settings`.
const SETTING: &str = "setting";
const UNIT: &str = "unit";

/// Variables that only servers of Postgres have.
const OF_POSTGRES: [&str; 2] = ["server_version", "shared_buffers"];

/// The longest name in bytes.
const NAME_BYTES: usize = 128;

/// The most headings that are read. `pg_settings` has 17.
const HEADINGS_MAX: usize = 64;

/// The fewest rows of a dump without headings.
const ROWS_MIN: usize = 3;

#[derive(Debug, PartialEq, Eq)]
struct DumpRow<'t> {
    name: &'t str,
    value: &'t str,
    unit: Option<&'t str>,
    /// Whether its table is `pg_settings`.
    is_setting: bool,
}

/// `None` if the text has no form that a client prints.
pub(crate) fn variable_dump(text: &str) -> Option<VariableDump> {
    let mut settings = BTreeMap::new();
    let mut rows = table_rows(text);
    rows.extend(vertical_rows(text));
    if rows.is_empty() {
        rows = bare_rows(text);
    }
    let (is_setting, fields) = if rows.is_empty() { csv_rows(text) } else { (false, Vec::new()) };
    rows.extend(fields.iter().map(|[name, value, unit]| DumpRow {
        name: name.as_str(),
        value: value.as_str(),
        unit: Some(unit.as_str()),
        is_setting,
    }));
    // The output of `SHOW CREATE TABLE` has two columns too.
    rows.retain(|row| is_name(row.name) && !row.value.starts_with("CREATE "));
    let is_postgres = rows.iter().any(|row| row.is_setting || OF_POSTGRES.contains(&row.name));
    let dialect = if is_postgres { Dialect::Postgres } else { Dialect::MySql };
    for DumpRow { name, value, unit, .. } in rows {
        let (name, value) = match dialect {
            Dialect::Postgres => (name.to_owned(), postgres_value(name, value, unit)),
            // A file may have the status of a server too.
            Dialect::MySql if is_of_status(name) => continue,
            // `information_schema` of old versions writes names in capitals.
            Dialect::MySql => (name.to_ascii_lowercase(), value.to_owned()),
        };
        settings.insert(name, value);
    }
    (!settings.is_empty()).then_some(VariableDump { dialect, settings })
}

/// Whether a name is one of `SHOW STATUS`, such as `Uptime`.
fn is_of_status(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.contains(|c: char| c.is_ascii_lowercase())
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    name.len() <= NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_part)
}

/// The positions of columns in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DumpColumns {
    all: usize,
    name: usize,
    value: usize,
    unit: Option<usize>,
    is_setting: bool,
}

impl DumpColumns {
    /// `None` if the cells are no headings of variables.
    fn of_headings(cells: &[&str]) -> Option<Self> {
        let plain = |cell: &str| cell.trim().trim_matches('"').to_ascii_lowercase();
        let at = |words: &[&str]| cells.iter().position(|it| words.contains(&plain(it).as_str()));
        let (name, value, unit) = (at(&NAMES)?, at(&VALUES)?, at(&[UNIT]));
        let is_setting = plain(cells[value]) == SETTING;
        Some(Self { all: cells.len(), name, value, unit, is_setting })
    }

    /// `None` if the row has fewer cells.
    fn row<'t>(self, cells: &[&'t str]) -> Option<DumpRow<'t>> {
        let cell = |at: usize| cells.get(at).copied();
        let (name, value) = (cell(self.name)?, cell(self.value)?);
        let (unit, is_setting) = (self.unit.and_then(cell), self.is_setting);
        Some(DumpRow { name, value, unit, is_setting })
    }
}

/// Rows between bars or tabs, after a line of headings. A bar in the last column is a part of its value.
fn table_rows(text: &str) -> Vec<DumpRow<'_>> {
    let mut rows = Vec::new();
    let mut columns: Option<(DumpColumns, Separator)> = None;
    for line in text.lines() {
        let headings = [Separator::Bar, Separator::Tab].into_iter().find_map(|separator| {
            Some((DumpColumns::of_headings(&separator.cells(line, HEADINGS_MAX))?, separator))
        });
        if headings.is_some() {
            columns = headings;
        } else if let Some((columns, separator)) = columns {
            let cells = separator.cells(line, columns.all);
            rows.extend(columns.row(&cells).filter(|_| cells.len() == columns.all));
        }
    }
    rows
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Bar,
    Tab,
}

impl Separator {
    /// At most `most` cells, without the spaces around them. The border of a table may begin and end the line.
    fn cells(self, line: &str, most: usize) -> Vec<&str> {
        let is_bar = |c: char| c == '|' || c == '│';
        match self {
            Self::Bar => {
                let line = line.trim();
                let inner = line.strip_prefix(is_bar);
                // Only a table with borders ends with a bar that is no part of a value.
                let line = inner.map_or(line, |it| it.strip_suffix(is_bar).unwrap_or(it));
                line.splitn(most, is_bar).map(str::trim).collect()
            }
            Self::Tab => line.splitn(most, '\t').map(str::trim).collect(),
        }
    }
}

/// One field a line, as the client of MySQL prints after `\G`, and `psql` after `\x`.
fn vertical_rows(text: &str) -> Vec<DumpRow<'_>> {
    let mut rows: Vec<DumpRow> = Vec::new();
    let is_vertical = |line: &str| line.starts_with("****") || line.starts_with("-[ RECORD");
    if !text.lines().any(is_vertical) {
        return rows;
    }
    for line in text.lines() {
        let Some((field, value)) = line.split_once([':', '|']) else { continue };
        let (field, value) = (field.trim().to_ascii_lowercase(), value.trim());
        if NAMES.contains(&field.as_str()) {
            rows.push(DumpRow { name: value, value: "", unit: None, is_setting: false });
        } else if let Some(row) = rows.last_mut() {
            if VALUES.contains(&field.as_str()) {
                (row.value, row.is_setting) = (value, field == SETTING);
            } else if field == UNIT {
                row.unit = Some(value);
            }
        }
    }
    rows
}

/// Names and values between tabs or bars on every line, without headings. If all lines have a third column, it has
/// units. `psql` may count the rows at the end.
fn bare_rows(text: &str) -> Vec<DumpRow<'_>> {
    let is_count = |line: &str| line.starts_with('(') && line.ends_with("rows)");
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !is_count(line.trim()));
    let row = |line| {
        let (name, value) = str::split_once(line, ['\t', '|'])?;
        let (name, value) = (name.trim(), value.trim());
        is_name(name).then_some(DumpRow { name, value, unit: None, is_setting: false })
    };
    let rows: Option<Vec<DumpRow>> = lines.map(row).collect();
    let mut rows = rows.filter(|rows| rows.len() >= ROWS_MIN).unwrap_or_default();
    let with_units = rows.iter().map(|row| row.value.rsplit_once('|'));
    if let Some(with_units) = with_units.collect::<Option<Vec<_>>>() {
        for (row, (value, unit)) in rows.iter_mut().zip(with_units) {
            (row.value, row.unit) = (value.trim(), Some(unit.trim()));
        }
    }
    rows
}

/// Whether CSV with a line of headings is of `pg_settings`, and its names, values and units.
fn csv_rows(text: &str) -> (bool, Vec<[String; 3]>) {
    let found = [',', ';'].into_iter().find_map(|comma| {
        let mut start = 0;
        text.split_inclusive('\n').find_map(|line| {
            let cells: Vec<&str> = line.split(comma).take(HEADINGS_MAX).collect();
            let found = DumpColumns::of_headings(&cells).map(|columns| (comma, start, columns));
            start += line.len();
            found
        })
    });
    let Some((comma, start, columns)) = found else { return (false, Vec::new()) };
    let delimiter = if comma == ';' { b';' } else { b',' };
    let rest = text.get(start..).unwrap_or_default();
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).delimiter(delimiter).from_reader(rest.as_bytes());
    let records = reader.records().map_while(Result::ok);
    let row = |record: csv::StringRecord| {
        let cell = |at: usize| record.get(at).map(|it| it.trim().to_owned());
        let unit = columns.unit.and_then(cell).unwrap_or_default();
        Some([cell(columns.name)?, cell(columns.value)?, unit])
    };
    (columns.is_setting, records.filter_map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let settings = variable_dump(text).map(|it| it.settings).unwrap_or_default();
        settings.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    const EXPECTED: [&str; 3] = ["init_connect=SET a = 'x|y'", "log_bin=OFF", "version=8.0.40"];

    #[test]
    fn the_client_of_mysql_prints_in_three_forms() {
        let bordered = "mysql> SHOW GLOBAL VARIABLES;\n\
            +---------------+-----------------+\n| Variable_name | Value           |\n\
            +---------------+-----------------+\n| init_connect  | SET a = 'x|y'   |\n\
            | log_bin       | OFF             |\n| version       | 8.0.40          |\n\
            +---------------+-----------------+\n3 rows in set (0.01 sec)\n";
        let batch =
            "Variable_name\tValue\ninit_connect\tSET a = 'x|y'\nlog_bin\tOFF\nversion\t8.0.40\n";
        let vertical = "*************************** 1. row ***************************\n\
            Variable_name: init_connect\n        Value: SET a = 'x|y'\n\
            *************************** 2. row ***************************\n\
            Variable_name: log_bin\n        Value: OFF\n\
            *************************** 3. row ***************************\n\
            Variable_name: version\n        Value: 8.0.40\n";
        let (_, headless) = batch.split_once('\n').unwrap();
        for text in [bordered, batch, vertical, headless, &batch.replace('\n', "\r\n")] {
            assert_eq!(shown(text), EXPECTED, "{text}");
        }
        assert_eq!(shown(&batch.replace("OFF", ""))[1], "log_bin=");
        let csv = "\"Variable_name\",\"Value\"\n\"version\",\"8.0.40\"\n\"sql_mode\",\"A,B\"\n";
        assert_eq!(shown(csv), ["sql_mode=A,B", "version=8.0.40"]);
    }

    #[test]
    fn the_status_of_a_server_and_its_tables_are_no_settings() {
        let text = "Variable_name\tValue\nlog_bin\tOFF\nVariable_name\tValue\nUptime\t5\n\
                    Table\tCreate Table\nt\tCREATE TABLE `t` (\\n)\n";
        assert_eq!(shown(text), ["log_bin=OFF"]);
    }

    #[test]
    fn psql_prints_with_borders_without_them_and_as_csv() {
        let aligned = "      name      | setting | unit\n----------------+---------+------\n \
            server_version | 18.1    |\n shared_buffers | 16384   | 8kB\n(2 rows)\n";
        let unaligned =
            "name|setting|unit\nserver_version|18.1|\nshared_buffers|16384|8kB\n(2 rows)\n";
        let csv = "name,setting,unit,short_desc\nserver_version,18.1,,\"Shows,\nand says\"\n\
                   shared_buffers,16384,8kB,Sets\n";
        let all =
            "name|setting|description\nserver_version|18.1|Shows\nshared_buffers|128MB|Sets\n";
        let records = "-[ RECORD 1 ]-----------\nname    | server_version\nsetting | 18.1\nunit    |\n\
                       -[ RECORD 2 ]-----------\nname    | shared_buffers\nsetting | 16384\nunit    | 8kB\n";
        let bare = "server_version|18.1|\nshared_buffers|16384|8kB\njit|on|\n(3 rows)\n";
        let jit = ["jit=on", "server_version=18.1", "shared_buffers=128MB"];
        assert_eq!(shown(bare), jit);
        for text in [aligned, unaligned, csv, all, records] {
            assert_eq!(shown(text), ["server_version=18.1", "shared_buffers=128MB"], "{text}");
            assert!(variable_dump(text).is_some_and(|it| it.dialect == Dialect::Postgres));
        }
    }

    #[test]
    fn a_part_of_pg_settings_is_known_by_its_headings() {
        let found = variable_dump("name|setting\nwork_mem|4096\n").unwrap();
        assert_eq!(
            (found.dialect, found.settings["work_mem"].as_str()),
            (Dialect::Postgres, "4MB")
        );
        assert_eq!(shown("VARIABLE_NAME\tVARIABLE_VALUE\nLOG_BIN\tON\n"), ["log_bin=ON"]);
    }

    #[test]
    fn other_texts_are_no_dumps() {
        for text in
            ["", "\n", "a\tb\n", "[mysqld]\nx=1\n", "shared_buffers = 1GB # name, setting\n"]
        {
            assert_eq!(shown(text), [""; 0], "{text}");
        }
    }
}
