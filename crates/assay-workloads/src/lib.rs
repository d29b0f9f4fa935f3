//! The work that is sent to servers: schema, data, tests and random distributions. No threads, no clocks, no input or
//! output.
//!
//! Everything random is a pure function of a seed and of its coordinates: row *i* of table *t*, or event *n* of client
//! *c* in a test. So all systems of a study get the same data and the same requests, whatever their speed.

mod content;
mod decimal;
mod digest;
mod distribution;
mod event;
mod outline;
mod program;
mod random;
mod rows;
mod schema;
mod suite;

pub use content::{ContentQuery, content_query, row_checksum};
pub use event::{Argument, Client, EventBuf, Operation};
pub use outline::outline;
pub use program::{Mode, ParamType, Program, Statement};
pub use rows::{Batch, InsertBatches, Row};
pub use schema::{cache_queries, create_index, create_table};
pub use suite::{
    WARMS_LOAD, WARMS_READS, all_tests, define, test_by_name, test_of_version_1, tests_of,
};
