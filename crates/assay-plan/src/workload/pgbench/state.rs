//! State of parsing a script.

use std::ops::Range;

use assay_model::limits::user::{STEPS, TERMS, VARIABLES};
use assay_model::{Generator, Term, UserStep, Variable};

use super::expression::simple_draw;
use super::variables::Variables;
use crate::document::FileFault;

pub(super) struct ScriptState<'t> {
    pub(super) text: &'t str,
    pub(super) known: Variables,
    pub(super) variables: Vec<Variable>,
    pub(super) steps: Vec<UserStep>,
    pub(super) is_write: bool,
    pub(super) names_tables: bool,
    /// Places of all statements, and whether each is sent unconditionally.
    pub(super) places: Vec<(Range<usize>, bool)>,
    /// Parts of an unfinished statement: several if joined by `\;`.
    pub(super) open: Vec<Range<usize>>,
    pub(super) is_joined: bool,
    pub(super) last: Option<LastStatement>,
    pub(super) when: Option<u32>,
    pub(super) branches: Vec<Branch>,
    /// Place of a pipeline's start, and the number of branches around it.
    pub(super) pipeline: Option<(Range<usize>, usize)>,
    pub(super) is_full: bool,
    pub(super) faults: Vec<FileFault>,
}

pub(super) struct LastStatement {
    pub(super) step: usize,
    /// Places of its parts: several if joined by `\;`.
    pub(super) parts: Vec<Range<usize>>,
}

pub(super) struct Branch {
    pub(super) place: Range<usize>,
    /// The variable that must be true for the whole of it.
    pub(super) outer: Option<u32>,
    /// Variables of which one is true if an earlier branch was taken.
    pub(super) before: Vec<u32>,
    pub(super) has_else: bool,
}

impl<'t> ScriptState<'t> {
    pub(super) fn new(text: &'t str, known: Variables) -> Self {
        Self {
            text,
            known,
            variables: Vec::new(),
            steps: Vec::new(),
            is_write: false,
            names_tables: false,
            places: Vec::new(),
            open: Vec::new(),
            is_joined: false,
            last: None,
            when: None,
            branches: Vec::new(),
            pipeline: None,
            is_full: false,
            faults: Vec::new(),
        }
    }

    pub(super) fn push_step(&mut self, step: UserStep, place: Range<usize>) {
        if self.steps.len() < STEPS {
            self.steps.push(step);
        } else if !std::mem::replace(&mut self.is_full, true) {
            let message = format!(
                "a script may have at most {STEPS} statements and pauses, and this is one more"
            );
            self.faults.push(FileFault::at(place, message));
        }
    }

    pub(super) fn compute(&mut self, name: &str, terms: Vec<Term>, place: Range<usize>) -> u32 {
        if terms.len() > TERMS {
            let message =
                format!("this needs more than {TERMS} terms, with the branches around it");
            self.faults.push(FileFault::at(place.clone(), message));
        }
        let values = simple_draw(&terms).map_or(Generator::Computed(terms), Generator::Integer);
        self.add_variable(name, Some(values), place)
    }

    pub(super) fn add_variable(
        &mut self,
        name: &str,
        values: Option<Generator>,
        place: Range<usize>,
    ) -> u32 {
        if self.variables.len() < VARIABLES {
            self.variables.push(Variable { name: name.to_owned(), values });
        } else if !std::mem::replace(&mut self.is_full, true) {
            let message = format!("a script may have at most {VARIABLES} variables");
            self.faults.push(FileFault::at(place, message));
        }
        self.variables.len().saturating_sub(1) as u32
    }
}
