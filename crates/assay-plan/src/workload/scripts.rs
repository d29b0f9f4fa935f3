//! Scripts of a workload: one test, with events of the scripts in proportion to their weights.

use assay_model::limits::user::{SCRIPTS, WEIGHT};
use assay_model::{Class, Definition, Transaction, UserData, UserTable, thousands};

use super::files::{WorkloadFile, stem};
use super::pgbench::{self, ScriptOptions, pgbench_script};
use super::read::{definition, summary};
use crate::document::{FileError, FileFault, FileResult};

const MIX: &str = "mix";

pub(super) struct ScriptMix {
    mix: Vec<Transaction>,
    class: Class,
    /// pgbench's tables, if a script names one.
    tables: Vec<UserTable>,
}

impl ScriptMix {
    pub(super) fn read(
        files: &[WorkloadFile<'_>],
        options: &ScriptOptions,
    ) -> Result<Self, FileError> {
        if let Some(file) = files.get(SCRIPTS) {
            let fault =
                FileFault::of_file(format!("a workload may have at most {SCRIPTS} scripts"));
            return Err(fault.shown_in(file.path, file.text));
        }
        let mut scripts = Self { mix: Vec::new(), class: Class::Read, tables: Vec::new() };
        let mut errors = Vec::new();
        let mut names_tables = false;
        for file in files {
            let name = scripts.free_name(stem(file.path));
            let read = weight(file.weight)
                .and_then(|weight| pgbench::read(&name, file.text, weight, options));
            match read {
                Err(fault) => errors.push(fault.shown_in(file.path, file.text)),
                Ok(read) => {
                    names_tables |= read.names_tables;
                    if read.is_write {
                        scripts.class = Class::Write;
                    }
                    scripts.mix.push(read.transaction);
                }
            }
        }
        if !errors.is_empty() {
            return Err(FileError::of_all(errors));
        }
        if names_tables {
            scripts.tables = pgbench::tables(options);
        }
        Ok(scripts)
    }

    /// A unique name: files in different directories may have the same.
    fn free_name(&self, name: String) -> String {
        let is_free = |name: &String| !self.mix.iter().any(|it| it.name == *name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
    }

    /// Tables the scripts need besides those of a workload file; `None` without scripts.
    pub(super) fn tables(&self) -> Option<Vec<UserTable>> {
        (!self.mix.is_empty()).then(|| self.tables.clone())
    }

    pub(super) fn name(&self) -> String {
        match self.mix.as_slice() {
            [only] => only.name.clone(),
            _ => MIX.to_owned(),
        }
    }

    pub(super) fn test(self, data: &UserData) -> Option<Definition> {
        let name = self.name();
        let does = summary(&self.mix);
        (!self.mix.is_empty())
            .then(|| definition(&name, does, self.class, self.mix, &data.name, data.clone().into()))
    }
}

fn weight(written: Option<&str>) -> FileResult<f64> {
    let Some(written) = written else { return Ok(1.0) };
    let weight = written.parse().ok().filter(|weight| WEIGHT.contains(weight));
    weight.map(f64::from).ok_or_else(|| {
        let most = thousands(*WEIGHT.end());
        FileFault::of_file(format!(
            "the weight of a script is a whole number from 1 to {most}, not `{written}`"
        ))
        .hint("leave a script out that is not to be run")
    })
}

/// A file of a workload: `FILE` or `FILE@WEIGHT`, or a pgbench built-in script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedFile<'n> {
    pub path: &'n str,
    pub weight: Option<&'n str>,
}

impl<'n> NamedFile<'n> {
    /// Parses the name of a file. A number after the last `@` is a weight.
    pub fn parse(text: &'n str) -> Self {
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

    pub fn is_of_pgbench(&self) -> bool {
        pgbench_script(self.path).is_some()
    }

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
        let parts = |text| {
            let NamedFile { path, weight } = NamedFile::parse(text);
            (path, weight)
        };
        assert_eq!(parts("a.sql@3"), ("a.sql", Some("3")));
        assert_eq!(parts("a@b/c.sql"), ("a@b/c.sql", None));
        assert_eq!(parts("a@7@0"), ("a@7", Some("0")));
        assert_eq!(parts("@3"), ("@3", None));
        assert_eq!(
            NamedFile::parse("x/a.sql@3").at(|path| format!("/home/{path}")),
            "/home/x/a.sql@3"
        );
        assert_eq!(NamedFile::parse("tpcb-like@2").at(|_| String::new()), "tpcb-like@2");
        assert!(!NamedFile::parse("./tpcb-like").is_of_pgbench());
    }
}
