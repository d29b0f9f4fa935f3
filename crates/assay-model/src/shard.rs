//! A shard: the part of a study that one node measures.

use serde::{Deserialize, Serialize};

/// A shard and its node. It has a subset of the study's cells, and of these every `step`-th block from `first` on. It
/// never separates compared systems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardRun {
    /// Name of the whole study, a digest of its definition, common to all shards.
    pub study: String,
    pub number: u32,
    pub of: u32,
    pub first: u32,
    /// Distance between its blocks: the number of shards with the same cells.
    pub step: u32,
    /// Attempt at the shard: task and restart of a job. Empty without a job.
    pub attempt: String,
    pub node: String,
    /// Secret shared by a job's folder and its shards. Empty without a job, and in packs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub secret: String,
}
