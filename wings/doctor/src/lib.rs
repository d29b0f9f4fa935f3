//! `assay doctor`: examines whether this machine is fit to measure, and how small a change it could show.

mod page;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use assay_command::args::ShapeArg;
use assay_command::exit::Exit;
use assay_command::number::parse_seconds;
use assay_command::report;
use assay_command::verb::{Arguments, CommandGroup};
use assay_doctor::Recording;
use assay_model::{Class, Host, Noise, PlannedCell, Preset, Priority, RealtimeAccess, Study};
use assay_plan::{MachineFacts, Needs, Request, StudyPlan};
use assay_run::examination::examine;
use assay_run::lock_note::LockNote;
use assay_run::machine_lock::MachineLock;
use assay_run::progress::Progress;
use assay_run::scheduler;
use assay_run::systems::environment;
use clap::Args;

use page::{Diagnosis, NeededTime, Prospect};

#[derive(Debug, Args)]
pub struct Doctor {
    /// Time to record the noise of the machine's speed, such as `10s`
    #[arg(long = "for", value_name = "TIME", default_value = "20s", value_parser = parse_recording)]
    pub seconds: f64,

    #[command(flatten)]
    pub shape: ShapeArg,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

/// Seconds. Each takes some tens of kilobytes.
fn parse_recording(text: &str) -> Result<f64, String> {
    let seconds = parse_seconds(text)?;
    if (1.0..=600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be between 1 second and 10 minutes".to_owned())
    }
}

impl Arguments for Doctor {
    const NAME: &'static str = "doctor";
    const ABOUT: &'static str =
        "Say whether this machine is fit to measure, and how small a change it could show";
    const GROUP: CommandGroup = CommandGroup::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let progress = Progress::new(self.quiet);
        let env = environment(cache_dir, true, false, &progress)?;
        let access = scheduler::realtime_access();
        let priorities = match access {
            RealtimeAccess::Permitted => [Priority::Normal, Priority::Realtime].as_slice(),
            _ => &[Priority::Normal],
        };
        // The noise recording and a study would disturb each other. The facts need no quiet machine.
        let note = || LockNote::now("assay doctor".to_owned(), Some(self.seconds));
        let lock = MachineLock::unless_held(note)?;
        let time = match &lock {
            Ok(_) => {
                progress.begin(&format!("measuring this machine for {:.0} s", self.seconds.ceil()));
                Duration::from_secs_f64(self.seconds / priorities.len() as f64)
            }
            Err(holder) => {
                progress.note(&format!(
                    "warning: another assay is measuring on this machine ({holder}): the noise of this machine is not \
                     measured, and that study adds to the delays; run this again once it has ended"
                ));
                Duration::ZERO
            }
        };
        let doctor = examine(&env.cache_dir, Recording { time, priorities }, &env.interrupt)?;
        env.interrupt.check()?;
        progress.finish();
        let cpus = doctor.cpus.allowed;
        // Studies use real-time priority where they may.
        let noise = doctor.noise_realtime.as_ref().filter(|_| cpus > 1).or(doctor.noise.as_ref());
        let (prospects, needed) = (prospects(cpus, noise)?, needed(cpus, noise)?);
        let realtime = Some(access);
        let host = Host { doctor: Some(doctor), realtime, ..assay_probe::host(&env.cache_dir)? };
        let diagnosis = Diagnosis { host: &host, prospects: &prospects, needed: &needed };
        report::put_page(&self.shape, &page::doctor(diagnosis))?;
        Ok(Exit::Done)
    }
}

const PRESETS: [Preset; 3] = [Preset::Smoke, Preset::Quick, Preset::Standard];

const CHANGES: [f64; 3] = [0.01, 0.02, 0.05];

/// Any two systems: the plan of a study does not depend on them.
const SYSTEMS: [&str; 2] = ["mariadb@10.11", "mariadb@11.8"];

fn planned(request: Request, cpus: u32) -> Result<StudyPlan> {
    let machine = MachineFacts { cpus, memory_mb: u64::MAX / 8, disk_mb: u64::MAX, realtime: None };
    Ok(assay_plan::plan(&request, machine)?)
}

fn request() -> Request {
    Request::of_systems(&SYSTEMS.map(str::to_owned))
}

fn needs(study: &Study) -> Needs {
    let threshold = assay_verdict::threshold(study);
    Needs {
        block_sd: assay_verdict::BLOCK_SD,
        last_level: assay_verdict::last_level(study.blocks),
        threshold,
        is_resumed: false,
    }
}

fn prospects(cpus: u32, noise: Option<&Noise>) -> Result<Vec<Prospect>> {
    let prospect = |preset| {
        let StudyPlan { systems, study, .. } = planned(Request { preset, ..request() }, cpus)?;
        let smallest = |is_meant: &dyn Fn(&PlannedCell) -> bool| {
            let (count, seconds) = (systems.len(), study.budget_s);
            assay_plan::smallest_change_in(&study, count, seconds, needs(&study), noise, is_meant)
        };
        let has_one_client = |cell: &PlannedCell| cell.id.setup.clients == 1;
        let of_class =
            |class| smallest(&|cell| has_one_client(cell) && cell.id.test.class == class);
        Ok(Prospect {
            preset,
            seconds: study.budget_s,
            reads: of_class(Class::Read),
            writes: of_class(Class::Write),
            several: smallest(&|cell| !has_one_client(cell)),
        })
    };
    PRESETS.into_iter().map(prospect).collect()
}

fn needed(cpus: u32, noise: Option<&Noise>) -> Result<Vec<NeededTime>> {
    let needed = |change: f64| {
        // Half of the change, so that it is not at the border of what counts.
        let threshold = change / 2.0;
        let request = Request { threshold: Some(threshold), ..request() };
        let StudyPlan { systems, study, .. } = planned(request, cpus)?;
        let time = assay_plan::needed(&study, systems.len(), change, needs(&study), noise);
        Ok(NeededTime { change, threshold, time, blocks: study.blocks })
    };
    CHANGES.into_iter().map(needed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_changes_need_less_time() {
        let list = needed(2, None).unwrap();
        let [one, two, five] = list.as_slice() else { panic!("{list:?}") };
        let seconds = |needed: &NeededTime| needed.time.unwrap().0;
        assert!(seconds(one) > seconds(two) && seconds(two) > seconds(five), "{list:?}");
    }

    #[test]
    fn longer_presets_detect_smaller_changes() {
        let list = prospects(2, None).unwrap();
        let reads: Vec<f64> = list.iter().map(|it| it.reads.unwrap()).collect();
        // Presets quick and standard both detect whatever exceeds the threshold; standard has more comparisons.
        assert!(reads[0] > 2.0 * reads[1] && reads[2] < 1.02 * reads[1], "{list:?}");
        assert!(list[2].several > list[2].reads && list[1].several.is_none(), "{list:?}");
    }
}
