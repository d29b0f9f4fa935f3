//! What is sent: schema, data, microbenchmarks and random distributions. No threads, no clocks, no
//! input or output.
//!
//! Everything random is a pure function of a seed and of its own coordinates: row *i* of table *t*,
//! or event *n* of client *c* in a test. So all systems of a study get the same data and the same
//! requests, whatever their speed.

mod content;
mod counts;
mod distribution;
mod event;
mod program;
mod random;
mod rows;
mod schema;
mod step;
mod summary;

pub use content::{ContentQuery, content_query, row_checksum};
pub use counts::{QueryCounts, queries_per_event};
pub use distribution::{Distribution, Sampler, Zipf};
pub use event::{Argument, Client, EventBuf, Operation};
pub use program::{Mode, ParamType, Program, Statement};
pub use random::{Stream, mix};
pub use rows::{Batch, InsertBatches, MAX_STATEMENT, Row};
pub use schema::{cache_queries, create_index, create_table};
pub use summary::{outline, summary};
