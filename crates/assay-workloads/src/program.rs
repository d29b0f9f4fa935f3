//! A test prepared for one dialect and one setup: its statements and the recipe of its events.

use assay_model::{
    Definition, Dialect, Distribution, Fill, Renewal, Scratch, ScratchStatement, SessionSetting,
    Setup, StatementMode, Step, TableChoice, Test, UserRowsFile,
};

use crate::distribution::RandomSampler;
use crate::mix::{MixKind, kinds, sessions};
use crate::statement::{ArgumentType, ProgramStatement};

#[derive(Debug, Clone)]
pub struct EventProgram {
    /// Part of the seed of all random values.
    pub(crate) name: String,
    pub(crate) recipe: Vec<EventRecipe>,
    pub(crate) tables: u32,
    pub(crate) rows: u32,
    pub(crate) clients: u32,
    pub(crate) draw: RandomSampler,
    pub(crate) part: ClientPart,
    scratch: Vec<Scratch>,
    /// The kinds of events of a user's workload; empty for all others, which have a recipe.
    pub(crate) mix: Vec<MixKind>,
    statements: Vec<ProgramStatement>,
    /// Mode of statements that need not be text.
    sent: StatementMode,
    pub(crate) has_escapes: bool,
    unread: Option<UserRowsFile>,
    sessions: Vec<Vec<SessionSetting>>,
}

#[derive(Debug, Clone)]
pub(crate) struct EventRecipe {
    /// Index of the statement on table 1; those on the other tables follow.
    pub(crate) first_statement: usize,
    pub(crate) table: TableChoice,
    pub(crate) times: u32,
    pub(crate) fill: Vec<Fill>,
    /// For steps sent as text: the text around the parameters, by table.
    pub(crate) patterns: Option<Vec<Pattern>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    text: String,
    marks: Vec<usize>,
}

impl EventProgram {
    /// The program of the first role of `test` for servers of `dialect` that hold the data of `setup`. All modes draw
    /// the same values.
    pub fn new(dialect: Dialect, test: Test, setup: Setup, statements: StatementMode) -> Self {
        Self::of_role(test.definition(), 0, dialect, setup, statements)
    }

    pub(crate) fn of_role(
        test: &Definition,
        role: usize,
        dialect: Dialect,
        setup: Setup,
        statements: StatementMode,
    ) -> Self {
        let script = test.roles.get(role).map(|role| &role.script);
        let (tables, clients) = (setup.tables.max(1), setup.clients.max(1));
        let rows = script.and_then(|script| script.rows).unwrap_or(setup.rows).max(1);
        let draw = script.map_or(Distribution::Uniform, |script| script.draw);
        let mut program = Self {
            name: test.name.clone(),
            recipe: Vec::new(),
            tables,
            rows,
            clients,
            draw: RandomSampler::new(draw, 1, rows),
            part: ClientPart::new(draw, rows, clients),
            scratch: script.map_or_else(Vec::new, |script| script.scratch.clone()),
            mix: Vec::new(),
            statements: Vec::new(),
            sent: statements,
            has_escapes: dialect.has_escapes(),
            unread: None,
            sessions: script.map_or_else(|| vec![Vec::new()], |it| sessions(dialect, &it.mix)),
        };
        for step in script.iter().flat_map(|script| &script.steps) {
            let as_text = step.text
                || step.renews == Some(Renewal::Connection)
                || statements == StatementMode::Text;
            program.add(dialect, step, as_text);
        }
        if let Some(script) = script {
            let Self { sent, sessions, statements, .. } = &mut program;
            program.mix = kinds(dialect, &script.mix, *sent, sessions, statements);
            let with_values = script.mix.iter().zip(&program.mix);
            let unread = with_values.filter(|(_, bound)| bound.captured.is_none());
            program.unread =
                unread.filter_map(|(kind, _)| Some(kind.captured.as_ref()?.file.clone())).next();
        }
        program
    }

    /// A file with captured values that was not read ([`crate::keep_captured`]); without it, no event is complete.
    pub fn unread(&self) -> Option<&UserRowsFile> {
        self.unread.as_ref()
    }

    /// Distinct sets of session settings of its events, in the order in which settings are set. At least one, which may
    /// be empty.
    pub fn sessions(&self) -> &[Vec<SessionSetting>] {
        &self.sessions
    }

    pub fn is_own(&self) -> bool {
        !self.mix.is_empty()
    }

    /// Whether a user's events compute values from results, so that events are not known beforehand.
    pub fn computes_from_results(&self) -> bool {
        self.mix.iter().any(|kind| !kind.late.is_empty())
    }

    pub(crate) fn adds_rows(&self) -> bool {
        let mut fill = self.recipe.iter().flat_map(|step| &step.fill);
        fill.any(|fill| matches!(fill, Fill::Rows(_)))
    }

    /// Every statement, on every table; operations refer to them by index.
    pub fn statements(&self) -> &[ProgramStatement] {
        &self.statements
    }

    /// Numbers of event kind and step for each statement of a user's test, if their count is in `TIMED`.
    pub fn places(&self) -> Vec<(u32, u32)> {
        let is_timed = self.is_own() && TIMED.contains(&self.statements.len());
        self.statements.iter().filter(|_| is_timed).map(|it| it.place).collect()
    }

    /// The tables to which it adds rows with unused ids. Before it runs, they must have no negative id.
    pub fn tables_to_clear(&self) -> impl Iterator<Item = String> + use<> {
        let mut shared = self.recipe.iter().filter(|step| step.table != TableChoice::Scratch);
        let takes_ids = shared.any(|step| step.fill.contains(&Fill::Unused));
        let tables = if takes_ids { self.tables } else { 0 };
        (1..=tables).map(|table| numbered("sbtest", table))
    }

    /// The tables that client `number` creates when it connects, with its number in names and statements.
    pub fn scratch(&self, number: u32) -> impl Iterator<Item = Scratch> {
        let of_client = move |text: &str| numbered(text, number + 1);
        self.scratch.iter().map(move |scratch| Scratch {
            name: of_client(&scratch.name),
            then: Vec::from_iter(scratch.then.iter().map(|statement| ScratchStatement {
                sql: of_client(&statement.sql),
                postgres: statement.postgres.as_deref().map(of_client),
            })),
            ..scratch.clone()
        })
    }

    fn add(&mut self, dialect: Dialect, step: &Step, as_text: bool) {
        let tables = match step.table {
            TableChoice::None => 1,
            TableChoice::Drawn | TableChoice::Same | TableChoice::OfClient => self.tables,
            TableChoice::Scratch => self.clients,
        };
        let texts: Vec<String> =
            (1..=tables).map(|table| numbered(step.sql(dialect), table)).collect();
        self.recipe.push(EventRecipe {
            first_statement: self.statements.len(),
            table: step.table,
            times: step.times,
            patterns: as_text.then(|| texts.iter().map(|text| Pattern::new(text)).collect()),
            fill: step.fill.clone(),
        });
        let mode = if as_text { StatementMode::Text } else { self.sent };
        let params: Vec<ArgumentType> = step.fill.iter().flat_map(param_types).collect();
        let is_of_client = step.table == TableChoice::Scratch;
        self.statements.extend((0..).zip(texts).map(|(table, text)| {
            let sql = if dialect == Dialect::Postgres { number_marks(&text) } else { text };
            ProgramStatement {
                renews: step.renews,
                client: is_of_client.then_some(table),
                ..ProgramStatement::new(sql, params.clone(), mode)
            }
        }));
    }
}

/// Numbers of statements that are timed individually. More would outgrow their slices.
const TIMED: std::ops::RangeInclusive<usize> = 2..=100;

fn numbered(text: &str, table: u32) -> String {
    text.replace("sbtest", &format!("sbtest{table}"))
}

#[derive(Debug, Clone)]
pub(crate) struct ClientPart {
    length: u32,
    pub(crate) draw: RandomSampler,
}

impl ClientPart {
    fn new(draw: Distribution, rows: u32, clients: u32) -> Self {
        let length = rows / clients;
        Self { length, draw: RandomSampler::new(draw, 0, length) }
    }

    pub(crate) fn first_of(&self, client: u32) -> u32 {
        self.length.saturating_mul(client)
    }
}

fn param_types(fill: &Fill) -> impl Iterator<Item = ArgumentType> {
    let is_text = matches!(fill, Fill::Digits(_) | Fill::Rows(_));
    let param = if is_text { ArgumentType::Text } else { ArgumentType::Int };
    std::iter::repeat_n(param, fill.count() as usize)
}

impl Pattern {
    fn new(sql: &str) -> Self {
        let marks = sql.match_indices('?').enumerate();
        Self {
            text: sql.replace('?', ""),
            marks: marks.map(|(before, (at, _))| at - before).collect(),
        }
    }

    /// The pieces of text, each followed by a parameter, and the piece after the last one.
    pub(crate) fn pieces(&self) -> (impl Iterator<Item = &str>, &str) {
        let starts = std::iter::once(0).chain(self.marks.iter().copied());
        let before = starts.zip(&self.marks).map(|(start, end)| &self.text[start..*end]);
        (before, &self.text[self.marks.last().copied().unwrap_or(0)..])
    }
}

pub(crate) fn number_marks(sql: &str) -> String {
    let mut pieces = sql.split('?');
    let mut numbered = pieces.next().unwrap_or_default().to_owned();
    for (index, piece) in pieces.enumerate() {
        numbered.push_str(&format!("${}{piece}", index + 1));
    }
    numbered
}
