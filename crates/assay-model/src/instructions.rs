//! Instruction counts of functions.

use serde::{Deserialize, Serialize};

use crate::StackFrame;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FunctionFields", into = "FunctionFields")]
pub struct FunctionCount {
    pub frame: StackFrame,
    pub own: u64,
    /// Number of calls while the caller was counted as well.
    pub calls: u64,
    /// Sorted indices of its callers among the functions of the same count.
    pub callers: Vec<u32>,
}

/// The fields in order, unnamed to save space: a count has hundreds of functions.
type FunctionFields = (String, String, u64, u64, Vec<u32>);

impl From<FunctionFields> for FunctionCount {
    fn from((function, module, own, calls, callers): FunctionFields) -> Self {
        Self { frame: StackFrame { function, module }, own, calls, callers }
    }
}

impl From<FunctionCount> for FunctionFields {
    fn from(FunctionCount { frame, own, calls, callers }: FunctionCount) -> Self {
        (frame.function, frame.module, own, calls, callers)
    }
}
