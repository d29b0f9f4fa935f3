//! The program that drives a test, and its inputs.

use assay_model::{Distribution, RandType, StatementMode};
use assay_workloads::{OltpOptions, oltp_tests};

use crate::client::ClientStatements;
use crate::finding::{Finding, ReproFile, ReproRefusal};
use crate::pgbench::PgbenchScripts;
use crate::{client, lua, pgbench};

pub(crate) enum ReproTool {
    /// One of sysbench's own scripts and its options.
    Shipped {
        script: String,
        options: Vec<String>,
    },
    /// sysbench with a generated script.
    Script(ReproFile),
    Pgbench(PgbenchScripts),
    Client(ClientStatements),
}

impl ReproTool {
    /// Prefers sysbench's own script; a user's statements need the plain client; pgbench comes with Postgres, if it can
    /// draw the values.
    pub(crate) fn choose(finding: &Finding<'_>) -> Result<Self, ReproRefusal> {
        let test = finding.cell.test;
        if test.user_data().is_some() {
            return Ok(Self::Client(client::statements(finding)?));
        }
        if test.name() == "bulk_insert" {
            return Err(ReproRefusal::new(
                "`bulk_insert` of sysbench fills its own tables and cannot be run twice on them",
                "choose another test, such as `oltp_insert`",
            ));
        }
        // sysbench 1.0, which most people have, draws no Zipfian values.
        let shipped = finding.oltp.filter(|options| options.rand_type != RandType::Zipfian);
        let has = |options: &&OltpOptions| {
            oltp_tests(options).iter().any(|shipped| shipped.name() == test.name())
        };
        if let Some(options) = shipped.filter(has) {
            let script = test.name().to_owned();
            return Ok(Self::Shipped { script, options: arguments(finding, options) });
        }
        if finding.is_postgres()
            && let Some(scripts) = pgbench::scripts(finding)?
        {
            return Ok(Self::Pgbench(scripts));
        }
        Ok(Self::Script(lua::file(finding)?))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Shipped { .. } | Self::Script(_) => "sysbench",
            Self::Pgbench(_) => "pgbench",
            Self::Client(_) => "the plain client",
        }
    }

    pub(crate) fn into_files(self) -> Vec<ReproFile> {
        match self {
            Self::Shipped { .. } => Vec::new(),
            Self::Script(file) => vec![file],
            Self::Pgbench(PgbenchScripts { files, .. })
            | Self::Client(ClientStatements { files, .. }) => files,
        }
    }
}

fn shape(draw: Distribution) -> Vec<String> {
    match draw {
        Distribution::Uniform => vec!["--rand-type=uniform".to_owned()],
        Distribution::Gaussian => vec!["--rand-type=gaussian".to_owned()],
        Distribution::Special => vec!["--rand-type=special".to_owned()],
        Distribution::Pareto { h } => {
            vec!["--rand-type=pareto".to_owned(), format!("--rand-pareto-h={h}")]
        }
        // The script draws these itself.
        Distribution::Zipfian { .. } => Vec::new(),
    }
}

fn arguments(finding: &Finding<'_>, options: &OltpOptions) -> Vec<String> {
    let setup = finding.cell.setup;
    let switch = |is_on: bool| if is_on { "on" } else { "off" };
    let mut arguments =
        vec![format!("--tables={}", setup.tables), format!("--table-size={}", setup.rows)];
    arguments.extend(shape(options.distribution()));
    if finding.record.study.statements != StatementMode::Prepared {
        arguments.push("--db-ps-mode=disable".to_owned());
    }
    let name = finding.cell.test.name();
    if name.starts_with("oltp_") {
        arguments.extend([
            format!("--range-size={}", options.range_size),
            format!("--point-selects={}", options.point_selects),
            format!("--range-selects={}", switch(options.range_selects)),
            format!("--simple-ranges={}", options.simple_ranges),
            format!("--sum-ranges={}", options.sum_ranges),
            format!("--order-ranges={}", options.order_ranges),
            format!("--distinct-ranges={}", options.distinct_ranges),
            format!("--index-updates={}", options.index_updates),
            format!("--non-index-updates={}", options.non_index_updates),
            format!("--delete-inserts={}", options.delete_inserts),
            format!("--auto-inc={}", switch(options.auto_inc)),
            format!("--skip-trx={}", switch(options.skip_trx)),
        ]);
    }
    match name {
        "select_random_points" => {
            arguments.push(format!("--random-points={}", options.random_points))
        }
        "select_random_ranges" => arguments.extend([
            format!("--number-of-ranges={}", options.number_of_ranges),
            format!("--delta={}", options.delta),
        ]),
        _ => {}
    }
    arguments
}
