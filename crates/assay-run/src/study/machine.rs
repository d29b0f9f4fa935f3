//! Checks that a study is resumed on its original machine: slices of two machines are no pairs.

use assay_model::{EventKind, Hint, Host, MachineFact, StudyRecord};

/// Relative deviation of memory on one machine: its kernel reserves more or less of it.
const MEMORY_SHARE: f64 = 0.05;

#[derive(Debug, thiserror::Error)]
#[error("study `{study}` was started on another machine, which has {there}; this one has {here}")]
pub struct OtherMachine {
    study: String,
    there: String,
    here: String,
}

impl Hint for OtherMachine {
    fn hints(&self) -> Vec<String> {
        vec!["resume it on that machine, or start a new study here".to_owned()]
    }
}

pub(crate) fn changes(record: &StudyRecord, here: &Host) -> Result<Vec<EventKind>, OtherMachine> {
    let began = record.host();
    let other = |there, here| OtherMachine { study: record.study.id.clone(), there, here };
    if began.cpu != here.cpu {
        return Err(other(format!("`{}`", began.cpu), format!("`{}`", here.cpu)));
    }
    if began.cpus != here.cpus {
        return Err(other(format!("{} CPUs", began.cpus), format!("{} CPUs", here.cpus)));
    }
    let (there_kb, here_kb) = (began.memory_kb as f64, here.memory_kb as f64);
    if (there_kb - here_kb).abs() > MEMORY_SHARE * there_kb {
        let memory = |kb: f64| format!("{:.1} GiB of memory", kb / f64::from(1 << 20));
        return Err(other(memory(there_kb), memory(here_kb)));
    }
    let hypervisor = |host: &Host| host.hypervisor.clone().unwrap_or_else(|| "none".to_owned());
    let weight =
        |host: &Host| host.cpu_weight.map_or_else(|| "usual".to_owned(), |it| it.to_string());
    let changes = [
        (MachineFact::Kernel, began.kernel.clone(), here.kernel.clone()),
        (MachineFact::System, began.os.clone(), here.os.clone()),
        (MachineFact::Hypervisor, hypervisor(began), hypervisor(here)),
        (MachineFact::FileSystem, began.filesystem.clone(), here.filesystem.clone()),
        (MachineFact::CpuWeight, weight(began), weight(here)),
    ];
    let changed = changes.into_iter().filter(|(_, then, now)| then != now);
    Ok(changed.map(|(fact, then, now)| EventKind::MachineChanged { fact, now, then }).collect())
}
