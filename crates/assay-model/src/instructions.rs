//! Counted instructions of functions.

use serde::{Deserialize, Serialize};

use crate::Frame;

/// What was counted of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Fields", into = "Fields")]
pub struct FunctionCount {
    /// The function.
    pub frame: Frame,
    /// Instructions of the function itself, without what it called.
    pub own: u64,
    /// How often it was called while its caller was counted too.
    pub calls: u64,
    /// Indices of the functions that called it, among those of the same count, in order.
    pub callers: Vec<u32>,
}

/// The fields in order, without their names: a count has some hundreds of functions.
type Fields = (String, String, u64, u64, Vec<u32>);

impl From<Fields> for FunctionCount {
    fn from((function, module, own, calls, callers): Fields) -> Self {
        Self { frame: Frame { function, module }, own, calls, callers }
    }
}

impl From<FunctionCount> for Fields {
    fn from(FunctionCount { frame, own, calls, callers }: FunctionCount) -> Self {
        (frame.function, frame.module, own, calls, callers)
    }
}
