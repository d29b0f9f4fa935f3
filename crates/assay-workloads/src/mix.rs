//! The event kinds of a user's workload, bound to the statements of a dialect.

use std::sync::Arc;

use assay_model::{
    CapturedDraw, CapturedKind, Dialect, Generator, PipelineMark, Scalar, Sending, SessionSetting,
    Sql, Term, Transaction, UserStep,
};

use crate::captured::{CapturedLines, captured};
use crate::generate::Source;
use crate::sql::surrounding_quotes;
use crate::statement::{Mode, ParamType, Statement};

#[derive(Debug, Clone)]
pub(crate) struct Kind {
    /// Cumulative share of events of this and earlier kinds.
    pub(crate) up_to: f64,
    /// Variables without a source come from results.
    pub(crate) variables: Vec<Option<Source>>,
    pub(crate) steps: Vec<KindStep>,
    pub(crate) late: Vec<Late>,
    /// The captured values of which each event takes a line, and the choice of line.
    pub(crate) captured: Option<(Arc<CapturedLines>, CapturedDraw)>,
    pub(crate) session: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Late {
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
        us: Source,
        when: Option<u32>,
    },
    Pipeline {
        mark: PipelineMark,
        when: Option<u32>,
    },
}

impl Kind {
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
    mode: Mode,
    sessions: &[Vec<SessionSetting>],
    statements: &mut Vec<Statement>,
) -> Vec<Kind> {
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
                Some(KindStep::Sleep { step: step.into(), us: Source::new(us), when: *when })
            }
            UserStep::Pipeline { mark, when } => {
                Some(KindStep::Pipeline { mark: *mark, when: *when })
            }
            UserStep::Send { sql, times, keep, sending, when } => {
                let sql = sql.of(dialect)?;
                let bound = statement(dialect, kind, sql, mode);
                // Only results in text form can be used in other statements, and a list is no parameter.
                let is_text = !keep.is_empty()
                    || !sending.is_usual()
                    || !bound.quotes.is_empty()
                    || has_no_parameter(dialect, kind, sql);
                let mode = if is_text || is_left_out { Mode::Text } else { bound.mode };
                let (keep, sending) = (keep.clone(), *sending);
                let place = (number, step);
                statements.push(Statement { mode, keep, sending, place, session, ..bound });
                let statement = statements.len() - 1;
                let (variables, times, when) = (sql.variables.clone(), *times, *when);
                Some(KindStep::Send { step: step.into(), statement, variables, times, when })
            }
        });
        let steps: Vec<KindStep> = steps.collect();
        let lines = kind.captured.as_ref();
        let lines = lines.and_then(|it| Some((captured(&it.file.sha256)?, it.draw)));
        Kind {
            up_to,
            captured: lines,
            late: late(kind, &steps, statements),
            variables: variables.map(|values| values.map(Source::new)).collect(),
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

fn late(kind: &Transaction, steps: &[KindStep], statements: &[Statement]) -> Vec<Late> {
    // For each variable that depends on a result: the index after that result's step.
    let mut after: Vec<Option<usize>> = vec![None; kind.variables.len()];
    for (place, step) in (1..).zip(steps) {
        let KindStep::Send { statement, .. } = step else { continue };
        for variable in statements.get(*statement).iter().flat_map(|it| &it.keep) {
            if let Some(after) = after.get_mut(*variable as usize) {
                *after = Some(place);
            }
        }
    }
    let mut all: Vec<Late> = Vec::new();
    for (number, variable) in (0_u32..).zip(&kind.variables) {
        let Some(Generator::Computed(terms)) = &variable.values else { continue };
        let used = terms.iter().filter_map(|term| match term {
            Term::Variable(used) => *after.get(*used as usize)?,
            _ => None,
        });
        let Some(before) = used.max() else { continue };
        if let Some(after) = after.get_mut(number as usize) {
            *after = Some(before);
        }
        match all.iter_mut().find(|late| late.before == before) {
            Some(late) => late.variables.push(number),
            None => all.push(Late { before, variables: vec![number] }),
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

fn statement(dialect: Dialect, kind: &Transaction, sql: &Sql, mode: Mode) -> Statement {
    let values = |number: &u32| kind.variables.get(*number as usize)?.values.as_ref();
    let param = |number| match dialect {
        Dialect::Postgres => ParamType::Inferred,
        Dialect::MySql => values(number).map_or(ParamType::Inferred, param_type),
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
    Statement {
        sql: sql.with_marks(mark),
        params: sql.variables.iter().map(param).collect(),
        mode,
        pieces: sql.pieces.clone(),
        quotes: if is_quoted { quotes } else { Vec::new() },
        keep: Vec::new(),
        sending: Sending::Alone,
        place: (0, 0),
        session: 0,
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
        Generator::Captured { of, .. } => match of {
            CapturedKind::Integers => ParamType::Int,
            CapturedKind::Texts => ParamType::Text,
            CapturedKind::Mixed | CapturedKind::Bytes | CapturedKind::Lists => ParamType::Inferred,
        },
        Generator::Constant(Scalar::Text(_))
        | Generator::Decimal { .. }
        | Generator::Text { .. }
        | Generator::Pattern(_)
        | Generator::Time(_)
        | Generator::TimeSequence { .. } => ParamType::Text,
    }
}
