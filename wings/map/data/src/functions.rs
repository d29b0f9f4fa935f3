//! Functions of cells: CSV that compresses well, because the functions of a cell follow each other.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::rows::{MapError, check_count, rows_text, tenths};

/// Functions that the map keeps of each cell, those with most instructions.
pub const FUNCTIONS_KEPT: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub struct MapFunction {
    /// Instructions per operation that the function executes itself.
    pub instructions: f64,
    /// File with its code.
    pub module: String,
    pub name: String,
}

/// Functions by the key of their cell, those with most instructions first.
pub type CellFunctions = BTreeMap<String, Vec<MapFunction>>;

#[derive(Serialize, Deserialize)]
struct FunctionRow<'a> {
    /// Key of the cell.
    cell: &'a str,
    #[serde(serialize_with = "tenths")]
    instructions: f64,
    module: &'a str,
    name: &'a str,
}

/// Reads the text of a file: the cells that are wanted.
pub fn read_functions(
    file: &str,
    text: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<CellFunctions, MapError> {
    let fail = |why: String| MapError { file: file.to_owned(), why };
    let fault = |error: csv::Error| fail(error.to_string());
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headings = reader.headers().map_err(fault)?.clone();
    let mut all = CellFunctions::new();
    for record in reader.records() {
        let record = record.map_err(fault)?;
        let row: FunctionRow<'_> = record.deserialize(Some(&headings)).map_err(fault)?;
        check_count("instructions", row.instructions).map_err(fail)?;
        if is_wanted(row.cell) {
            let (module, name) = (row.module.to_owned(), row.name.to_owned());
            let function = MapFunction { instructions: row.instructions, module, name };
            all.entry(row.cell.to_owned()).or_default().push(function);
        }
    }
    Ok(all)
}

/// The text of a file.
pub fn functions_text(all: &CellFunctions) -> String {
    rows_text(all.iter().flat_map(|(cell, functions)| {
        functions.iter().take(FUNCTIONS_KEPT).map(move |function| {
            let MapFunction { instructions, module, name } = function;
            FunctionRow { cell, instructions: *instructions, module, name }
        })
    }))
}

/// A function of two cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FunctionMove<'a> {
    pub name: &'a str,
    pub module: &'a str,
    /// Instructions per operation in the base and in the other cell. `None` if the function is not among those that the
    /// map keeps of the cell.
    pub counts: [Option<f64>; 2],
}

impl FunctionMove<'_> {
    /// Instructions per operation that it executes more.
    pub fn change(&self) -> f64 {
        let [base, other] = self.counts.map(Option::unwrap_or_default);
        other - base
    }
}

/// The functions whose instructions changed most, the largest change first. A function is the same on both sides if it
/// has the same name.
pub fn moved<'a>(
    base: &'a [MapFunction],
    other: &'a [MapFunction],
    most: usize,
) -> Vec<FunctionMove<'a>> {
    let sums = |functions: &'a [MapFunction]| {
        let mut sums: BTreeMap<&str, (&str, f64)> = BTreeMap::new();
        for function in functions {
            let (_, sum) = sums.entry(&function.name).or_insert((&function.module, 0.0));
            *sum += function.instructions;
        }
        sums
    };
    let sides = [sums(base), sums(other)];
    let names: BTreeSet<&str> = sides.iter().flat_map(|side| side.keys().copied()).collect();
    let mut moves: Vec<FunctionMove<'a>> = names
        .into_iter()
        .map(|name| {
            let found = sides.each_ref().map(|side| side.get(name).copied());
            let module = found.into_iter().flatten().map(|(module, _)| module).next();
            let counts = found.map(|side| side.map(|(_, instructions)| instructions));
            FunctionMove { name, module: module.unwrap_or_default(), counts }
        })
        .collect();
    moves.sort_by(|one, other| other.change().abs().total_cmp(&one.change().abs()));
    moves.truncate(most);
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, instructions: f64) -> MapFunction {
        MapFunction { instructions, module: "mysqld".to_owned(), name: name.to_owned() }
    }

    #[test]
    fn functions_are_read_back_for_the_wanted_cells() {
        let all: CellFunctions = [
            ("8.0.11,maven".to_owned(), vec![function("std::map<int, long>::find", 900.5)]),
            ("8.0.12,maven".to_owned(), vec![function("row_search_mvcc", 1000.0)]),
        ]
        .into();
        let text = functions_text(&all);
        assert_eq!(read_functions("f", &text, |_| true).unwrap(), all);
        let one = read_functions("f", &text, |key| key.starts_with("8.0.12")).unwrap();
        assert_eq!(one.keys().collect::<Vec<_>>(), ["8.0.12,maven"]);
        for wrong in ["x,1,a", "x,-,a,b", "x,inf,a,b"] {
            let text = format!("cell,instructions,module,name\n{wrong}\n");
            assert!(read_functions("f", &text, |_| true).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_largest_move_comes_first() {
        let base = [function("parse", 100.0), function("sort", 50.0), function("read", 7.0)];
        let other = [function("parse", 80.0), function("sort", 120.0), function("check", 30.0)];
        let moves = moved(&base, &other, 3);
        let names: Vec<&str> = moves.iter().map(|found| found.name).collect();
        assert_eq!(names, ["sort", "check", "parse"]);
        assert_eq!(moves[1].counts, [None, Some(30.0)]);
        assert!((moves[2].change() + 20.0).abs() < 1e-9);
    }
}
