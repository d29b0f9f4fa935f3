//! Names of workload files in requests.

use super::pgbench::pgbench_script;

/// A file of a workload: `FILE` or `FILE@WEIGHT`, or a pgbench built-in script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFile<'n> {
    pub path: &'n str,
    pub weight: Option<&'n str>,
}

impl<'n> NamedFile<'n> {
    /// Parses the name of a file. A number after the last `@` is a weight.
    #[must_use]
    pub fn of(text: &'n str) -> Self {
        let is_number = |it: &str| {
            !it.is_empty() && it.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        };
        match text.rsplit_once('@') {
            Some((path, weight)) if !path.is_empty() && is_number(weight) => {
                Self { path, weight: Some(weight) }
            }
            _ => Self { path: text, weight: None },
        }
    }

    #[must_use]
    pub fn is_of_pgbench(&self) -> bool {
        pgbench_script(self.path).is_some()
    }

    #[must_use]
    pub fn at(&self, path: impl FnOnce(&str) -> String) -> String {
        let path = if self.is_of_pgbench() { self.path.to_owned() } else { path(self.path) };
        match self.weight {
            Some(weight) => format!("{path}@{weight}"),
            None => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_after_the_last_at_is_a_weight() {
        let of = |text| {
            let NamedFile { path, weight } = NamedFile::of(text);
            (path, weight)
        };
        assert_eq!(of("a.sql@3"), ("a.sql", Some("3")));
        assert_eq!(of("a@b/c.sql"), ("a@b/c.sql", None));
        assert_eq!(of("a@7@0"), ("a@7", Some("0")));
        assert_eq!(of("@3"), ("@3", None));
        assert_eq!(
            NamedFile::of("x/a.sql@3").at(|path| format!("/home/{path}")),
            "/home/x/a.sql@3"
        );
        assert_eq!(NamedFile::of("tpcb-like@2").at(|_| String::new()), "tpcb-like@2");
        assert!(!NamedFile::of("./tpcb-like").is_of_pgbench());
    }
}
