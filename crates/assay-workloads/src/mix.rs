//! The event kinds of a user's workload, bound to the statements of a dialect.

use std::sync::Arc;

use assay_model::{
    CapturedDraw, CapturedKind, Dialect, Generator, PipelineMark, Scalar, SessionSetting, Sql,
    StatementMode, Term, Transaction, UserStep,
};

use crate::captured_lines::{CapturedLines, captured};
use crate::generate::ValueSource;
use crate::sql::surrounding_quotes;
use crate::statement::{ArgumentType, ProgramStatement};

#[derive(Debug, Clone)]
pub(crate) struct MixKind {
    /// Cumulative share of events of this and earlier kinds.
    pub(crate) up_to: f64,
    /// Variables without a source come from results.
    pub(crate) variables: Vec<Option<ValueSource>>,
    pub(crate) steps: Vec<KindStep>,
    pub(crate) late: Vec<LateVariables>,
    /// The captured values of which each event takes a line, and the choice of line.
    pub(crate) captured: Option<(Arc<CapturedLines>, CapturedDraw)>,
    pub(crate) session: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LateVariables {
    pub(crate) before: usize,
    pub(crate) variables: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(crate) enum KindStep {
    Send {
        /// Number of the step in the event, also if a dialect skips others.
        step: u64,
        statement: usize,
        variables: Vec<u32>,
        times: u32,
        /// The step runs only if this variable is true.
        when: Option<u32>,
    },
    Sleep {
        step: u64,
        us: ValueSource,
        when: Option<u32>,
    },
    Pipeline {
        mark: PipelineMark,
        when: Option<u32>,
    },
}

impl MixKind {
    pub(crate) fn is_late(&self, variable: u32) -> bool {
        self.late.iter().any(|late| late.variables.contains(&variable))
    }
}

impl KindStep {
    pub(crate) fn when(&self) -> Option<u32> {
        match self {
            Self::Send { when, .. } | Self::Sleep { when, .. } | Self::Pipeline { when, .. } => {
                *when
            }
        }
    }
}

/// Adds the statements of all kinds to those of the program. Kinds without weight never occur, and their statements are
/// not prepared.
pub(crate) fn kinds(
    dialect: Dialect,
    mix: &[Transaction],
    mode: StatementMode,
    sessions: &[Vec<SessionSetting>],
    statements: &mut Vec<ProgramStatement>,
) -> Vec<MixKind> {
    let total: f64 = mix.iter().map(|kind| kind.weight).sum();
    let last = mix.iter().rposition(|kind| kind.weight > 0.0);
    let mut up_to = 0.0;
    let bind = |(number, kind): (u32, &Transaction)| {
        up_to += kind.weight / total;
        // The last kind gets the rounding remainder.
        if Some(number as usize) == last {
            up_to = 1.0;
        }
        let is_left_out = kind.weight <= 0.0;
        let session = session_of(dialect, kind);
        let session = sessions.iter().position(|it| *it == session).unwrap_or(0);
        let variables = kind.variables.iter().map(|it| it.values.as_ref());
        let steps = (0..).zip(&kind.steps).filter_map(|(step, it)| match it {
            UserStep::Sleep { us, when } => {
                Some(KindStep::Sleep { step: step.into(), us: ValueSource::new(us), when: *when })
            }
            UserStep::Pipeline { mark, when } => {
                Some(KindStep::Pipeline { mark: *mark, when: *when })
            }
            UserStep::Send { sql, times, keep, sending, when } => {
                let sql = sql.for_dialect(dialect)?;
                let bound = statement(dialect, kind, sql, mode);
                // Only results in text form can be used in other statements, and a list is no parameter.
                let is_text = !keep.is_empty()
                    || !sending.is_usual()
                    || !bound.quotes.is_empty()
                    || has_no_parameter(dialect, kind, sql);
                let mode = if is_text || is_left_out { StatementMode::Text } else { bound.mode };
                let (keep, sending) = (keep.clone(), *sending);
                let place = (number, step);
                statements.push(ProgramStatement { mode, keep, sending, place, session, ..bound });
                let statement = statements.len() - 1;
                let (variables, times, when) = (sql.variables.clone(), *times, *when);
                Some(KindStep::Send { step: step.into(), statement, variables, times, when })
            }
        });
        let steps: Vec<KindStep> = steps.collect();
        let lines = kind.captured.as_ref();
        MixKind {
            up_to,
            captured: lines.and_then(|it| Some((captured(&it.file.sha256)?, it.draw))),
            late: late(kind, &steps, statements),
            variables: variables.map(|values| values.map(ValueSource::new)).collect(),
            session,
            steps,
        }
    };
    (0..).zip(mix).map(bind).collect()
}

fn session_of(dialect: Dialect, kind: &Transaction) -> Vec<SessionSetting> {
    kind.session.iter().filter(|it| it.is_of(dialect)).cloned().collect()
}

pub(crate) fn sessions(dialect: Dialect, mix: &[Transaction]) -> Vec<Vec<SessionSetting>> {
    let mut sessions: Vec<Vec<SessionSetting>> = Vec::new();
    let chosen = mix.iter().filter(|kind| kind.weight > 0.0);
    for session in chosen.map(|kind| session_of(dialect, kind)) {
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    if sessions.is_empty() { vec![Vec::new()] } else { sessions }
}

fn late(
    kind: &Transaction,
    steps: &[KindStep],
    statements: &[ProgramStatement],
) -> Vec<LateVariables> {
    // For each variable that depends on a result: the index after that result's step.
    let mut after: Vec<Option<usize>> = vec![None; kind.variables.len()];
    for (place, step) in (1..).zip(steps) {
        let KindStep::Send { statement, .. } = step else { continue };
        for variable in &statements[*statement].keep {
            if let Some(after) = after.get_mut(*variable as usize) {
                *after = Some(place);
            }
        }
    }
    let mut all: Vec<LateVariables> = Vec::new();
    for (number, variable) in (0_u32..).zip(&kind.variables) {
        let Some(Generator::Computed(terms)) = &variable.values else { continue };
        let used = terms.iter().filter_map(|term| match term {
            Term::Variable(used) => *after.get(*used as usize)?,
            _ => None,
        });
        let Some(before) = used.max() else { continue };
        after[number as usize] = Some(before);
        match all.iter_mut().find(|late| late.before == before) {
            Some(late) => late.variables.push(number),
            None => all.push(LateVariables { before, variables: vec![number] }),
        }
    }
    all
}

/// Whether a statement has a value that cannot be a parameter of the protocol.
fn has_no_parameter(dialect: Dialect, kind: &Transaction, sql: &Sql) -> bool {
    sql.variables.iter().any(|number| {
        let variable = kind.variables.get(*number as usize);
        match variable.and_then(|it| it.values.as_ref()) {
            Some(Generator::Captured { of, .. }) => of.is_sent_as_text(dialect.has_escapes()),
            _ => false,
        }
    })
}

fn statement(
    dialect: Dialect,
    kind: &Transaction,
    sql: &Sql,
    mode: StatementMode,
) -> ProgramStatement {
    let values = |number: &u32| kind.variables.get(*number as usize)?.values.as_ref();
    let param = |number| match dialect {
        Dialect::Postgres => ArgumentType::Inferred,
        Dialect::MySql => values(number).map_or(ArgumentType::Inferred, param_type),
    };
    let mark = |number| match dialect {
        Dialect::Postgres => format!("${number}"),
        Dialect::MySql => "?".to_owned(),
    };
    // Only pgbench scripts have variables in quotes.
    let quotes = match dialect {
        Dialect::Postgres => surrounding_quotes(&sql.pieces),
        Dialect::MySql => Vec::new(),
    };
    let is_quoted = quotes.iter().any(Option::is_some);
    let params = sql.variables.iter().map(param).collect();
    ProgramStatement {
        pieces: sql.pieces.clone(),
        quotes: if is_quoted { quotes } else { Vec::new() },
        ..ProgramStatement::new(sql.with_marks(mark), params, mode)
    }
}

fn param_type(generator: &Generator) -> ArgumentType {
    match generator {
        Generator::Sequence { .. } | Generator::Integer(_) => ArgumentType::Int,
        Generator::Constant(Scalar::Integer(_)) => ArgumentType::Int,
        Generator::OneOf { values, .. } => {
            let is_number = |value: &Scalar| matches!(value, Scalar::Integer(_));
            if values.iter().all(is_number) { ArgumentType::Int } else { ArgumentType::Inferred }
        }
        Generator::Nullable { of, .. } => param_type(of),
        Generator::Computed(_) => ArgumentType::Inferred,
        Generator::Captured { of, .. } => match of {
            CapturedKind::Integers => ArgumentType::Int,
            CapturedKind::Texts => ArgumentType::Text,
            CapturedKind::Mixed | CapturedKind::Bytes | CapturedKind::Lists => {
                ArgumentType::Inferred
            }
        },
        Generator::Constant(Scalar::Text(_))
        | Generator::Decimal { .. }
        | Generator::Text { .. }
        | Generator::Pattern(_)
        | Generator::Time(_)
        | Generator::TimeSequence { .. } => ArgumentType::Text,
    }
}
