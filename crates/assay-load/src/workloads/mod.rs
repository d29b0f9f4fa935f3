//! Kinds of work. Each has its tables, which it loads and reads back, and clients that work on them.
//!
//! A kind is a file here, a line in [`workload_of`], and a variant of [`Schema`] with the definition of its tests.

mod ibench;
mod kind;
mod lua;
mod sbtest;
mod sql;
mod tpcc;
mod user;

use assay_model::Schema;

pub use kind::Workload;

pub fn workload_of(schema: &Schema) -> &dyn Workload {
    match schema {
        Schema::Sbtest => &sbtest::Sbtest,
        Schema::User(data) => data,
        Schema::Ibench(step) => step,
        Schema::Lua(script) => script,
        Schema::Tpcc(tpcc) => tpcc,
    }
}
