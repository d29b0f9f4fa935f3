//! Statements of a script, with their variables.

use std::ops::Range;

use assay_model::{Dialect, PerDialect, Sending, Sql, Term, UserStep};
use assay_workloads::sql::{
    Quotes, Use, leading_name, marks, only_reads, quoted_uses, statement, statements, unterminated,
    uses, words,
};

use super::known::{Known, unknown};

use super::sets::{constant_text, in_statement};
use super::state::{Last, Script};
use super::tables::NAMES;
use crate::document::Fault;

impl Script<'_> {
    /// Adds the statements of a part of the script. The last one remains open, as `\;` may follow it.
    pub(super) fn add_statements(&mut self, place: Range<usize>) {
        let within = self.text.get(place.clone()).unwrap_or_default();
        if let Some(at) = unterminated(within, Dialect::Postgres) {
            let at = place.start + at;
            return self.faults.push(Fault::at(at..at + 1, "what begins here has no end"));
        }
        for part in statements(within, Dialect::Postgres) {
            if !std::mem::take(&mut self.is_joined) {
                self.send();
            }
            self.open.push(place.start + part.start..place.start + part.end);
        }
    }

    pub(super) fn send(&mut self) {
        self.is_joined = false;
        let parts = std::mem::take(&mut self.open);
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
        let whole = first.start..last.end;
        let sql = parts.iter().map(|place| self.sql(place)).reduce(joined);
        let sending = if parts.len() > 1 { Sending::Combined } else { Sending::Alone };
        if sending == Sending::Combined && self.pipeline.is_some() {
            let message = "a pipeline sends statements one by one";
            self.faults.push(Fault::at(whole.clone(), message).hint("write `;` instead of `\\;`"));
        }
        let is_always = self.when.is_none();
        self.places.extend(parts.iter().map(|place| (place.clone(), is_always)));
        self.last = Some(Last { step: self.steps.len(), parts });
        let sql = PerDialect { mysql: None, postgres: sql };
        let (times, keep, when) = (1, Vec::new(), self.when);
        self.push_step(UserStep::Send { sql, times, keep, sending, when }, whole);
    }

    /// The statement at a place of the script. Constants become part of its text.
    fn sql(&mut self, place: &Range<usize>) -> Sql {
        let (all, at) = (self.text, place.start);
        let text = all.get(place.clone()).unwrap_or_default();
        self.refuse_other_marks(text, at);
        self.refuse_copies(text, place);
        let mut whole = String::with_capacity(text.len());
        let mut numbered = Vec::new();
        let mut copied = 0;
        for (it, quotes) in &self.uses(text) {
            let span = at + it.span.start..at + it.span.end;
            whole += text.get(copied..it.span.start).unwrap_or_default();
            copied = it.span.end;
            let number = match self.known.get(it.name).cloned() {
                Some(Known::Constant(value)) if quotes.is_some() => {
                    whole += &value.to_string();
                    continue;
                }
                Some(Known::Constant(value)) => {
                    whole += &constant_text(value);
                    continue;
                }
                Some(Known::Given(text)) if quotes.is_some() => {
                    whole += &text;
                    continue;
                }
                Some(Known::Given(text)) => {
                    whole += &in_statement(&text);
                    continue;
                }
                Some(Known::Mistaken) => continue,
                None => {
                    self.faults.push(unknown(it.name, span, &self.known));
                    continue;
                }
                Some(Known::Computed(number) | Known::Kept(number)) => number,
                // pgbench's own variables are added on first use.
                Some(Known::Client) => self.own_variable(it.name, Term::Client, span.clone()),
                Some(Known::Seed) => self.own_variable(it.name, Term::Seed, span.clone()),
            };
            match quotes {
                Some(quotes) => self.check_quoted(it.name, *quotes, span),
                None => {
                    let before = text.get(..it.span.start).and_then(|it| it.chars().next_back());
                    if before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | '$')) {
                        let fault = Fault::at(span, "a value cannot be a part of a name");
                        self.faults.push(fault.hint(NAMES_HINT));
                    }
                }
            }
            numbered.push((whole.len()..whole.len(), number));
        }
        whole += text.get(copied..).unwrap_or_default();
        self.is_write |= !only_reads(text, Dialect::Postgres);
        self.names_tables |= words(text, Dialect::Postgres)
            .iter()
            .any(|word| NAMES.iter().any(|name| word.eq_ignore_ascii_case(name)));
        statement(&whole, &numbered)
    }

    /// Variables of a statement, also those in quotes, which `pgbench -M simple` replaces too. In quotes, an undefined
    /// one is text; comments have no variables.
    fn uses<'t>(&self, text: &'t str) -> Vec<(Use<'t>, Option<Quotes>)> {
        let quoted = quoted_uses(text, Dialect::Postgres).into_iter();
        let quoted = quoted.filter(|(it, _)| self.known.contains_key(it.name));
        let mut all: Vec<_> = quoted.map(|(it, quotes)| (it, Some(quotes))).collect();
        all.extend(uses(text, Dialect::Postgres).into_iter().map(|it| (it, None)));
        all.sort_by_key(|(it, _)| it.span.start);
        all
    }

    /// Refuses a variable in quotes where it cannot be part of the text.
    fn check_quoted(&mut self, name: &str, quotes: Quotes, span: Range<usize>) {
        if self.pipeline.is_some() {
            let message = "a pipeline sends prepared statements, which have no variables in quotes";
            let hint =
                format!("leave the quotes out; for a part of a text, write `'...' || :{name}`");
            self.faults.push(Fault::at(span, message).hint(hint));
        } else if quotes == Quotes::Dollar && matches!(self.known.get(name), Some(Known::Kept(_))) {
            let message = "a value of a result cannot be a part of a text in dollar quotes";
            let hint = "such a text is often code; pass the value to a function as an argument";
            self.faults.push(Fault::at(span, message).hint(hint));
        }
    }

    fn refuse_copies(&mut self, text: &str, place: &Range<usize>) {
        let words = words(text, Dialect::Postgres);
        let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
        if words.first().is_some_and(|first| is(first, "COPY"))
            && words.iter().any(|word| is(word, "STDOUT") || is(word, "STDIN"))
        {
            let fault = Fault::at(place.clone(), "`COPY` to or from the client cannot be used");
            self.faults.push(fault.hint("as in pgbench; `SELECT` and `INSERT` take the same rows"));
        }
    }

    fn refuse_other_marks(&mut self, text: &str, at: usize) {
        for span in marks(text, Dialect::Postgres, quoted_value) {
            let place = at + span.start..at + span.end;
            let written = text.get(span).unwrap_or_default();
            let name = leading_name(written.get(2..).unwrap_or_default());
            let fault = Fault::at(place, format!("`{written}` is the syntax of psql"));
            self.faults.push(fault.hint(format!("write `:{name}`, which is a value of its own")));
        }
    }

    fn own_variable(&mut self, name: &str, term: Term, place: Range<usize>) -> u32 {
        let number = self.compute(name, vec![term], place);
        self.known.insert(name.to_owned(), Known::Computed(number));
        number
    }
}

fn joined(first: Sql, second: Sql) -> Sql {
    let Sql { mut pieces, mut variables } = first;
    let mut others = second.pieces.into_iter();
    if let (Some(last), Some(next)) = (pieces.last_mut(), others.next()) {
        *last += "; ";
        *last += &next;
    }
    pieces.extend(others);
    variables.extend(second.variables);
    Sql { pieces, variables }
}

/// Length of psql's `:'name'` or `:"name"`.
fn quoted_value(rest: &str) -> Option<usize> {
    let quoted = rest.strip_prefix(':')?;
    let quote = quoted.chars().next().filter(|it| matches!(it, '\'' | '"'))?;
    let name = leading_name(quoted.get(1..)?);
    let end = quoted.get(1 + name.len()..)?;
    (!name.is_empty() && end.starts_with(quote)).then_some(name.len() + 3)
}

const NAMES_HINT: &str = "each client has a session of its own, so names of temporary tables need no number; for other \
                          tables, write a test for each name in a workload file";
