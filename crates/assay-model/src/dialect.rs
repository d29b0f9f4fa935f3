//! The two dialects that assay speaks.

/// A client protocol with its SQL. Products that speak the same one differ in their programs and options, not in what
/// clients send them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// That of MySQL: a backslash has a meaning in strings, and `#` begins a comment.
    MySql,
    /// That of Postgres: a backslash has a meaning only in `E'...'` strings, and `$tag$` begins and ends a quoted text.
    Postgres,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 2] = [Self::MySql, Self::Postgres];

    /// The word before `://` in the URL of a server.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::Postgres => "postgres",
        }
    }

    /// The port on which servers listen by default.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::MySql => 3306,
            Self::Postgres => 5432,
        }
    }

    /// Whether a backslash has a meaning in plain string literals.
    #[must_use]
    pub fn has_escapes(self) -> bool {
        self == Self::MySql
    }

    /// The mark around quoted names.
    #[must_use]
    pub fn quote(self) -> char {
        match self {
            Self::MySql => '`',
            Self::Postgres => '"',
        }
    }
}
