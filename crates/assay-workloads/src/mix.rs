//! The kinds of events of a user's workload, bound to the statements of a dialect.

use assay_model::{Dialect, Generator, Scalar, Sql, StatementMode, Transaction, UserStep};

use crate::generate::Source;
use crate::statement::{Mode, ParamType, Statement};

/// One kind of events.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    /// The share of all events that are of this kind or of one before it.
    pub(crate) up_to: f64,
    /// The variables. Those without a source are taken from results.
    pub(crate) variables: Vec<Option<Source>>,
    pub(crate) steps: Vec<KindStep>,
}

/// A step of an event, bound to its statement.
#[derive(Debug, Clone)]
pub(crate) enum KindStep {
    Send {
        /// Number of the step in the event, whether or not a dialect skips others.
        step: u64,
        /// Index into the program's statements.
        statement: usize,
        variables: Vec<u32>,
        times: u32,
        /// The variable that must be true, if there is one.
        when: Option<u32>,
    },
    Sleep {
        step: u64,
        us: Source,
        when: Option<u32>,
    },
}

/// The kinds of events, whose statements are added to those of the program.
pub(crate) fn kinds(
    dialect: Dialect,
    mix: &[Transaction],
    mode: StatementMode,
    statements: &mut Vec<Statement>,
) -> Vec<Kind> {
    let total: f64 = mix.iter().map(|kind| kind.weight).sum();
    let mut up_to = 0.0;
    let bind = |kind: &Transaction| {
        up_to += kind.weight / total;
        let variables = kind.variables.iter().map(|it| it.values.as_ref());
        let steps = (0..).zip(&kind.steps).filter_map(|(number, step)| match step {
            UserStep::Sleep { us, when } => {
                Some(KindStep::Sleep { step: number, us: Source::new(us), when: *when })
            }
            UserStep::Send { sql, times, keep, when } => {
                let sql = sql.of(dialect)?;
                statements.push(statement(dialect, kind, sql, keep, mode));
                let statement = statements.len() - 1;
                let (variables, times, when) = (sql.variables.clone(), *times, *when);
                Some(KindStep::Send { step: number, statement, variables, times, when })
            }
        });
        Kind {
            up_to,
            variables: variables.map(|values| values.map(Source::new)).collect(),
            steps: steps.collect(),
        }
    };
    mix.iter().map(bind).collect()
}

fn statement(
    dialect: Dialect,
    kind: &Transaction,
    sql: &Sql,
    keep: &[u32],
    mode: StatementMode,
) -> Statement {
    let values = |number: &u32| kind.variables.get(*number as usize)?.values.as_ref();
    let param = |number| match dialect {
        Dialect::Postgres => ParamType::Inferred,
        Dialect::MySql => values(number).map_or(ParamType::Inferred, param_type),
    };
    let mark = |number| match dialect {
        Dialect::Postgres => format!("${number}"),
        Dialect::MySql => "?".to_owned(),
    };
    Statement {
        sql: sql.with_marks(mark),
        params: sql.variables.iter().map(param).collect(),
        // Only results that come as text can be used in other statements.
        mode: if keep.is_empty() && mode == StatementMode::Prepared {
            Mode::Prepared
        } else {
            Mode::Text
        },
        pieces: sql.pieces.clone(),
        keep: keep.to_vec(),
    }
}

fn param_type(generator: &Generator) -> ParamType {
    match generator {
        Generator::Sequence { .. } | Generator::Integer(_) => ParamType::Int,
        Generator::Constant(Scalar::Integer(_)) => ParamType::Int,
        Generator::OneOf { values, .. } => {
            let is_number = |value: &Scalar| matches!(value, Scalar::Integer(_));
            if values.iter().all(is_number) { ParamType::Int } else { ParamType::Inferred }
        }
        Generator::Nullable { of, .. } => param_type(of),
        Generator::Computed(_) => ParamType::Inferred,
        Generator::Constant(Scalar::Text(_))
        | Generator::Decimal { .. }
        | Generator::Text { .. }
        | Generator::Pattern(_)
        | Generator::Time(_)
        | Generator::TimeSequence { .. } => ParamType::Text,
    }
}
