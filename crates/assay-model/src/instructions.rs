//! Counted instructions of functions.

use serde::{Deserialize, Serialize};

use crate::Frame;

/// What was counted of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
