//! `\if` to `\endif`.

use std::ops::Range;

use assay_model::{Function, Term};

use super::commands::Command;
use super::expression::Expression;
use super::state::{Branch, Script};
use crate::document::Fault;

/// Maximum branches of an `\if`: each must know that no earlier one was taken.
const BRANCHES_MAX: usize = 200;

impl<'t> Script<'t> {
    pub(super) fn branch(&mut self, command: &Command<'t>) -> Result<(), Fault> {
        let lost = || Fault::at(command.place(), format!("this `{}` has no `\\if`", command.word));
        if command.name == "\\if" {
            let condition = self.condition(command);
            let outer = self.when;
            let place = command.place();
            self.branches.push(Branch { place, outer, before: Vec::new(), has_else: false });
            return self.enter(condition, command.place());
        }
        if command.name == "\\endif" {
            self.when = self.branches.pop().ok_or_else(lost)?.outer;
            return Ok(());
        }
        let condition = match command.name.as_str() {
            "\\elif" => self.condition(command),
            _ => Ok(vec![Term::Boolean(true)]),
        };
        let when = self.when;
        let branch = self.branches.last_mut().ok_or_else(lost)?;
        if branch.has_else {
            return Err(Fault::at(command.place(), "nothing can follow `\\else` but `\\endif`"));
        }
        branch.has_else = command.name == "\\else";
        branch.before.extend(when);
        if branch.before.len() >= BRANCHES_MAX {
            branch.before.truncate(1);
            let message = format!("an `\\if` may have at most {BRANCHES_MAX} branches");
            return Err(Fault::at(command.place(), message));
        }
        self.enter(condition, command.place())
    }

    fn condition(&self, command: &Command<'t>) -> Result<Vec<Term>, Fault> {
        let rest = command.rest();
        if rest.is_empty() {
            let message = format!("`{}` needs a condition", command.word);
            return Err(Fault::at(command.place(), message));
        }
        Expression::new(self.text, rest, &self.known).whole()
    }

    /// Enters a branch: its condition must be true, and no earlier one.
    fn enter(
        &mut self,
        condition: Result<Vec<Term>, Fault>,
        place: Range<usize>,
    ) -> Result<(), Fault> {
        let (mut terms, failed) = match condition {
            Ok(terms) => (terms, Ok(())),
            Err(fault) => (vec![Term::Null], Err(fault)),
        };
        // A number may be a condition too.
        terms.extend([Term::Boolean(true), Term::Boolean(false), Term::Call(Function::Case, 3)]);
        if let Some(branch) = self.branches.last() {
            let all_of = [Term::Call(Function::And, 2)];
            for before in &branch.before {
                terms.extend([Term::Variable(*before), Term::Call(Function::Not, 1)]);
                terms.extend(all_of);
            }
            if let Some(outer) = branch.outer {
                terms.push(Term::Variable(outer));
                terms.extend(all_of);
            }
        }
        let name = format!("branch {}", self.variables.len());
        self.when = Some(self.compute(&name, terms, place));
        failed
    }
}
