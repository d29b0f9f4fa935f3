//! The map: counted instructions of releases, by product and test. Pure: text in, figures out.

mod cells;
mod count_map;
mod functions;
mod gaps;
mod rows;
mod steps;
mod versions;

pub use cells::MapCell;
pub use count_map::CountMap;
pub use functions::{
    CellFunctions, FUNCTIONS_KEPT, FunctionMove, MapFunction, functions_text, moved, read_functions,
};
pub use gaps::MapGap;
pub use rows::{MapError, MapRow, merged, read_rows, rows_text, short_text};
pub use steps::{
    MapChange, MapStep, agrees, change, change_along, changes, instructions, ratio_of, verdict,
};
pub use versions::{is_in_series, is_next, version_order};
