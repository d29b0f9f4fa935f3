//! Plans under statistics of the planner, as a page and as JSON. Pure: no I/O, no clock.

use std::collections::BTreeMap;

use assay_model::{System, Test, counted};
use assay_report::blocks::{
    Block, Column, JsonValue, PageContent, PageDocument, Row, Table, Wish, only_kind, share,
    sql_text, versioned,
};
use assay_report::findings::system_rows;
use assay_servers::audit::AuditedPlan;

pub(crate) struct StatisticsResult {
    /// The base first.
    pub(crate) systems: Vec<System>,
    pub(crate) tests: Vec<Test>,
    /// By system and file of statistics.
    pub(crate) plans: Vec<Vec<Vec<AuditedPlan>>>,
    pub(crate) files: Vec<String>,
    /// Limits of the comparison, in lower case and without full stops.
    pub(crate) limits: Vec<String>,
}

/// A statement of a test, with all of its values.
#[derive(Debug, PartialEq, Eq)]
struct ComparedStatement<'a> {
    statement: &'a str,
    /// Numbers of values with a plan in both systems, with plans that only one system chooses, and with plans that
    /// differ under a file although the other system chooses one of them under another file.
    values: u64,
    changed: u64,
    tied: u64,
    /// Plans of the base and the other system for one of the values: a pair that differs, if there is one.
    plans: [&'a str; 2],
}

type PlanKey<'a> = (&'a str, &'a str, u64);

/// Compares the plans of each test.
fn compared<'a>(
    base: &'a [Vec<AuditedPlan>],
    other: &'a [Vec<AuditedPlan>],
) -> BTreeMap<&'a str, Vec<ComparedStatement<'a>>> {
    let key = |plan: &'a AuditedPlan| -> PlanKey<'a> {
        (plan.test.as_str(), plan.statement.as_str(), plan.event)
    };
    let by_key = |plans: &'a Vec<AuditedPlan>| -> BTreeMap<PlanKey<'a>, &'a str> {
        plans.iter().map(|plan| (key(plan), plan.plan.as_str())).collect()
    };
    let files: Vec<_> = base.iter().zip(other).map(|(a, b)| (by_key(a), by_key(b))).collect();
    let mut tests: BTreeMap<&str, Vec<ComparedStatement<'a>>> = BTreeMap::new();
    for plan in base.first().into_iter().flatten() {
        let key = key(plan);
        let pairs = files.iter().map(|(a, b)| Some([*a.get(&key)?, *b.get(&key)?]));
        let Some(pairs) = pairs.collect::<Option<Vec<[&str; 2]>>>() else { continue };
        let statements = tests.entry(&plan.test).or_default();
        let place = statements.iter().position(|known| known.statement == plan.statement);
        let place = place.unwrap_or_else(|| {
            let (statement, plans) = (plan.statement.as_str(), pairs[0]);
            statements.push(ComparedStatement { statement, values: 0, changed: 0, tied: 0, plans });
            statements.len() - 1
        });
        let statement = &mut statements[place];
        statement.values += 1;
        let Some(pair) = pairs.iter().find(|[a, b]| a != b) else { continue };
        let is_change = pairs.iter().all(|[a, _]| pairs.iter().all(|[_, b]| a != b));
        // A change is a better example than a tie.
        if statement.changed == 0 && (is_change || statement.tied == 0) {
            statement.plans = *pair;
        }
        if is_change {
            statement.changed += 1;
        } else {
            statement.tied += 1;
        }
    }
    tests
}

impl StatisticsResult {
    fn base(&self) -> &System {
        &self.systems[0]
    }

    /// The systems other than the base, each with its compared tests.
    fn others(
        &self,
    ) -> impl Iterator<Item = (&System, BTreeMap<&str, Vec<ComparedStatement<'_>>>)> {
        let others = self.systems.iter().zip(&self.plans).skip(1);
        others.map(|(system, plans)| (system, compared(&self.plans[0], plans)))
    }

    /// A change under one file may be a tie.
    fn knows_ties(&self) -> bool {
        self.files.len() > 1
    }
}

impl PageContent for StatisticsResult {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let title = format!("plans of {} by statistics", self.base().name);
        let mut blocks = Vec::new();
        for (system, tests) in self.others() {
            blocks.push(Block::Lines(vec![self.answer(system, &tests)]));
            for test in &self.tests {
                for statement in tests.get(test.name()).into_iter().flatten() {
                    blocks.extend(self.section(system, *test, statement));
                }
            }
        }
        blocks.extend(Block::section(wish.heading("limits"), Block::notes(self.limits())));
        then(&PageDocument { title, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        let cells = self.others().flat_map(|(system, tests)| {
            let cell = |test: &Test| self.cell(system, *test, tests.get(test.name()));
            self.tests.iter().map(cell).collect::<Vec<_>>()
        });
        Some(versioned(JsonValue::object([
            ("systems", system_rows(&self.systems)),
            ("statistics", self.files.iter().map(String::as_str).collect()),
            ("cells", cells.collect()),
            ("limits", self.limits().into_iter().collect()),
        ])))
    }
}

impl StatisticsResult {
    fn answer(
        &self,
        system: &System,
        tests: &BTreeMap<&str, Vec<ComparedStatement<'_>>>,
    ) -> String {
        let statements = || tests.values().flatten();
        let changed = statements().filter(|one| one.changed > 0).count();
        let tied = statements().filter(|one| one.changed == 0 && one.tied > 0).count();
        let all = counted(statements().count() as u64, "statement");
        let verb = if changed == 1 { "has" } else { "have" };
        let mut answer = format!(
            "{changed} of {all} {verb} another plan in {} than in {}",
            system.name,
            self.base().name
        );
        if self.knows_ties() {
            answer += &format!("; {tied} more are ties, which depend on the sample of `ANALYZE`");
        }
        answer
    }

    /// Both plans of a statement, side by side; empty if they are the same.
    fn section(
        &self,
        system: &System,
        test: Test,
        statement: &ComparedStatement<'_>,
    ) -> Vec<Block<'static>> {
        if statement.changed + statement.tied == 0 {
            return Vec::new();
        }
        let values = counted(statement.values, "value");
        let mut about = Vec::new();
        if let Some(logged) = only_kind(test).and_then(|kind| kind.logged) {
            let calls = counted(logged.calls, "call");
            about.push(format!("{calls}, {} of the log", share(logged.share)));
        }
        about.push(if statement.changed > 0 {
            format!("another plan for {} of {values}", statement.changed)
        } else {
            format!("a tie for {} of {values}", statement.tied)
        });
        let columns = [self.base(), system].map(|system| Column::words(system.name.as_str()));
        let [base, other] = statement.plans.map(|plan| plan.split(" < ").collect::<Vec<&str>>());
        let row = |at: usize| {
            let node = |nodes: &[&str]| nodes.get(at).copied().unwrap_or_default().to_owned();
            Row::new([node(&base), node(&other)])
        };
        let rows = (0..base.len().max(other.len())).map(row);
        let lines = Block::Lines(vec![statement.statement.to_owned(), about.join("; ")]);
        let table = Block::Table(Table::new(columns.to_vec(), rows));
        Block::section(test.name(), vec![lines, table])
    }

    fn limits(&self) -> Vec<String> {
        let mut limits =
            vec!["times and answers are not compared, because there are no rows".to_owned()];
        if !self.knows_ties() {
            limits.push(
                "a difference may be a tie: run `ANALYZE` on the server in use, write its statistics again, and give \
                 both files"
                    .to_owned(),
            );
        }
        for (system, tests) in self.others() {
            let is_missing = |test: &&Test| !tests.contains_key(test.name());
            let missing: Vec<&str> =
                self.tests.iter().filter(is_missing).map(|test| test.name()).collect();
            if !missing.is_empty() {
                let (name, missing) = (&system.name, missing.join(", "));
                limits.push(format!("{name} or the base cannot explain {missing}"));
            }
        }
        limits.extend(self.limits.iter().cloned());
        limits
    }

    fn cell(
        &self,
        system: &System,
        test: Test,
        statements: Option<&Vec<ComparedStatement<'_>>>,
    ) -> JsonValue {
        let kind = only_kind(test);
        let logged = kind.and_then(|kind| kind.logged);
        let sum = |part: fn(&ComparedStatement<'_>) -> u64| -> u64 {
            statements.into_iter().flatten().map(part).sum()
        };
        let (values, changed, tied) =
            (sum(|one| one.values), sum(|one| one.changed), sum(|one| one.tied));
        let pair = |statement: &ComparedStatement<'_>| {
            let [base, other] = statement.plans;
            JsonValue::object([
                ("statement", statement.statement.into()),
                ("base", base.into()),
                ("other", other.into()),
            ])
        };
        JsonValue::object([
            ("test", test.name().into()),
            ("fingerprint", kind.map(sql_text).into()),
            ("calls", logged.map(|log| log.calls).into()),
            ("share", logged.map(|log| log.share).into()),
            ("system", system.name.as_str().into()),
            ("plan_changed", (values > 0).then_some(changed > 0).into()),
            ("tie", (values > 0 && self.knows_ties()).then_some(changed == 0 && tied > 0).into()),
            (
                "values",
                JsonValue::object([
                    ("compared", values.into()),
                    ("changed", changed.into()),
                    ("tied", tied.into()),
                ]),
            ),
            ("plans", statements.into_iter().flatten().map(pair).collect()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_under_one_file_only_is_a_tie() {
        let plan = |statement: &str, event, plan: &str| AuditedPlan {
            test: "t".to_owned(),
            statement: statement.to_owned(),
            place: None,
            event,
            plan: plan.to_owned(),
            notes: Vec::new(),
        };
        let base = || vec![plan("a", 0, "Seq"), plan("a", 1, "Seq"), plan("b", 0, "Seq")];
        let first = vec![plan("a", 0, "Index"), plan("a", 1, "Bitmap"), plan("b", 0, "Seq")];
        let second = vec![plan("a", 0, "Seq"), plan("a", 1, "Bitmap"), plan("c", 0, "Seq")];
        let swapped = [vec![plan("a", 0, "Seq")], vec![plan("a", 0, "Index")]];
        let reversed = [swapped[1].clone(), swapped[0].clone()];
        let swaps = compared(&swapped, &reversed);
        let swap = &swaps["t"][0];
        assert_eq!((swap.changed, swap.tied), (0, 1), "each chooses both plans");
        let (base, other) = (vec![base(), base()], vec![first, second]);
        let found = compared(&base, &other);
        let expected = ComparedStatement {
            statement: "a",
            values: 2,
            changed: 1,
            tied: 1,
            plans: ["Seq", "Bitmap"],
        };
        assert_eq!(found["t"], [expected]);
        let one = compared(&base[..1], &other[..1]);
        let counts: Vec<_> =
            one["t"].iter().map(|one| (one.values, one.changed, one.tied)).collect();
        assert_eq!(counts, [(2, 2, 0), (1, 0, 0)]);
    }
}
