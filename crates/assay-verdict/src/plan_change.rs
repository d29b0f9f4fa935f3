//! Explains changes by statements whose plans differ from the base's.

use assay_model::{
    CellId, SettingsTrial, StudyRecord, SystemSpec, Verdict, changes_plans, may_be_secret,
};

use crate::PlanFindings;
use crate::plans::StatementPlace;
use crate::statements::{MOST, PartTime};

const ANOTHER_PLAN: &str = "executed with another plan than by the base";

const WHOLE_PERCENT: u32 = 95;

const OPTIONS: usize = 2;

/// Statements with a smaller share of a change do not explain it.
const LEAST: f64 = 0.1;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlanChange {
    /// `` `enable_hashjoin=off` changed the plan (Hash Join → Merge Join) ``.
    pub(crate) sentence: String,
    pub(crate) options: Vec<String>,
    /// Whether the statements with other plans are most of the change, as far as their times are known.
    pub(crate) is_most: bool,
}

impl PlanChange {
    /// `None` if the audit found no other plan, or if statement times exclude those with other plans as part of a
    /// change with this verdict. If options were tried one by one and some undo the change, only these are named.
    pub(crate) fn find(
        record: &StudyRecord,
        plans: &PlanFindings<'_>,
        cell: CellId,
        systems: [usize; 2],
        verdict: Verdict,
        tried: Option<&SettingsTrial>,
    ) -> Option<Self> {
        if !plans.differ(cell, systems) {
            return None;
        }
        let part = plans.places(cell, systems).and_then(|places| {
            // Statements of a pipeline are not timed individually.
            let is_timed = |one: &StatementPlace| {
                let time = PartTime::for_cell(record, cell, systems, |place| place == *one);
                time.is_some_and(|time| time.us.iter().all(|us| *us > 0.0))
            };
            let part = PartTime::for_cell(record, cell, systems, |place| places.contains(&place));
            part.filter(|_| places.iter().all(is_timed))
        });
        let has_direction = matches!(verdict, Verdict::Slower | Verdict::Faster);
        let part = part.filter(|_| has_direction);
        if part.is_some_and(|part| !part.is_part_of(verdict, LEAST)) {
            return None;
        }
        let pair = match plans.pair(cell, systems) {
            Some([before, after]) => format!(" ({before} → {after})"),
            None => String::new(),
        };
        // Tests have records without systems.
        let [base, system] = systems.map(|system| record.systems.get(system));
        let known = base.zip(system).map(|(base, system)| {
            let digest = system.artifact.sha256();
            let is_one_build = digest.is_some_and(|it| base.artifact.sha256() == Some(it));
            (is_one_build, narrowed(options(&base.spec, &system.spec), tried))
        });
        let (is_one_build, options) = known.unwrap_or_default();
        let named = named(&options);
        let sentence = match options.as_slice() {
            [] => format!("{ANOTHER_PLAN}{pair}"),
            _ if is_one_build => format!("{named} changed the plan{pair}"),
            _ => format!("{ANOTHER_PLAN}{pair}, because of its version or of {named}"),
        };
        let small = part.filter(|part| !part.is_part_of(verdict, MOST));
        let of_change = small.map(|part| format!(", {:.0}% of the change", 100.0 * part.share));
        let sentence = sentence + &of_change.unwrap_or_default();
        let options = options.into_iter().map(|option| option.variable).collect();
        Some(Self { sentence, options, is_most: small.is_none() })
    }
}

struct PlanOption {
    variable: String,
    /// `enable_hashjoin=off`.
    text: String,
    is_of_base: bool,
}

fn variable(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// An option with a value in both systems is listed with the system's.
fn options(base: &SystemSpec, system: &SystemSpec) -> Vec<PlanOption> {
    let mut found: Vec<PlanOption> = Vec::new();
    for (spec, other, is_of_base) in [(system, base, false), (base, system, true)] {
        for (name, value) in spec.options_unlike(other, variable) {
            let variable = variable(name);
            let is_new = found.iter().all(|known| known.variable != variable);
            if is_new && changes_plans(&variable) {
                let text =
                    if may_be_secret(name) { name.to_owned() } else { format!("{name}={value}") };
                found.push(PlanOption { variable, text, is_of_base });
            }
        }
    }
    found
}

/// The options that undo the whole change, if any; otherwise all.
fn narrowed(options: Vec<PlanOption>, tried: Option<&SettingsTrial>) -> Vec<PlanOption> {
    let causes = tried.map(|tried| tried.causes.as_slice()).unwrap_or_default();
    let undone = |option: &PlanOption| {
        let whole = causes.iter().filter(|cause| cause.percent >= WHOLE_PERCENT);
        let mut words = whole.flat_map(|cause| cause.options.split('+'));
        words.any(|word| word.split('=').next().is_some_and(|it| variable(it) == option.variable))
    };
    if options.iter().any(undone) { options.into_iter().filter(undone).collect() } else { options }
}

/// `` `enable_hashjoin=off` ``, `` `enable_hashjoin=off` of the base ``, `` the requested options (`a=1`, `b=2`, 3
/// more) ``.
fn named(options: &[PlanOption]) -> String {
    let quoted = |it: &PlanOption| {
        format!("`{}`{}", it.text, if it.is_of_base { " of the base" } else { "" })
    };
    if let [only] = options {
        return quoted(only);
    }
    let mut names: Vec<String> = options.iter().take(OPTIONS).map(quoted).collect();
    let more = options.len().saturating_sub(OPTIONS);
    names.extend((more > 0).then(|| format!("{more} more")));
    format!("the requested options ({})", names.join(", "))
}

#[cfg(test)]
mod tests {
    use assay_model::{
        AuditClass, AuditFinding, Host, Origin, Product, SettingCause, Setup, Slice,
        StatementPlans, Study, TestSet,
    };

    use super::*;

    fn spec(options: &[(&str, &str)]) -> SystemSpec {
        let overrides = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let origin = Origin::Version("17".to_owned());
        SystemSpec { overrides: overrides.collect(), ..SystemSpec::new(Product::Postgres, origin) }
    }

    /// Plan change of a mix whose second statement has another plan, given the microseconds of each statement in the
    /// base and in another system.
    fn of_mix(us: [[u64; 2]; 2], verdict: Verdict, is_placed: bool) -> Option<PlanChange> {
        let test = assay_workloads::tests_of(TestSet::All)[0];
        let cell = CellId { test, setup: Setup { clients: 1, tables: 1, rows: 1000 } };
        let study = Study::published("s".to_owned(), 0, &[cell]);
        let mut record = StudyRecord::new(study, Host::default(), Vec::new());
        for (system, us) in us.into_iter().enumerate() {
            let mut slice = Slice::new(system, cell);
            slice.work.events = 10;
            for (step, us) in us.iter().enumerate() {
                slice.counters.set(&format!("statement.0.{step}.ns"), Some(10_000 * us));
            }
            record.slices.push(slice);
        }
        let placed = |step, plans| StatementPlans { kind: 0, step, plans };
        let statements = vec![placed(0, vec![Some(0), Some(0)]), placed(1, vec![Some(0), Some(1)])];
        record.audit = vec![AuditFinding {
            setting: format!("plan.{}", test.name()),
            values: ["range", "ref"].map(|it| Some(it.to_owned())).into(),
            class: AuditClass::Expected,
            why: String::new(),
            is_asked: false,
            statements: if is_placed { statements } else { Vec::new() },
        }];
        PlanChange::find(&record, &PlanFindings::new(&record.audit), cell, [0, 1], verdict, None)
    }

    #[test]
    fn a_plan_is_a_reason_only_for_the_statement_that_has_it() {
        use Verdict::{Faster, Slower, Uneven};
        let own = of_mix([[300, 500], [310, 900]], Slower, true).unwrap();
        assert!(own.is_most, "{own:?}");
        assert_eq!(own.sentence, "executed with another plan than by the base (range → ref)");
        // The first statement, such as a commit, takes longer.
        assert_eq!(of_mix([[500, 300], [2_200, 305]], Slower, true), None);
        let small = of_mix([[500, 300], [1_200, 500]], Slower, true).unwrap();
        assert!(!small.is_most && small.sentence.ends_with(", 22% of the change"), "{small:?}");
        // A better plan does not explain a slower test.
        assert_eq!(of_mix([[500, 300], [900, 200]], Slower, true), None);
        assert_eq!(of_mix([[500, 300], [900, 200]], Faster, true), None);
        assert!(of_mix([[500, 300], [2_200, 305]], Uneven, true).is_some());
        // The statement is part of a pipeline.
        assert!(of_mix([[500, 0], [2_200, 0]], Slower, true).is_some_and(|it| it.is_most));
        // It is unknown which statement has the plan.
        assert!(of_mix([[500, 300], [2_200, 305]], Slower, false).is_some_and(|it| it.is_most));
    }

    #[test]
    fn the_options_that_can_change_plans_are_named() {
        let plain = spec(&[]);
        let words = |base: &SystemSpec, system: &SystemSpec| named(&options(base, system));
        let hash = spec(&[("enable_hashjoin", "off"), ("synchronous_commit", "on")]);
        assert_eq!(words(&plain, &hash), "`enable_hashjoin=off`");
        assert_eq!(words(&hash, &plain), "`enable_hashjoin=off` of the base");
        let many = spec(&[("work_mem", "1MB"), ("enable-sort", "off"), ("enable_hashjoin", "off")]);
        assert_eq!(
            words(&plain, &many),
            "the requested options (`work_mem=1MB`, `enable-sort=off`, 1 more)"
        );
        assert!(options(&many, &many).is_empty());
        // Those that undo the change, if any does.
        let tried = |options: &str| SettingsTrial {
            test: "t".to_owned(),
            setup: Setup { clients: 1, tables: 1, rows: 1 },
            is_slower: true,
            tried: 3,
            undecided: 0,
            causes: vec![SettingCause { options: options.to_owned(), percent: 99 }],
            study: "s".to_owned(),
        };
        let narrowed = |undone| named(&narrowed(options(&plain, &many), Some(&tried(undone))));
        assert_eq!(narrowed("x=1+enable_sort=on"), "`enable-sort=off`");
        assert_eq!(narrowed("synchronous_commit=on"), words(&plain, &many));
        // The last value counts.
        let twice = spec(&[("enable_hashjoin", "on"), ("enable_hashjoin", "off")]);
        assert_eq!(words(&plain, &twice), "`enable_hashjoin=off`");
    }
}
