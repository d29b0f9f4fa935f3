//! The workload as a test.

use assay_model::{Class, Definition, Group, PlanningFacts, Schema, StartFrom, Test, Unit};

use super::options::TpccOptions;
use super::sizes::TPCC;
use crate::define;

#[must_use]
pub fn tpcc_tests(options: &TpccOptions) -> Vec<Test> {
    let tpcc = options.tpcc();
    let by = if tpcc.procedures { "stored procedures" } else { "statements of the client" };
    let group = Group { rank: 0, word: TPCC.to_owned(), title: "TPC-C-like".to_owned() };
    vec![define(Definition {
        name: TPCC.to_owned(),
        group,
        groups: Vec::new(),
        does: format!("one of five transactions with the mix of TPC-C, as {by}"),
        class: Class::Write,
        start_from: StartFrom::Fresh,
        unit: Unit::Query,
        schema: Schema::Tpcc(tpcc),
        roles: Vec::new(),
        planning: PlanningFacts::default(),
        digest: String::new(),
    })]
}
