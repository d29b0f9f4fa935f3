//! Splits a script into statements with their variables, and commands up to the ends of their lines.

use std::ops::Range;

use assay_model::{Dialect, PerDialect, PipelineMark, Sending, Sql, Term, UserStep};
use assay_workloads::sql::{
    Quotes, VariableUse, backslash, leading_name, leaves_open, marks, only_reads, quoted_uses,
    statement, statements, unterminated, uses, words,
};
use assay_workloads::unrepeatable;

use super::builtin::TABLE_NAMES;
use super::commands::{MetaCommand, constant_text, in_statement, refused};
use super::state::{Branch, LastStatement, ScriptState};
use super::variables::{KnownValue, Variables, unknown};
use crate::document::{FileFault, FileResult};

const FAULTS_MAX: usize = 100;

pub(super) fn read(text: &str, known: Variables) -> ScriptState<'_> {
    let mut script = ScriptState::new(text, known);
    script.read_all();
    script.check_ends();
    script
}

impl<'t> ScriptState<'t> {
    fn read_all(&mut self) {
        let mut at = 0;
        while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
            let found = backslash(rest, Dialect::Postgres);
            let end = at + found.unwrap_or(rest.len());
            self.add_statements(at..end);
            if found.is_none() {
                break;
            }
            if self.text.get(end..).is_some_and(|rest| rest.starts_with("\\;")) {
                self.is_joined = !self.open.is_empty();
                at = end + 2;
                continue;
            }
            self.send();
            at = self.line_end(end);
            let read = self.command(&MetaCommand::at(self.text, end..at));
            self.faults.extend(read.err());
            if self.is_full || self.faults.len() > FAULTS_MAX {
                return;
            }
        }
        self.send();
    }

    /// Checks for unterminated constructs, and for statements that only the first event can execute.
    fn check_ends(&mut self) {
        if self.is_full {
            return;
        }
        for Branch { place, .. } in std::mem::take(&mut self.branches) {
            self.faults.push(FileFault::at(place, "this `\\if` has no `\\endif`"));
        }
        if let Some((place, _)) = self.pipeline.take() {
            self.faults.push(FileFault::at(place, "this `\\startpipeline` has no `\\endpipeline`"));
        }
        let always: Vec<&Range<usize>> = self
            .places
            .iter()
            .filter(|(_, is_always)| *is_always)
            .map(|(place, _)| place)
            .collect();
        let texts = always.iter().filter_map(|place| self.text.get((*place).clone()));
        if let Some((number, why)) = unrepeatable(texts, Dialect::Postgres)
            && let Some(place) = always.get(number)
        {
            self.faults.push(FileFault::at((*place).clone(), why).hint(REPEATED));
        }
        // As pgbench does.
        let sent = self.places.iter().filter_map(|(place, _)| self.text.get(place.clone()));
        if leaves_open(sent, Dialect::Postgres) {
            let fault = FileFault::of_file("a transaction begins in the script and does not end");
            self.faults.push(fault.hint("end it with `END;`, `COMMIT;` or `ROLLBACK;`"));
        }
    }

    /// End of a command: its line, continued by a final backslash.
    fn line_end(&self, begin: usize) -> usize {
        let mut end = begin;
        for line in self.text.get(begin..).unwrap_or_default().split_inclusive('\n') {
            end += line.len();
            if !line.trim_end().ends_with('\\') {
                break;
            }
        }
        end
    }

    fn command(&mut self, command: &MetaCommand<'t>) -> FileResult<()> {
        let last = self.last.take();
        match command.name.as_str() {
            "\\set" => self.set(command),
            "\\setrandom" => self.set_random(command),
            "\\sleep" => self.sleep(command),
            "\\gset" | "\\aset" => self.keep(command, last),
            "\\if" | "\\elif" | "\\else" | "\\endif" => self.branch(command),
            "\\startpipeline" | "\\syncpipeline" | "\\endpipeline" => self.mark_pipeline(command),
            _ => {
                let name = command.defines();
                self.known.extend(name.map(|name| (name.to_owned(), KnownValue::Mistaken)));
                Err(refused(command))
            }
        }
    }

    fn mark_pipeline(&mut self, command: &MetaCommand<'t>) -> FileResult<()> {
        let depth = self.branches.len();
        let fail = |why: &str| Err(FileFault::at(command.place(), why.to_owned()));
        let mark = match (command.name.as_str(), &self.pipeline) {
            ("\\startpipeline", Some(_)) => return fail("a pipeline has begun above"),
            ("\\startpipeline", None) => PipelineMark::Start,
            (_, None) => return fail("no pipeline has begun above"),
            (_, Some((_, begun))) if *begun != depth => {
                return fail("the pipeline has begun in another branch");
            }
            ("\\syncpipeline", Some(_)) => PipelineMark::Sync,
            (_, Some(_)) => PipelineMark::End,
        };
        self.pipeline = match mark {
            PipelineMark::Start => Some((command.place(), depth)),
            PipelineMark::Sync => self.pipeline.take(),
            PipelineMark::End => None,
        };
        self.push_step(UserStep::Pipeline { mark, when: self.when }, command.place());
        Ok(())
    }
}

const REPEATED: &str = "every client repeats the script until its time is over; what is to exist beforehand belongs \
                        into a workload file, `[table.NAME]` with `create`, which `--workload` takes beside the script";

impl ScriptState<'_> {
    /// Adds the statements of a part of the script. The last one remains open, as `\;` may follow it.
    fn add_statements(&mut self, place: Range<usize>) {
        let within = self.text.get(place.clone()).unwrap_or_default();
        if let Some(at) = unterminated(within, Dialect::Postgres) {
            let at = place.start + at;
            return self.faults.push(FileFault::at(at..at + 1, "what begins here has no end"));
        }
        for part in statements(within, Dialect::Postgres) {
            if !std::mem::take(&mut self.is_joined) {
                self.send();
            }
            self.open.push(place.start + part.start..place.start + part.end);
        }
    }

    fn send(&mut self) {
        self.is_joined = false;
        let parts = std::mem::take(&mut self.open);
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
        let whole = first.start..last.end;
        let sql = parts.iter().map(|place| self.sql(place)).reduce(joined);
        let sending = if parts.len() > 1 { Sending::Combined } else { Sending::Alone };
        if sending == Sending::Combined && self.pipeline.is_some() {
            let message = "a pipeline sends statements one by one";
            self.faults
                .push(FileFault::at(whole.clone(), message).hint("write `;` instead of `\\;`"));
        }
        let is_always = self.when.is_none();
        self.places.extend(parts.iter().map(|place| (place.clone(), is_always)));
        self.last = Some(LastStatement { step: self.steps.len(), parts });
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
                Some(KnownValue::Constant(value)) if quotes.is_some() => {
                    whole += &value.to_string();
                    continue;
                }
                Some(KnownValue::Constant(value)) => {
                    whole += &constant_text(value);
                    continue;
                }
                Some(KnownValue::Given(text)) if quotes.is_some() => {
                    whole += &text;
                    continue;
                }
                Some(KnownValue::Given(text)) => {
                    whole += &in_statement(&text);
                    continue;
                }
                Some(KnownValue::Mistaken) => continue,
                None => {
                    self.faults.push(unknown(it.name, span, &self.known));
                    continue;
                }
                Some(KnownValue::Computed(number) | KnownValue::Kept(number)) => number,
                // pgbench's own variables are added on first use.
                Some(KnownValue::Client) => self.own_variable(it.name, Term::Client, span.clone()),
                Some(KnownValue::Seed) => self.own_variable(it.name, Term::Seed, span.clone()),
            };
            match quotes {
                Some(quotes) => self.check_quoted(it.name, *quotes, span),
                None => {
                    let before = text.get(..it.span.start).and_then(|it| it.chars().next_back());
                    if before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '_' | '$')) {
                        let fault = FileFault::at(span, "a value cannot be a part of a name");
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
            .any(|word| TABLE_NAMES.iter().any(|name| word.eq_ignore_ascii_case(name)));
        statement(&whole, &numbered)
    }

    /// Variables of a statement, also those in quotes, which `pgbench -M simple` replaces too. In quotes, an undefined
    /// one is text; comments have no variables.
    fn uses<'t>(&self, text: &'t str) -> Vec<(VariableUse<'t>, Option<Quotes>)> {
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
            self.faults.push(FileFault::at(span, message).hint(hint));
        } else if quotes == Quotes::Dollar
            && matches!(self.known.get(name), Some(KnownValue::Kept(_)))
        {
            let message = "a value of a result cannot be a part of a text in dollar quotes";
            let hint = "such a text is often code; pass the value to a function as an argument";
            self.faults.push(FileFault::at(span, message).hint(hint));
        }
    }

    fn refuse_copies(&mut self, text: &str, place: &Range<usize>) {
        let words = words(text, Dialect::Postgres);
        let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
        if words.first().is_some_and(|first| is(first, "COPY"))
            && words.iter().any(|word| is(word, "STDOUT") || is(word, "STDIN"))
        {
            let fault = FileFault::at(place.clone(), "`COPY` to or from the client cannot be used");
            self.faults.push(fault.hint("as in pgbench; `SELECT` and `INSERT` take the same rows"));
        }
    }

    fn refuse_other_marks(&mut self, text: &str, at: usize) {
        for span in marks(text, Dialect::Postgres, quoted_value) {
            let place = at + span.start..at + span.end;
            let written = text.get(span).unwrap_or_default();
            let name = leading_name(written.get(2..).unwrap_or_default());
            let fault = FileFault::at(place, format!("`{written}` is the syntax of psql"));
            self.faults.push(fault.hint(format!("write `:{name}`, which is a value of its own")));
        }
    }

    fn own_variable(&mut self, name: &str, term: Term, place: Range<usize>) -> u32 {
        let number = self.compute(name, vec![term], place);
        self.known.insert(name.to_owned(), KnownValue::Computed(number));
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
