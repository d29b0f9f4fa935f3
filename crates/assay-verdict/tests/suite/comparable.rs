//! Which studies belong to one line.

use assay_model::StudyRecord;
use assay_verdict::{comparable, judge};

use crate::common::Simulation;

#[test]
fn studies_on_different_cpus_are_not_comparable() {
    let one = Simulation { rounds: 4, ..Simulation::MEASURED }.record();
    let mut other = one.clone();
    other.study.cpus.servers = vec![0, 1];
    let lines = |records: [&StudyRecord; 2]| {
        let judged = records.map(judge);
        let studies: Vec<_> = records.into_iter().zip(&judged).collect();
        comparable(&studies, |_, system| !system.is_base).len()
    };
    let alike = lines([&one, &one]);
    assert!(alike > 0);
    assert_eq!(lines([&one, &other]), 2 * alike);
}
