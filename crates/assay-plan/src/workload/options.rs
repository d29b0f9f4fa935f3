//! What a request says of the scripts of a workload.

/// Options of scripts of pgbench.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptOptions {
    /// The scale factor of pgbench's tables; 1 if there is none.
    pub scale: Option<u32>,
    /// Variables, each `NAME=VALUE`, as [`script_variable`] reads them.
    ///
    /// [`script_variable`]: crate::script_variable
    pub define: Vec<String>,
}

impl ScriptOptions {
    /// The option that is given, if one is.
    #[must_use]
    pub fn given(&self) -> Option<&'static str> {
        match self {
            Self { scale: Some(_), .. } => Some("--scale"),
            Self { define, .. } if !define.is_empty() => Some("--define"),
            Self { .. } => None,
        }
    }
}
