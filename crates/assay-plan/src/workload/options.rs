//! Options for the scripts of a workload.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptOptions {
    /// Scale factor of pgbench's tables; defaults to 1.
    pub scale: Option<u32>,
    /// Variables, each `NAME=VALUE`, as parsed by [`script_variable`].
    ///
    /// [`script_variable`]: crate::script_variable
    pub define: Vec<String>,
}

impl ScriptOptions {
    #[must_use]
    pub fn given(&self) -> Option<&'static str> {
        match self {
            Self { scale: Some(_), .. } => Some("--scale"),
            Self { define, .. } if !define.is_empty() => Some("--define"),
            Self { .. } => None,
        }
    }
}
