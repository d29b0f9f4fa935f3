//! The README of the directory.

use std::fmt::Write as _;

use assay_model::{Artifact, Host, Origin, Package, Prefix, StartFrom, System, Verdict, thousands};
use assay_verdict::CellJudgement;

use crate::finding::{Finding, estimate, line, measured, named};
use crate::tool::ReproTool;
use crate::{config, run};

const FUNCTIONS: usize = 12;

pub(crate) fn readme(finding: &Finding<'_>, tool: &ReproTool) -> String {
    let mut text = String::new();
    let [(_, base), (_, other)] = finding.sides();
    let _ = writeln!(text, "# {}\n", title(finding));
    let _ = writeln!(
        text,
        "{} does in `{}`, divided by what {} does: **{}**.",
        line(&other.name),
        line(finding.cell.test.name()),
        line(&base.name),
        measured(finding)
    );
    let _ = writeln!(text, "\nThe test: {}.\n", line(&finding.cell.test.does));
    text += &run_section(finding, tool);
    text += &figures(finding);
    text += &functions(finding);
    text += &versions(finding);
    text += &machine(finding);
    text += &differences(finding, tool);
    text += &contents(finding, tool);
    text
}

fn title(finding: &Finding<'_>) -> String {
    let [(_, base), (_, other)] = finding.sides();
    let test = line(finding.cell.test.name());
    let [base_name, other_name] = [base, other].map(|system| line(&system.name));
    let judged = finding.judged(finding.other);
    let ratio = judged.and_then(|judged| judged.rqps).map(|ratio| ratio.value);
    match (judged.map(|judged| judged.verdict), ratio) {
        (Some(Verdict::Slower), Some(ratio)) => {
            format!(
                "{other_name} is {:.0}% slower than {base_name} in {test}",
                100.0 * (1.0 - ratio)
            )
        }
        (Some(Verdict::Faster), Some(ratio)) => {
            format!(
                "{other_name} is {:.0}% faster than {base_name} in {test}",
                100.0 * (ratio - 1.0)
            )
        }
        (verdict, _) => {
            let word = verdict.map_or("not measured", Verdict::word);
            format!("{other_name} and {base_name} in {test}: {word}")
        }
    }
}

fn run_section(finding: &Finding<'_>, tool: &ReproTool) -> String {
    let [(_, base), (_, other)] = finding.sides();
    let [base_starts, other_starts] = run::starts(finding);
    let needs = match tool {
        ReproTool::Client(_) => "the client",
        ReproTool::Pgbench(_) => "pgbench and psql",
        ReproTool::Shipped { .. } | ReproTool::Script(_) => "sysbench 1.0 or later and the client",
    };
    let client = if finding.is_postgres() { "`psql`" } else { "`mariadb` or `mysql`" };
    let mut text = format!(
        "## Run it\n\n    {} {} ./run.sh\n\nIt needs {needs} ({client}), and no root. BASE is {}, OTHER is {}",
        run::place("BASE", base_starts),
        run::place("OTHER", other_starts),
        named(base),
        named(other),
    );
    text += match (base_starts, other_starts) {
        (true, true) => {
            ": the directory of a vendor's tarball, of unpacked packages, or of your own build. The script makes data \
             directories in a temporary place, starts both servers on unix sockets with the configurations here, loads \
             the same rows, drives the servers in turn, and prints the ratio of each pair, their median with the \
             lowest and the highest, and the direction. It ends the servers and removes their data."
        }
        (false, false) => {
            ". Both must be running. The script loads the same rows, drives the servers in turn, and prints the ratio \
             of each pair, their median with the lowest and the highest, and the direction."
        }
        _ => {
            ". One of them must be running; of the other, name the directory of a vendor's tarball, of unpacked \
             packages, or of your own build. The script starts that one on a unix socket, with its data in a temporary \
             place and the configuration here, loads the same rows into both, drives the servers in turn, and prints \
             the ratio of each pair, their median with the lowest and the highest, and the direction. It ends what it \
             started and removes its data."
        }
    };
    text += "\n\n`PAIRS=30` measures more pairs";
    if run::is_timed(finding, tool) {
        text += ", `TURN=10` measures longer (seconds)";
    }
    if let Some(pairs) = run::lasts(finding, tool) {
        let _ = write!(
            text,
            "; the test changes or uses up rows, so the script loads the data again after every {pairs} pairs"
        );
    }
    text += ". `TMPDIR` says where the data are.\n\n";
    if !(base_starts && other_starts) {
        text += "assay did not start every server, so there is no configuration to start it with: \
             `BASE_SOCKET` and `OTHER_SOCKET` take the unix sockets of servers that run, `DB_USER` and `DB_PASSWORD` \
             log in. The script creates the database `assay_repro` there, and drops it at the end.\n\n";
    }
    text
}

fn figures(finding: &Finding<'_>) -> String {
    let mut text = "## What was measured\n\n".to_owned();
    let study = &finding.record.study;
    let setup = finding.cell.setup;
    let data = match finding.cell.test.user_data() {
        Some(own) => format!("{} rows in {} tables", thousands(own.rows()), own.tables.len()),
        None => {
            format!("tables × rows: {} × {}", setup.tables, thousands(u64::from(setup.rows)))
        }
    };
    let _ = writeln!(
        text,
        "assay {} measured it in study `{}`: clients: {}, {data}. assay drives both servers in short turns, on fresh \
         instances in every block.\n",
        study.assay_version, study.id, setup.clients,
    );
    let [base, other] = [finding.base, finding.other].map(|system| finding.judged(system));
    text += "| | base | other |\n|---|---:|---:|\n";
    let is_measured = base.is_some() && other.is_some();
    let mut row = |name: &str, figure: &dyn Fn(&CellJudgement) -> Option<String>| {
        let [base, other] = [base, other].map(|judged| judged.and_then(figure));
        if base.is_some() || other.is_some() {
            let unknown = if is_measured { "—" } else { "not known" };
            let [base, other] =
                [base, other].map(|shown| shown.unwrap_or_else(|| unknown.to_owned()));
            let _ = writeln!(text, "| {name} | {base} | {other} |");
        }
    };
    let us = |value: f64| format!("{value:.1}");
    row("operations per second", &|cell| cell.qps.map(|qps| thousands(qps.value.round() as u64)));
    row("relative to base", &|cell| cell.rqps.map(estimate));
    row("verdict", &|cell| cell.rqps.map(|_| cell.verdict.word().to_owned()));
    row("latency p50, µs", &|cell| cell.latency?.p50.map(us));
    row("latency p95, µs", &|cell| cell.latency?.p95.map(us));
    row("server CPU per operation, µs", &|cell| cell.per_op?.get("server_cpu_us").map(us));
    row("of that in the kernel, µs", &|cell| cell.per_op?.get("server_sys_us").map(us));
    row("blocks", &|cell| Some(cell.blocks.to_string()));
    row("operations measured", &|cell| Some(thousands(cell.ops as u64)));
    text.push('\n');
    if let Some(why) = other.and_then(|judged| judged.why.as_deref()) {
        let _ = writeln!(text, "{}\n", line(why));
    }
    text
}

fn functions(finding: &Finding<'_>) -> String {
    let profile = finding.judged(finding.other).and_then(|judged| judged.profile.as_ref());
    let Some(profile) = profile.filter(|profile| !profile.serving.is_empty()) else {
        return String::new();
    };
    let mut text = "## Functions that changed\n\nCPU time of the threads that serve clients, in the function itself, \
        µs per operation, from samples.\n\n| function | module | base | other | change | certain |\n\
        |---|---|---:|---:|---:|---|\n"
        .to_owned();
    for function in profile.serving.iter().take(FUNCTIONS) {
        let name = function.function.as_deref().map_or_else(|| "without a name".to_owned(), line);
        let _ = writeln!(
            text,
            "| `{}` | {} | {:.2} | {:.2} | {:+.2} | {} |",
            name.replace('|', "\\|"),
            line(&function.module),
            function.changed.before,
            function.changed.after,
            function.changed.by.value,
            if function.is_certain { "yes" } else { "no" },
        );
    }
    text.push('\n');
    text
}

fn versions(finding: &Finding<'_>) -> String {
    let mut text = "## Versions\n\n".to_owned();
    for (side, system) in finding.sides() {
        let artifact = &system.artifact;
        let product = artifact.product().map_or("", assay_model::Product::word);
        let _ = writeln!(
            text,
            "### {}: {product} {}\n\n{}",
            side,
            line(artifact.version()),
            origin(system)
        );
        for note in artifact.notes() {
            let _ = writeln!(text, "{}.", line(note));
        }
        if let Some(prefix) = artifact.prefix() {
            text += &packages(prefix);
        }
        text.push('\n');
    }
    text
}

/// Where others can get the server.
fn origin(system: &System) -> String {
    let artifact = &system.artifact;
    let [channel, version] = [artifact.channel(), artifact.package_version()].map(line);
    let prefix = match artifact {
        Artifact::Running(_) => {
            return "A server that was running. Its binaries and its configuration are not known.\n".to_owned();
        }
        Artifact::Reported(_) => return "Only its results are known.\n".to_owned(),
        Artifact::Prefix(prefix) => prefix,
    };
    let origin = match (&system.spec.origin, prefix.build.source.as_str()) {
        (Origin::Dir(_), _) => {
            format!("Binaries in a directory of the reporter, which say: {version}.")
        }
        (Origin::Git(_), _) => {
            format!(
                "Built from source: {}, commit {version}.",
                assay_model::without_logins(&channel)
            )
        }
        (_, source) => {
            format!("{source}: `{}`, version `{version}`.", assay_model::without_logins(&channel))
        }
    };
    format!("{origin}\n")
}

fn packages(prefix: &Prefix) -> String {
    let mut text = String::new();
    if prefix.packages.is_empty() {
        if !prefix.sha256.is_empty() {
            let _ = writeln!(text, "SHA-256 of the binaries: `{}`", prefix.sha256);
        }
        return text;
    }
    text += "| archive | version | SHA-256 |\n|---|---|---|\n";
    // The server is listed before its libraries.
    let is_server = |it: &&Package| it.version == prefix.build.package_version;
    let (server, libraries): (Vec<_>, Vec<_>) = prefix.packages.iter().partition(is_server);
    for package in server.into_iter().chain(libraries) {
        let _ = writeln!(
            text,
            "| {} | {} | `{}` |",
            line(&package.name),
            line(&package.version),
            line(&package.sha256)
        );
    }
    text
}

fn machine(finding: &Finding<'_>) -> String {
    let host = finding.record.host();
    let Host { cpu, cpus, memory_kb, kernel, os, hypervisor, filesystem, .. } = host;
    let mut text = "## The machine\n\n".to_owned();
    let _ = writeln!(
        text,
        "- {}, {cpus} CPUs, {:.1} GiB of memory",
        line(cpu),
        *memory_kb as f64 / 1_048_576.0
    );
    let _ = writeln!(text, "- {}, kernel {}, data on {}", line(os), line(kernel), line(filesystem));
    if let Some(hypervisor) = hypervisor {
        let _ = writeln!(text, "- a virtual machine: {}", line(hypervisor));
    }
    text.push('\n');
    text
}

/// How the script differs from assay's measurement.
fn differences(finding: &Finding<'_>, tool: &ReproTool) -> String {
    let test = finding.cell.test;
    let mut lines = vec![
        "The client's own time is part of both sides, so a slower client brings the ratio nearer to 1.",
        "Nothing is pinned to CPUs, and turns last seconds, not milliseconds: expect a wider spread.",
    ];
    if test.user_data().is_none() {
        lines.push("The rows have the same distribution as assay's, but other values.");
        if test.start_from == StartFrom::Aged {
            lines.push(
                "assay measured this test on data that writes had changed before; the script measures it on rows that \
                 were just loaded.",
            );
        }
    }
    match tool {
        ReproTool::Client(client) => {
            lines.push(
                "The statements are those that assay sent, with the same values, as text: not prepared.",
            );
            if client.without_pauses {
                lines.push("Pauses between statements are left out.");
            }
            if client.keeps {
                lines.push(
                    "Where a statement uses what an earlier one returned, the client keeps that in a variable, with \
                     `LIMIT 1` where the statement has no limit.",
                );
            }
        }
        ReproTool::Pgbench(scripts) => {
            if scripts.protocol == "simple" {
                lines.push("pgbench sends the statements as text: it cannot prepare these.");
            }
            if finding.cell.setup.tables > 1 {
                lines.push("All statements of a transaction use the same table.");
            }
        }
        ReproTool::Shipped { .. } | ReproTool::Script(_) => {}
    }
    format!("## How the script differs from assay\n\n- {}\n\n", lines.join("\n- "))
}

fn contents(finding: &Finding<'_>, tool: &ReproTool) -> String {
    let mut text = "## Files\n\n".to_owned();
    let mut file = |name: &str, what: &str| {
        let _ = writeln!(text, "- `{name}`: {what}");
    };
    file("run.sh", "starts, loads, measures, prints the ratio");
    for ((side, system), starts) in finding.sides().into_iter().zip(run::starts(finding)) {
        if starts {
            file(&config::name(side, system), "the options that assay started the server with");
        }
    }
    file("schema.sql", "the tables (`schema-base.sql` and `schema-other.sql` where they differ)");
    file("data.sql", "the rows, the indexes and their statistics");
    file("statements.sql", "the statements of one event, to be read");
    match tool {
        ReproTool::Client(_) => file("statements/", "what each client sends in each turn"),
        ReproTool::Pgbench(_) => file("test-1.sql", "the script of pgbench, one for each table"),
        ReproTool::Script(_) => file("test.lua", "the script of sysbench"),
        ReproTool::Shipped { .. } => {}
    }
    text
}
