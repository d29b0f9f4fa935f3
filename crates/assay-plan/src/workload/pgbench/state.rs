//! What was read of a script so far.

use std::ops::Range;

use assay_model::limits::user::{STEPS, TERMS, VARIABLES};
use assay_model::{Generator, Term, UserStep, Variable};

use super::functions::simple_draw;
use super::known::Variables;
use crate::document::Fault;

/// What was read of a script.
pub(super) struct Script<'t> {
    pub(super) text: &'t str,
    pub(super) known: Variables,
    pub(super) variables: Vec<Variable>,
    pub(super) steps: Vec<UserStep>,
    pub(super) is_write: bool,
    /// Whether a statement names one of pgbench's tables.
    pub(super) names_tables: bool,
    /// The places of all statements, and whether each is always sent.
    pub(super) places: Vec<(Range<usize>, bool)>,
    /// The parts of a statement that is not yet a step: several if `\;` stands between them.
    pub(super) open: Vec<Range<usize>>,
    /// Whether the next part belongs to those.
    pub(super) is_joined: bool,
    /// The last statement, if nothing came after it.
    pub(super) last: Option<Last>,
    /// The variable that must be true for what comes now.
    pub(super) when: Option<u32>,
    pub(super) branches: Vec<Branch>,
    /// The place of a pipeline's begin, and the branches around it.
    pub(super) pipeline: Option<(Range<usize>, usize)>,
    /// Whether it has more steps or variables than a script may have.
    pub(super) is_full: bool,
    pub(super) faults: Vec<Fault>,
}

/// The last statement of a script.
pub(super) struct Last {
    /// Its number among the steps.
    pub(super) step: usize,
    /// The places of its parts: several if `\;` stands between them.
    pub(super) parts: Vec<Range<usize>>,
}

/// An `\if` without its `\endif`.
pub(super) struct Branch {
    /// The place of the `\if`.
    pub(super) place: Range<usize>,
    /// The variable that must be true for the whole of it.
    pub(super) outer: Option<u32>,
    /// The variables of which one is true if an earlier branch was taken.
    pub(super) before: Vec<u32>,
    pub(super) has_else: bool,
}

impl<'t> Script<'t> {
    /// A script of which nothing was read, which may use these variables.
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

    /// Adds a step, which stands at this place of the script.
    pub(super) fn push_step(&mut self, step: UserStep, place: Range<usize>) {
        if self.steps.len() < STEPS {
            self.steps.push(step);
        } else if !std::mem::replace(&mut self.is_full, true) {
            let message = format!(
                "a script may have at most {STEPS} statements and pauses, and this is one more"
            );
            self.faults.push(Fault::at(place, message));
        }
    }

    /// The number of a new variable that is computed, from what stands at this place.
    pub(super) fn compute(&mut self, name: &str, terms: Vec<Term>, place: Range<usize>) -> u32 {
        if terms.len() > TERMS {
            let message =
                format!("this needs more than {TERMS} terms, with the branches around it");
            self.faults.push(Fault::at(place.clone(), message));
        }
        let values = simple_draw(&terms).map_or(Generator::Computed(terms), Generator::Integer);
        self.add_variable(name, Some(values), place)
    }

    /// The number of a new variable, which stands at this place.
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
            self.faults.push(Fault::at(place, message));
        }
        self.variables.len().saturating_sub(1) as u32
    }
}
