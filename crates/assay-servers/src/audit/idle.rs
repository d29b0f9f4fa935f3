//! Requested options that affect no measured statement, judging by the plans of all statements.

use assay_model::{AuditClass, AuditFinding, Dialect, Reach, reach};

use super::facts::{AuditedPlan, AuditedSystem};

/// Options that affect only some operations, and the words for these operations in plans.
struct PlanWords {
    options: &'static [&'static str],
    words: &'static [&'static str],
    why: &'static str,
}

/// Source: the descriptions of these variables in the manuals of MySQL and MariaDB. A remark of `EXPLAIN` reveals each
/// of these operations.
const OF_MYSQL: [PlanWords; 4] = [
    PlanWords {
        options: &["sort_buffer_size", "max_length_for_sort_data", "max_sort_length"],
        words: &[
            "sort",
            "temporary table",
            "index merge",
            "duplicates removed",
            "multi-range read",
        ],
        why: "no plan sorts rows",
    },
    PlanWords {
        options: &["join_buffer_size", "join_buffer_space_limit"],
        words: &["join buffer", "multi-range read"],
        why: "no plan joins with a buffer",
    },
    PlanWords {
        options: &["mrr_buffer_size", "read_rnd_buffer_size"],
        words: &["sort", "multi-range read", "rows noted first"],
        why: "no plan reads rows in the order of their places",
    },
    PlanWords {
        options: &[
            "internal_tmp_mem_storage_engine",
            "max_heap_table_size",
            "temptable_max_ram",
            "tmp_table_size",
        ],
        words: &[
            "temporary table",
            "all of <",
            "duplicates removed",
            "sort",
            "loose scan",
            "first match",
        ],
        why: "no plan has a temporary table",
    },
];

/// Nodes of Postgres that keep rows in memory. Source: the chapter on server configuration of its manual, and the
/// executor's nodes.
const OF_POSTGRES: [PlanWords; 1] = [PlanWords {
    options: &["hash_mem_multiplier", "work_mem"],
    words: &[
        "Aggregate",
        "Bitmap",
        "CTE",
        "Custom",
        "Foreign",
        "Function",
        "Group",
        "Hash",
        "Materialize",
        "Memoize",
        "Merge",
        "Recursive",
        "SetOp",
        "Sort",
        "Subquery",
        "Table Function",
        "Unique",
        "WindowAgg",
        "WorkTable",
    ],
    why: "no plan sorts, hashes or keeps rows",
}];

/// Marks findings about requested options that do not affect the measured statements. The differences remain.
pub(super) fn mark(findings: &mut [AuditFinding], systems: &[AuditedSystem]) {
    // Requires the plans of all systems.
    if systems.iter().any(|it| it.facts.plans.is_empty()) {
        return;
    }
    let plans_differ = findings.iter().any(|it| {
        let mut plans = it.values.iter().flatten();
        let first = plans.next();
        it.setting.starts_with("plan.") && plans.any(|plan| Some(plan) != first)
    });
    let plans: Vec<&AuditedPlan> = systems.iter().flat_map(|it| &it.facts.plans).collect();
    let is_asked = |it: &&mut AuditFinding| it.is_asked && it.class == AuditClass::Expected;
    for finding in findings.iter_mut().filter(is_asked) {
        let setting = finding.setting.strip_prefix("session.").unwrap_or(&finding.setting);
        if let Some(why) = unfelt(setting, systems, &plans, plans_differ) {
            finding.class = AuditClass::Harmless;
            finding.why = format!("no measured statement can feel it: {why}");
        }
    }
}

/// Why a setting affects none of these plans; `None` if it may.
fn unfelt(
    setting: &str,
    systems: &[AuditedSystem],
    plans: &[&AuditedPlan],
    plans_differ: bool,
) -> Option<&'static str> {
    let dialect = systems.first()?.spec.product.dialect();
    if systems.iter().any(|it| it.spec.product.dialect() != dialect) {
        return None;
    }
    if reach(setting) == Reach::Plans {
        let is_compiled = plans.iter().any(|it| it.plan.contains("; JIT"));
        if setting.starts_with("jit") {
            return (!is_compiled).then_some(
                "no plan costs as much as `jit_above_cost`, or this build compiles nothing",
            );
        }
        return (!plans_differ).then_some("it acts by plans alone, and no plan differs");
    }
    let list: &[PlanWords] = match dialect {
        Dialect::MySql => &OF_MYSQL,
        Dialect::Postgres => &OF_POSTGRES,
    };
    let known = list.iter().find(|it| it.options.contains(&setting))?;
    let feels = |plan: &&AuditedPlan| {
        known.words.iter().any(|word| plan.plan.contains(word)) || is_nested(&plan.statement)
    };
    // A plan that differs may be the effect.
    (!plans_differ && !plans.iter().any(feels)).then_some(known.why)
}

/// Returns whether a statement contains another one, which may be hashed within a condition, or is truncated.
fn is_nested(statement: &str) -> bool {
    let upper = statement.to_ascii_uppercase();
    upper.matches("SELECT").count() > 1 || statement.contains('…') || statement.contains("...")
}

#[cfg(test)]
mod tests {
    use assay_model::{Origin, Product, SystemSpec};
    use assay_terms::Terms;

    use super::super::{AuditFacts, compare};
    use super::*;

    fn found(
        product: Product,
        (option, values): (&str, [&str; 2]),
        plans: [&str; 2],
        statement: &str,
    ) -> AuditFinding {
        let plain = SystemSpec::new(product, Origin::Version("1".to_owned()));
        let asked = SystemSpec {
            overrides: vec![(option.to_owned(), values[1].to_owned())],
            ..plain.clone()
        };
        let facts = [0, 1].map(|at| AuditFacts {
            settings: [(option.to_owned(), values[at].to_owned())].into(),
            plans: vec![AuditedPlan {
                test: "t".to_owned(),
                statement: statement.to_owned(),
                place: None,
                event: 0,
                plan: plans[at].to_owned(),
                notes: Vec::new(),
            }],
            ..AuditFacts::default()
        });
        let audited = [
            AuditedSystem { spec: &plain, facts: &facts[0] },
            AuditedSystem { spec: &asked, facts: &facts[1] },
        ];
        let all = compare(&audited, Terms::or_default(None));
        all.into_iter().find(|it| it.setting == option).unwrap()
    }

    #[test]
    fn an_option_that_no_plan_can_feel_is_told() {
        use AuditClass::{Expected, Harmless};
        let postgres = |option, values, plan| {
            found(Product::Postgres, (option, values), [plan; 2], "SELECT c FROM t WHERE id = ?")
        };
        let memory = ["4MB", "64MB"];
        let point = postgres("work_mem", memory, "Index Scan using t_pkey on t");
        assert_eq!(point.class, Harmless);
        assert_eq!(
            point.why,
            "no measured statement can feel it: no plan sorts, hashes or keeps rows"
        );
        assert_eq!(postgres("work_mem", memory, "Sort < Seq Scan on t").class, Expected);
        let jit = postgres("jit", ["off", "on"], "Seq Scan on t");
        assert!(jit.class == Harmless && jit.why.contains("jit_above_cost"), "{jit:?}");
        assert_eq!(postgres("jit", ["off", "on"], "Seq Scan on t; JIT").class, Expected);
        let hash = postgres("enable_hashjoin", ["on", "off"], "Seq Scan on t");
        assert!(hash.why.contains("no plan differs"), "{hash:?}");
        // Unknown: this setting may affect any statement.
        assert_eq!(postgres("shared_buffers", ["1", "2"], "Seq Scan on t").class, Expected);
        let mysql = |plan| {
            found(Product::MySql, ("sort_buffer_size", ["1", "2"]), [plan; 2], "SELECT c FROM t")
        };
        assert_eq!(mysql("range k_1").class, Harmless);
        assert_eq!(mysql("whole table, sort").class, Expected);
    }

    #[test]
    fn what_plans_do_not_tell_may_be_felt() {
        let memory = ("work_mem", ["4MB", "64MB"]);
        let nested = "SELECT c FROM t WHERE k NOT IN (SELECT k FROM u)";
        let hashed = found(Product::Postgres, memory, ["Seq Scan on t"; 2], nested);
        assert_eq!(hashed.class, AuditClass::Expected);
        let plans = ["Seq Scan on t", "Index Scan using k on t"];
        let changed = found(Product::Postgres, memory, plans, "SELECT c FROM t");
        assert_eq!(changed.class, AuditClass::Expected);
    }
}
