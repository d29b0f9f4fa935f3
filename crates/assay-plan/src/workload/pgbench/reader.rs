//! Splits a script into statements, and commands up to the ends of their lines.

use std::ops::Range;

use assay_model::{Dialect, PipelineMark, UserStep};
use assay_workloads::sql::{backslash, leaves_open};
use assay_workloads::unrepeatable;

use super::commands::{Command, refused};
use super::known::{Known, Variables};
use super::state::{Branch, Script};
use crate::document::Fault;

const FAULTS_MAX: usize = 100;

pub(super) fn read(text: &str, known: Variables) -> Script<'_> {
    let mut script = Script::new(text, known);
    script.read_all();
    script.check_ends();
    script
}

impl<'t> Script<'t> {
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
            let read = self.command(&Command::at(self.text, end..at));
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
            self.faults.push(Fault::at(place, "this `\\if` has no `\\endif`"));
        }
        if let Some((place, _)) = self.pipeline.take() {
            self.faults.push(Fault::at(place, "this `\\startpipeline` has no `\\endpipeline`"));
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
            self.faults.push(Fault::at((*place).clone(), why).hint(REPEATED));
        }
        // As pgbench does.
        let sent = self.places.iter().filter_map(|(place, _)| self.text.get(place.clone()));
        if leaves_open(sent, Dialect::Postgres) {
            let fault = Fault::of_file("a transaction begins in the script and does not end");
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

    fn command(&mut self, command: &Command<'t>) -> Result<(), Fault> {
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
                self.known.extend(name.map(|name| (name.to_owned(), Known::Mistaken)));
                Err(refused(command))
            }
        }
    }

    fn mark_pipeline(&mut self, command: &Command<'t>) -> Result<(), Fault> {
        let depth = self.branches.len();
        let fail = |why: &str| Err(Fault::at(command.place(), why.to_owned()));
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
