//! Variables that a script may use.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_model::Term;
use assay_workloads::ExpressionValue;
use assay_workloads::sql::leading_name;

use crate::document::FileFault;
use crate::nearest::nearest;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum KnownValue {
    Constant(ExpressionValue),
    Given(String),
    /// Computed when an event begins, or when the results it depends on are known: index among the variables.
    Computed(u32),
    /// Taken from the result of a statement: index among the variables.
    Kept(u32),
    Client,
    /// pgbench's variables that depend on the seed.
    Seed,
    Mistaken,
}

pub(super) type Variables = BTreeMap<String, KnownValue>;

pub(super) fn given(scale: u32, define: &[String]) -> Variables {
    let own = [
        ("scale", KnownValue::Constant(ExpressionValue::Integer(scale.into()))),
        ("client_id", KnownValue::Client),
        ("default_seed", KnownValue::Seed),
        ("random_seed", KnownValue::Seed),
    ];
    let own = own.into_iter().map(|(name, known)| (name.to_owned(), known));
    let defined = define.iter().filter_map(|it| it.split_once('='));
    own.chain(defined.map(|(name, text)| (name.to_owned(), KnownValue::Given(text.to_owned()))))
        .collect()
}

/// Parses the definition of a variable for pgbench scripts: `NAME=VALUE`.
pub(crate) fn script_variable(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((name, value))
            if !value.is_empty() && !name.is_empty() && leading_name(name) == name =>
        {
            Ok(text.to_owned())
        }
        _ => Err(format!("`{text}` does not define a variable: write `NAME=VALUE`")),
    }
}

pub(super) fn of_constant(value: ExpressionValue) -> Term {
    match value {
        ExpressionValue::Integer(value) => Term::Integer(value),
        ExpressionValue::Real(value) => Term::Real(value),
        ExpressionValue::Boolean(value) => Term::Boolean(value),
        ExpressionValue::Null => Term::Null,
    }
}

pub(super) fn to_constant(term: &Term) -> Option<ExpressionValue> {
    match *term {
        Term::Integer(value) => Some(ExpressionValue::Integer(value)),
        Term::Real(value) => Some(ExpressionValue::Real(value)),
        Term::Boolean(value) => Some(ExpressionValue::Boolean(value)),
        Term::Null => Some(ExpressionValue::Null),
        Term::Variable(_) | Term::Client | Term::Seed | Term::Call(..) => None,
    }
}

impl KnownValue {
    /// Its value in an expression; `None` for a text that is no value.
    pub(super) fn term(&self) -> Option<Term> {
        Some(match self {
            Self::Constant(value) => of_constant(*value),
            Self::Given(text) => of_constant(ExpressionValue::of_text(text)?),
            Self::Computed(number) | Self::Kept(number) => Term::Variable(*number),
            Self::Client => Term::Client,
            Self::Seed => Term::Seed,
            Self::Mistaken => Term::Null,
        })
    }
}

pub(super) fn unknown(name: &str, span: Range<usize>, known: &Variables) -> FileFault {
    let fault = FileFault::at(span, format!("no variable is called `{name}` so far"));
    match nearest(name, known.keys()) {
        Some(meant) => fault.hint(format!("did you mean `:{meant}`")),
        None => fault.hint(format!(
            "`\\set {name} ...` before this line defines it, `\\gset` after a query takes it from a column with this \
             name, and `-D {name}=VALUE` gives it"
        )),
    }
}
