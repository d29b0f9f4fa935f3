//! What the tables are made of.

use std::collections::BTreeMap;

use assay_model::{Series, SliceId, StudyRecord};
use assay_verdict::Judgement;

/// A study with everything that its tables need.
pub struct Exported {
    /// The record.
    pub record: StudyRecord,
    /// Its judgement.
    pub judgement: Judgement,
    /// The series of its slices.
    pub series: Vec<(SliceId, Series)>,
    /// The effective settings of its systems.
    pub settings: Vec<BTreeMap<String, String>>,
}
