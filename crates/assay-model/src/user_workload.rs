//! A user's workload as the core sees it, and the bounds on what its file may say.

use crate::limits::captured::{LINES, WIDTH};
use crate::limits::user::{
    COLUMNS, EVENT_BYTES, ROW_BYTES, SETTINGS, STATEMENTS, STEPS, TABLES, TERMS, TEXT, TIMES, USES,
    VALUES, VARIABLES,
};
use crate::limits::within;
use crate::workload::WorkloadFacts;
use crate::{
    CapturedValues, Generator, LogShare, Range, Setup, Transaction, UserData, UserRows, UserStep,
    counted,
};

impl WorkloadFacts for UserData {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn own_rows(&self) -> Option<u64> {
        Some(self.rows())
    }

    fn own_bytes(&self) -> Option<u64> {
        Some(self.loaded_bytes())
    }

    fn tables(&self, _: Setup) -> [Option<u32>; 2] {
        [u32::try_from(self.tables.len()).ok().filter(|tables| *tables > 0), None]
    }

    fn data_in_words(&self, _: Setup) -> String {
        if self.uses_existing_tables() {
            return "tables that are there".to_owned();
        }
        let (rows, tables) = (self.rows(), self.tables.len() as u64);
        format!("{} in {}", counted(rows, "row"), counted(tables, "table"))
    }

    fn check_bounds(&self) -> Result<(), String> {
        within("tables", self.tables.len(), &(0..=TABLES))?;
        for table in &self.tables {
            let UserRows::Generated { columns, .. } = &table.rows else { continue };
            within("columns", columns.len(), &(1..=COLUMNS))?;
            columns.iter().try_for_each(|column| generator(&column.values, 0))?;
            let bytes =
                columns.iter().map(|it| it.values.most_bytes()).fold(0, u64::saturating_add);
            within("bytes", bytes, &(0..=ROW_BYTES))?;
        }
        Ok(())
    }
}

const DEPTH: u32 = 8;

impl Transaction {
    pub fn check_bounds(&self) -> Result<(), String> {
        within("weight", self.weight, &(f64::MIN_POSITIVE..=1e9))?;
        within("variables", self.variables.len(), &(0..=VARIABLES))?;
        within("steps", self.steps.len(), &(0..=STEPS))?;
        within("session", self.session.len(), &(0..=SETTINGS))?;
        for values in self.variables.iter().filter_map(|it| it.values.as_ref()) {
            generator(values, 0)?;
        }
        if let Some(LogShare { share, .. }) = &self.logged {
            within("share", *share, &(0.0..=1.0))?;
        }
        if let Some(CapturedValues { lines, width, .. }) = &self.captured {
            within("lines", *lines as usize, &(1..=LINES))?;
            within("width", *width as usize, &(1..=WIDTH))?;
        }
        within("statements", self.statements(), &(0..=STATEMENTS))?;
        within("bytes", self.most_bytes(), &(0..=EVENT_BYTES))?;
        let last = self.variables.len().saturating_sub(1) as u32;
        for step in &self.steps {
            let (UserStep::Send { when, .. }
            | UserStep::Pipeline { when, .. }
            | UserStep::Sleep { when, .. }) = step;
            when.iter().try_for_each(|it| within("when", *it, &(0..=last)))?;
            if let UserStep::Sleep { us, .. } = step {
                generator(us, 0)?;
            }
            let UserStep::Send { sql, times, keep, .. } = step else { continue };
            within("times", *times, &(1..=TIMES))?;
            let statements = [&sql.mysql, &sql.postgres].into_iter().flatten();
            for statement in statements {
                within("pieces", statement.pieces.len(), &(1..=USES + 1))?;
                if statement.pieces.len() != statement.variables.len() + 1 {
                    return Err(
                        "a statement does not have exactly one place for each variable".to_owned()
                    );
                }
                statement
                    .variables
                    .iter()
                    .try_for_each(|it| within("variable", *it, &(0..=last)))?;
                if !statement.variables.is_empty() && self.variables.is_empty() {
                    return Err("a statement has a variable that is not defined".to_owned());
                }
            }
            keep.iter().try_for_each(|it| within("keep", *it, &(0..=last)))?;
        }
        Ok(())
    }
}

fn generator(values: &Generator, depth: u32) -> Result<(), String> {
    within("depth", depth, &(0..=DEPTH))?;
    match values {
        Generator::Integer(it) | Generator::Time(it) => range(it),
        Generator::Decimal { range: it, decimals } => {
            within("decimals", *decimals, &(0..=18))?;
            range(it)
        }
        Generator::Text { least, most } => {
            within("most", *most, &(0..=TEXT))?;
            within("least", *least, &(0..=*most))
        }
        Generator::OneOf { values, weights } => {
            within("values", values.len(), &(1..=VALUES))?;
            within("weights", weights.len(), &(values.len()..=values.len()))?;
            weights.iter().try_for_each(|it| within("weight", *it, &(0.0..=1e9)))
        }
        Generator::Nullable { share, of } => {
            within("share", *share, &(0.0..=1.0))?;
            generator(of, depth + 1)
        }
        Generator::Computed(terms) => within("terms", terms.len(), &(1..=TERMS)),
        Generator::Sequence { each, .. } => within("each", *each, &(1..=u32::MAX)),
        Generator::Captured { column, .. } => within("column", *column as usize, &(0..=WIDTH - 1)),
        Generator::Constant(_) | Generator::Pattern(_) | Generator::TimeSequence { .. } => Ok(()),
    }
}

fn range(range: &Range) -> Result<(), String> {
    within("low", range.low, &(i64::MIN..=range.high))?;
    range.draw.check_bounds()
}
