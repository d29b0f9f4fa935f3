//! Scripts of a workload: one test, with events of the scripts in proportion to their weights.

use assay_model::limits::user::{SCRIPTS, WEIGHT};
use assay_model::{Class, Definition, Schema, Transaction, UserData, UserTable, thousands};

use super::files::{WorkloadFile, stem};
use super::options::ScriptOptions;
use super::pgbench;
use super::read::{definition, summary};
use crate::document::{Fault, FileError};

const MIX: &str = "mix";

pub(super) struct Scripts {
    mix: Vec<Transaction>,
    class: Class,
    /// pgbench's tables, if a script names one.
    tables: Vec<UserTable>,
}

impl Scripts {
    pub(super) fn read(
        files: &[WorkloadFile<'_>],
        options: &ScriptOptions,
    ) -> Result<Self, FileError> {
        if let Some(file) = files.get(SCRIPTS) {
            let fault = Fault::of_file(format!("a workload may have at most {SCRIPTS} scripts"));
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
        (!self.mix.is_empty()).then(|| {
            let schema = Schema::User(data.clone());
            definition(&name, does, self.class, self.mix, &data.name, schema)
        })
    }
}

fn weight(written: Option<&str>) -> Result<f64, Fault> {
    let Some(written) = written else { return Ok(1.0) };
    let weight = written.parse().ok().filter(|weight| WEIGHT.contains(weight));
    weight.map(f64::from).ok_or_else(|| {
        let most = thousands(*WEIGHT.end());
        Fault::of_file(format!(
            "the weight of a script is a whole number from 1 to {most}, not `{written}`"
        ))
        .hint("leave a script out that is not to be run")
    })
}
