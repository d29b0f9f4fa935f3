//! Query plans of Postgres, reduced to the parts comparable between versions.

use assay_wire::{Connection, ResultSet, WireError};

use crate::products::kind::StatementExplanation;

pub(super) fn explain(
    control: &mut Connection,
    sql: &str,
) -> Result<StatementExplanation, WireError> {
    // Postgres reports whether it would compile the statement only together with costs.
    let found = control.query(&format!("EXPLAIN {sql}"))?;
    Ok(StatementExplanation { plan: nodes(&found), warnings: Vec::new() })
}

/// The nodes of a plan, outermost first, without their conditions; the number of parallel workers it requests, and
/// whether it is compiled first.
fn nodes(found: &ResultSet) -> String {
    let mut nodes: Vec<String> = Vec::new();
    let mut jit: Option<Vec<&str>> = None;
    for (at, line) in (0..found.rows.len()).filter_map(|row| found.text(row, 0)).enumerate() {
        let message = line.trim();
        if let Some(message) = jit.as_mut() {
            message.extend(line.trim().strip_prefix("Options:").into_iter().flat_map(compiled));
        } else if message == "JIT:" {
            jit = Some(Vec::new());
        } else if let Some(workers) = message.strip_prefix("Workers Planned:") {
            if let Some(node) = nodes.last_mut() {
                *node += &format!(" ({} workers)", workers.trim());
            }
        } else if let Some(node) = message.strip_prefix("->").or((at == 0).then_some(message)) {
            let node = node.split_once("(cost=").map_or(node, |(node, _)| node);
            nodes.push(node.trim().to_owned());
        }
    }
    let jit = jit.map(|options| match options.as_slice() {
        [] => "; JIT".to_owned(),
        options => format!("; JIT with {}", options.join(", ")),
    });
    nodes.join(" < ") + jit.as_deref().unwrap_or_default()
}

/// Compilation steps, from `Inlining false, Optimization true, ...`.
fn compiled(options: &str) -> impl Iterator<Item = &'static str> {
    let is_on = |name: &str| options.contains(&format!("{name} true"));
    let all = [("Inlining", "inlining"), ("Optimization", "optimisation")];
    let on: Vec<&str> = all.into_iter().filter(|(name, _)| is_on(name)).map(|(_, it)| it).collect();
    on.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(lines: &[&str]) -> ResultSet {
        let row = |line: &&str| vec![Some(line.as_bytes().to_vec())];
        ResultSet { rows: lines.iter().map(row).collect(), ..ResultSet::default() }
    }

    #[test]
    fn plans_of_postgres_omit_conditions_and_estimates() {
        let lines = [
            "Aggregate",
            "  ->  Index Only Scan using k_1 on sbtest1",
            "        Index Cond: ((k >= 5) AND (k <= 9))",
        ];
        let found = plan(&lines);
        assert_eq!(nodes(&found), "Aggregate < Index Only Scan using k_1 on sbtest1");
    }

    #[test]
    fn parallel_workers_and_compilation_are_part_of_a_plan() {
        let lines = [
            "Gather  (cost=1000.00..10633.43 rows=1 width=97)",
            "  Workers Planned: 2",
            "  ->  Parallel Seq Scan on t  (cost=0.00..9633.33 rows=1 width=97)",
            "        Filter: (a = 'x (cost=1'::text)",
            "JIT:",
            "  Functions: 5",
            "  Options: Inlining false, Optimization true, Expressions true, Deforming true",
        ];
        let found = plan(&lines);
        let expected = "Gather (2 workers) < Parallel Seq Scan on t; JIT with optimisation";
        assert_eq!(nodes(&found), expected);
    }
}
