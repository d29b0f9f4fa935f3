//! A shard: the part of a study that one node measures.

use serde::{Deserialize, Serialize};

/// A part of a study that one node measures, and who measured it.
///
/// A shard has a part of the study's cells, and of these every `step`-th block from `first` on. It never separates the
/// systems that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardRun {
    /// Name of the whole study, a digest of its definition. All of its shards have it.
    pub study: String,
    /// The number of the shard, from 1.
    pub number: u32,
    /// The number of shards.
    pub of: u32,
    /// Its first block.
    pub first: u32,
    /// The distance between its blocks, which is the number of shards that have the same cells.
    pub step: u32,
    /// The attempt at the shard: task and restart of a job. Empty without a job.
    pub attempt: String,
    /// Name of the node.
    pub node: String,
    /// The secret of the job that it is a task of, which only the job's folder and its shards have. Empty without a
    /// job, and in packs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub secret: String,
}
