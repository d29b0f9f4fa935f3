//! Whether a study is resumed on the machine that it was begun on: slices of two machines are no pairs.

use assay_model::{EventKind, Hint, Host, MachineFact, StudyRecord};

/// Memory of one machine differs by this share at most, as its kernel keeps more or less of it for itself.
const MEMORY_SHARE: f64 = 0.05;

/// A study is not resumed where its measurements would be of another machine.
#[derive(Debug, thiserror::Error)]
#[error("study `{study}` was started on another machine, which has {there}; this one has {here}")]
pub(crate) struct OtherMachine {
    study: String,
    /// The first thing that differs, as it was.
    there: String,
    /// The same as it is now.
    here: String,
}

impl Hint for OtherMachine {
    fn hints(&self) -> Vec<String> {
        vec!["resume it on that machine, or start a new study here".to_owned()]
    }
}

/// The facts about the machine that have changed since the study began.
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
    let changes = [
        (MachineFact::Kernel, began.kernel.clone(), here.kernel.clone()),
        (MachineFact::System, began.os.clone(), here.os.clone()),
        (MachineFact::Hypervisor, hypervisor(began), hypervisor(here)),
        (MachineFact::FileSystem, began.filesystem.clone(), here.filesystem.clone()),
    ];
    let changed = changes.into_iter().filter(|(_, then, now)| then != now);
    Ok(changed.map(|(fact, then, now)| EventKind::MachineChanged { fact, now, then }).collect())
}
