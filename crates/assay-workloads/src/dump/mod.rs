//! Dumps of whole schemas: streaming splitter, and parts that do not apply to the target.

mod fate;
mod kind;
mod qualified_names;
mod split;

pub use fate::{
    Definer, DumpedLogin, Fate, dumped_login, fate, first_line, is_drop_if_exists, without_definer,
};
pub use kind::{NoDump, dump_dialect};
pub use qualified_names::{table_database, without_database};
pub use split::{DumpError, DumpPart, DumpParts, SplitStop, StatementSplitter, begins_copy};
