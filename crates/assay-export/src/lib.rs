//! Tables of studies for other tools, as Parquet and CSV. Pure: records in, bytes out.

mod cells;
mod changes;
mod csv;
mod exported;
mod parquet;
mod slices;
mod studies;
mod table;

pub use exported::Exported;
pub use parquet::Error;
pub use table::{Column, Kind, Table};

/// All tables of these studies.
#[must_use]
pub fn tables(studies: &[Exported]) -> Vec<Table> {
    vec![
        studies::studies(studies),
        studies::systems(studies),
        studies::settings(studies),
        cells::cells(studies),
        cells::groups(studies),
        cells::steps(studies),
        changes::changes(studies),
        slices::slices(studies),
        slices::series(studies),
    ]
}

/// The schema of all tables in Markdown, as the documentation has it.
#[must_use]
pub fn schema() -> String {
    let table = |table: Table| {
        let columns = table
            .columns
            .iter()
            .map(|it| format!("| `{}` | {} | {} |\n", it.name, it.kind.word(), it.about));
        let columns: String = columns.collect();
        format!(
            "### {}\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n{columns}",
            table.name, table.about
        )
    };
    tables(&[]).into_iter().map(table).collect::<Vec<_>>().join("\n")
}
