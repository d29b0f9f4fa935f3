//! `\gset` and `\aset`: variables from the results of statements.

use std::ops::Range;

use assay_model::{Dialect, Function, Sending, Term, UserStep};
use assay_workloads::column_names;
use assay_workloads::sql::{first_word, leading_name, words};

use super::commands::Command;
use super::known::Known;
use super::state::{Last, Script};
use crate::document::Fault;

impl<'t> Script<'t> {
    /// `\gset [PREFIX]` turns the columns of the first row into variables; `\aset [PREFIX]`, those of the last row of
    /// each result.
    pub(super) fn keep(&mut self, command: &Command<'t>, last: Option<Last>) -> Result<(), Fault> {
        let word = command.word;
        let is_all = command.name == "\\aset";
        let prefix = leading_name(self.text.get(command.rest()).unwrap_or_default());
        let Some(Last { step, parts }) = last else {
            return Err(Fault::at(command.place(), format!("`{word}` follows no query")));
        };
        if self.pipeline.is_some() {
            let message = format!("`{word}` cannot stand in a pipeline, as in pgbench");
            return Err(Fault::at(command.place(), message));
        }
        let mut kept = Vec::new();
        let queries = if is_all {
            parts.as_slice()
        } else {
            parts.last().map_or(&[][..], std::slice::from_ref)
        };
        for place in queries {
            for name in self.columns(place, is_all)? {
                kept.push(self.keep_as(format!("{prefix}{name}"), is_all, command)?);
            }
        }
        if let Some(UserStep::Send { keep, sending, .. }) = self.steps.get_mut(step) {
            *keep = kept;
            if is_all {
                *sending = Sending::LastRows;
            }
        }
        Ok(())
    }

    /// Column names of a statement's result; empty if it `may_lack` one.
    fn columns(&self, place: &Range<usize>, may_lack: bool) -> Result<Vec<String>, Fault> {
        const READS: [&str; 4] = ["SELECT", "WITH", "VALUES", "TABLE"];
        let sql = self.text.get(place.clone()).unwrap_or_default();
        if let Some(names) = column_names(sql, Dialect::Postgres) {
            return Ok(names);
        }
        let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
        let first = leading_name(first_word(sql, Dialect::Postgres));
        let returns = READS.iter().any(|it| is(first, it))
            || words(sql, Dialect::Postgres).iter().any(|word| is(word, "RETURNING"));
        if may_lack && !returns {
            return Ok(Vec::new());
        }
        let why = "the columns of this statement are not known before it runs";
        Err(Fault::at(place.clone(), why)
            .hint("name them: `SELECT bid, abalance AS balance ... \\gset`"))
    }

    fn keep_as(&mut self, name: String, is_all: bool, command: &Command<'t>) -> Result<u32, Fault> {
        let before = self.known.get(&name).cloned();
        if self.when.is_some() && !matches!(before, None | Some(Known::Mistaken)) {
            let message = format!("`{name}` has a value already, which the branch would change");
            let hint = format!("use a prefix, such as `{} new_`", command.word);
            return Err(Fault::at(command.place(), message).hint(hint));
        }
        let number = self.add_variable(&name, None, command.place());
        // Without a row, `\aset` leaves a variable unchanged.
        let term = before.as_ref().filter(|_| is_all).and_then(Known::term);
        let known = match term {
            Some(before) => {
                let kept = Term::Variable(number);
                let (is_null, case) =
                    (Term::Call(Function::IsNull, 1), Term::Call(Function::Case, 3));
                let terms = vec![kept, is_null, before, kept, case];
                Known::Computed(self.compute(&name, terms, command.place()))
            }
            None => Known::Kept(number),
        };
        self.known.insert(name, known);
        Ok(number)
    }
}
