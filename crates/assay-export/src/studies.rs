//! Studies, their systems, and the settings of these.

use assay_model::{Product, StudyRecord};

use crate::exported::Exported;
use crate::table::Kind::{Boolean, Integer, Moment, Real, Text};
use crate::table::{Column, Table, Value, column};

/// The name of a system.
pub(crate) fn system(record: &StudyRecord, index: usize) -> Value {
    record.systems.get(index).map(|system| system.name.as_str()).into()
}

const STUDIES: &[Column] = &[
    column("study", Text, "name of the study"),
    column("started", Moment, "when it began; null for published results"),
    column("finished", Boolean, "whether it ran to its end"),
    column("preset", Text, "level of effort"),
    column(
        "experiment",
        Text,
        "order in which systems take turns: interleaved, sequential, stepwise",
    ),
    column("workload", Text, "name of the user's workload; null for tests that assay defines"),
    column(
        "seed",
        Text,
        "seed of all random choices, an unsigned integer of 64 bits; null for published results",
    ),
    column("threshold", Real, "smallest relative change of practical interest, such as 0.02"),
    column("budget_s", Real, "time that it may take, seconds; null for published results"),
    column("elapsed_s", Real, "time that it took, seconds; null for published results"),
    column("systems", Integer, "number of systems"),
    column("cells", Integer, "number of cells: tests under a setup"),
    column("slices", Integer, "number of slices, whatever their outcome"),
    column("assay_version", Text, "version of assay that planned it"),
    column("judged_by", Text, "version of assay that computed the verdicts of this export"),
    column(
        "workload_version",
        Integer,
        "version of the workload definition; null for published results",
    ),
    column("cpu", Text, "processor model; null if the machine is unknown"),
    column("cpus", Integer, "online CPUs; null if the machine is unknown"),
    column("memory_kb", Integer, "memory, KiB; null if the machine is unknown"),
    column("kernel", Text, "kernel release; null if the machine is unknown"),
    column("os", Text, "distribution; null if the machine is unknown"),
    column("hypervisor", Text, "hypervisor; null if there is none or it is unknown"),
    column("filesystem", Text, "type of the file system with the data; null if unknown"),
];

pub(crate) fn studies(studies: &[Exported]) -> Table {
    let row = |it: &Exported| {
        let (record, study, host) = (&it.record, &it.record.study, it.record.host());
        let measured = !record.is_reported();
        let known = |text: &str| Value::from(Some(text).filter(|it| !it.is_empty()));
        vec![
            study.id.as_str().into(),
            record.began_ms().into(),
            record.finished.into(),
            study.preset.word().into(),
            study.experiment.word().into(),
            study.workload().into(),
            measured.then(|| study.seed.to_string()).into(),
            study.threshold.into(),
            measured.then(|| record.budget_s()).into(),
            record.spent_s().into(),
            record.systems.len().into(),
            study.cells.len().into(),
            record.slices.len().into(),
            study.assay_version.as_str().into(),
            env!("CARGO_PKG_VERSION").into(),
            measured.then_some(study.workload_version).into(),
            known(&host.cpu),
            Some(host.cpus).filter(|it| *it > 0).into(),
            Some(host.memory_kb).filter(|it| *it > 0).into(),
            known(&host.kernel),
            known(&host.os),
            host.hypervisor.as_deref().into(),
            known(&host.filesystem),
        ]
    };
    let rows = studies.iter().map(row).collect();
    Table { name: "studies", about: "One row for each study.", columns: STUDIES.into(), rows }
}

const SYSTEMS: &[Column] = &[
    column("study", Text, "name of the study"),
    column("number", Integer, "place of the system in the study, from 0"),
    column("system", Text, "name of the system"),
    column("is_base", Boolean, "whether the others are compared with it"),
    column("is_twin", Boolean, "whether it is the base a second time"),
    column("product", Text, "mariadb, mysql or postgres; null if a report does not tell it"),
    column("version", Text, "version of the server"),
    column("engine", Text, "storage engine; null if the product is not known"),
    column("source", Text, "kind of source, such as apt, running or reported"),
    column("build", Text, "version of the package"),
    column("sha256", Text, "checksum of the binaries; null if they are unknown"),
];

pub(crate) fn systems(studies: &[Exported]) -> Table {
    let rows = studies.iter().flat_map(|it| {
        it.record.systems.iter().enumerate().map(|(number, system)| {
            vec![
                it.record.study.id.as_str().into(),
                number.into(),
                system.name.as_str().into(),
                system.is_base.into(),
                system.is_twin.into(),
                system.artifact.product().map(Product::word).into(),
                system.artifact.version().into(),
                system.artifact.product().map(|_| system.spec.engine.word()).into(),
                system.artifact.source().into(),
                system.artifact.package_version().into(),
                system.artifact.sha256().into(),
            ]
        })
    });
    let about = "One row for each system of a study.";
    Table { name: "systems", about, columns: SYSTEMS.into(), rows: rows.collect() }
}

const SETTINGS: &[Column] = &[
    column("study", Text, "name of the study"),
    column("system", Text, "name of the system"),
    column("name", Text, "name of the setting"),
    column("value", Text, "its value as the server reports it"),
];

pub(crate) fn settings(studies: &[Exported]) -> Table {
    let rows = studies.iter().flat_map(|it| {
        it.settings.iter().enumerate().flat_map(move |(number, settings)| {
            settings.iter().map(move |(name, value)| {
                let study = it.record.study.id.as_str();
                vec![
                    study.into(),
                    system(&it.record, number),
                    name.as_str().into(),
                    value.as_str().into(),
                ]
            })
        })
    });
    let about = "One row for each effective setting of an audited system.";
    Table { name: "settings", about, columns: SETTINGS.into(), rows: rows.collect() }
}
