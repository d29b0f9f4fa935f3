//! SQL dialects.

/// A client protocol with its SQL. Products that share one differ in programs and options, not in what clients send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// Backslashes escape in strings; `#` begins a comment.
    MySql,
    /// Backslashes escape only in `E'...'` strings; `$tag$` quotes text.
    Postgres,
}

impl Dialect {
    pub const ALL: [Self; 2] = [Self::MySql, Self::Postgres];

    pub fn scheme(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::Postgres => "postgres",
        }
    }

    pub fn port(self) -> u16 {
        match self {
            Self::MySql => 3306,
            Self::Postgres => 5432,
        }
    }

    pub fn has_escapes(self) -> bool {
        self == Self::MySql
    }

    pub fn quote(self) -> char {
        match self {
            Self::MySql => '`',
            Self::Postgres => '"',
        }
    }
}
