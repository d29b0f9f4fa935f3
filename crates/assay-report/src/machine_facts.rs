//! Facts about a machine, their harm to measurements, and advice, for its own page and for reports of studies.

use assay_model::{Examination, Host, Noise, Quantiles, RealtimeAccess, counted};
use serde::Serialize;

use crate::number::share;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Harm {
    Fine,
    /// Measurements would be better without it.
    Change,
    /// Measurements are hardly worthwhile with it.
    Spoils,
}

#[derive(Debug, Serialize)]
pub struct Fact {
    pub fact: &'static str,
    pub found: String,
    #[serde(rename = "judgement")]
    pub harm: Harm,
    /// One sentence; `None` if there is nothing to do.
    pub advice: Option<String>,
}

impl Fact {
    fn fine(fact: &'static str, found: impl Into<String>) -> Self {
        Self { fact, found: found.into(), harm: Harm::Fine, advice: None }
    }

    fn harms(self, harm: Harm, advice: impl Into<String>) -> Self {
        match harm {
            Harm::Fine => self,
            _ => Self { harm, advice: Some(advice.into()), ..self },
        }
    }
}

pub fn facts(host: &Host, examination: &Examination) -> Vec<Fact> {
    let groups = [
        vec![machine(host)],
        cpus(host, examination),
        load(host, examination),
        realtime(host, examination),
        frequency(examination),
        memory(host, examination),
        delays(examination),
    ];
    groups.into_iter().flatten().chain(noises(host, examination)).collect()
}

/// Whether studies run before all other processes, which then do not disturb them.
fn is_realtime(host: &Host, examination: &Examination) -> bool {
    host.realtime == Some(RealtimeAccess::Permitted) && examination.cpus.allowed > 1
}

/// Whether real-time priority is permitted, and the line that permits it. It is worth a change if others use the CPUs.
fn realtime(host: &Host, examination: &Examination) -> Vec<Fact> {
    const NAME: &str = "real-time priority";
    let Some(access) = host.realtime else { return Vec::new() };
    let others = examination.load.other_cpus.unwrap_or(0.0);
    let fact = match access.grant() {
        _ if examination.cpus.allowed < 2 => {
            Fact::fine(NAME, "needs a second CPU for other programs")
        }
        None => Fact::fine(NAME, "permitted; studies use it"),
        Some(grant) => {
            let advice = format!("studies then measure undisturbed by other programs: {grant}");
            let harm = by_amount(others, OTHERS).min(Harm::Change);
            Fact::fine(NAME, format!("not permitted; {grant}")).harms(harm, advice)
        }
    };
    vec![fact]
}

/// For the report of a study: the noise of the machine, and the changes worth making.
pub(crate) fn state(host: &Host, examination: &Examination) -> Vec<String> {
    let facts = facts(host, examination);
    let noise = facts.iter().find(|fact| fact.fact.starts_with(NOISE));
    let noise = noise.map(|fact| format!("{} before the study: {}", fact.fact, fact.found));
    let is_noise = |fact: &Fact| fact.fact.starts_with(NOISE);
    let harmful = facts.iter().filter(|fact| fact.harm != Harm::Fine && !is_noise(fact));
    let harmful: Vec<String> =
        harmful.map(|fact| format!("{} ({})", fact.fact, fact.found)).collect();
    let harmful = (!harmful.is_empty())
        .then(|| format!("worth changing: {}; `assay doctor` says how", harmful.join("; ")));
    noise.into_iter().chain(harmful).collect()
}

fn machine(host: &Host) -> Fact {
    Fact::fine(
        "machine",
        match &host.hypervisor {
            Some(hypervisor) => format!("virtual ({hypervisor}), {}", host.cpu),
            None => format!("physical, {}", host.cpu),
        },
    )
}

fn if_so(is_so: bool, harm: Harm) -> Harm {
    if is_so { harm } else { Harm::Fine }
}

fn cpus(host: &Host, examination: &Examination) -> Vec<Fact> {
    let cpus = &examination.cpus;
    let allowed = cpus.allowed;
    let mut facts = vec![
        Fact::fine("CPUs", format!("{allowed} of {} may be used", host.cpus)).harms(
            if_so(allowed < 2, Harm::Change),
            "use a machine with at least two CPUs: the server's background threads need one of their own",
        ),
    ];
    if let Some(quota) = cpus.quota {
        let found = format!("{quota:.1} CPUs granted by a control group");
        facts.push(Fact::fine("CPU quota", found).harms(
            if_so(quota < f64::from(allowed), Harm::Spoils),
            "remove the limit (a container without `--cpus`, a service without `CPUQuota=`): whoever has used up the \
             quota stands still for tens of milliseconds; `--cpuset-cpus` limits CPUs without such pauses",
        ));
    }
    if let Some(smt) = cpus.smt {
        facts.push(Fact::fine("SMT", on_off(smt)));
    }
    if let Some(nodes) = cpus.numa_nodes {
        facts.push(Fact::fine("NUMA", counted(u64::from(nodes), "node")).harms(
            if_so(nodes > 1, Harm::Change),
            "run assay on one node, whose memory is equally near to all its CPUs: `numactl --cpunodebind=0 \
             --membind=0 assay ...`",
        ));
    }
    facts
}

fn on_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// Shares of a CPU: slices with more steal, or more use by others, are in trouble.
const STEAL: [f64; 2] = [0.02, 0.1];
const OTHERS: [f64; 2] = [0.05, 0.2];

/// Limits: where the amount begins to matter, and where it spoils measurements.
fn by_amount(amount: f64, [some, much]: [f64; 2]) -> Harm {
    match amount {
        amount if amount >= much => Harm::Spoils,
        amount if amount >= some => Harm::Change,
        _ => Harm::Fine,
    }
}

fn load(host: &Host, examination: &Examination) -> Vec<Fact> {
    let load = &examination.load;
    let mut facts = Vec::new();
    if let Some(steal) = load.steal_cpus {
        facts.push(Fact::fine("steal", format!("{} of a CPU", rounded_share(steal))).harms(
            by_amount(steal, STEAL),
            "measure at a quieter hour or on a machine with dedicated CPUs: the hypervisor gives this machine's CPU \
             time to others",
        ));
    }
    if let Some(others) = load.other_cpus {
        let busiest = load.busiest.iter().map(|it| format!("{} {}%", it.name, it.cpu_percent));
        let busiest: Vec<String> = busiest.collect();
        let found = format!("{} of a CPU", rounded_share(others));
        let (found, stop) = if busiest.is_empty() {
            (found, "other processes or containers".to_owned())
        } else {
            (format!("{found}: {}", busiest.join(", ")), busiest.join(", "))
        };
        // Real-time threads run before others, which still share caches and memory with them.
        let harm = match by_amount(others, OTHERS) {
            Harm::Spoils if is_realtime(host, examination) => Harm::Change,
            harm => harm,
        };
        facts.push(
            Fact::fine("other load", found)
                .harms(harm, format!("stop what else uses the CPU: {stop}")),
        );
    }
    facts
}

fn rounded_share(cpus: f64) -> String {
    let digits = if cpus < 0.095 { 1000.0 } else { 100.0 };
    share((digits * cpus).round() / digits)
}

fn frequency(examination: &Examination) -> Vec<Fact> {
    let cpus = &examination.cpus;
    let governor = cpus.governor.as_ref().map(|governor| {
        Fact::fine("frequency governor", governor.as_str()).harms(
            if_so(governor != "performance", Harm::Change),
            "keep the frequency constant: `sudo cpupower frequency-set -g performance`",
        )
    });
    let turbo = cpus.turbo.map(|turbo| {
        Fact::fine("turbo", on_off(turbo)).harms(
            if_so(turbo, Harm::Change),
            "switch it off, because the speed then depends on heat and on how many CPUs are busy: `echo 1 | sudo tee \
             /sys/devices/system/cpu/intel_pstate/no_turbo` (Intel) or `echo 0 | sudo tee \
             /sys/devices/system/cpu/cpufreq/boost`",
        )
    });
    governor.into_iter().chain(turbo).collect()
}

/// Memory that should be free, KiB.
const FREE_KB: u64 = 1 << 20;

/// Used swap that matters, KiB.
const SWAPPED_KB: u64 = 64 << 10;

/// Above it, the kernel swaps out memory of servers to keep files in memory.
const SWAPPINESS: u32 = 10;

fn memory(host: &Host, examination: &Examination) -> Vec<Fact> {
    let memory = &examination.memory;
    let gib = |kb: u64| format!("{:.1} GiB", kb as f64 / f64::from(1 << 20));
    let mut facts = Vec::new();
    if let Some(available) = memory.available_kb {
        let found = format!("{} of {} free", gib(available), gib(host.memory_kb));
        facts.push(Fact::fine("memory", found).harms(
            if_so(available < FREE_KB, Harm::Change),
            "end programs that use memory: each server of a study needs some hundred MiB",
        ));
    }
    if let Some(mode) = &memory.huge_pages {
        facts.push(Fact::fine("transparent huge pages", mode.as_str()).harms(
            if_so(mode == "always", Harm::Change),
            "let programs choose, because the kernel gives them to one server and not to its twin: `echo madvise | \
             sudo tee /sys/kernel/mm/transparent_hugepage/enabled`",
        ));
    }
    facts.extend(memory.swap_kb.map(|swap| match (swap, memory.swap_used_kb.unwrap_or(0)) {
        (0, _) => Fact::fine("swap", "none"),
        (_, used) if used > SWAPPED_KB => {
            let found = format!("{} of {} used", gib(used), gib(swap));
            let advice = "bring memory back while nothing is measured, if enough is free: `sudo swapoff -a && sudo \
                          swapon -a`";
            Fact::fine("swap", found).harms(Harm::Change, advice)
        }
        _ => {
            let swappiness = memory.swappiness.unwrap_or(0);
            let found = format!("{}, unused; swappiness {swappiness}", gib(swap));
            Fact::fine("swap", found).harms(
                if_so(swappiness > SWAPPINESS, Harm::Change),
                "keep servers in memory: `sudo sysctl vm.swappiness=1`",
            )
        }
    }));
    facts
}

/// Nanoseconds of a clock that needs a system call or slow hardware.
const SLOW_CLOCK_NS: f64 = 200.0;

/// Microseconds after which a sleep is late.
const LATE_US: f64 = 1000.0;

/// Microseconds of a slow flush: median, and 99th percentile.
const SLOW_FLUSH_US: f64 = 20_000.0;
const SLOWEST_FLUSH_US: f64 = 200_000.0;

fn delays(examination: &Examination) -> Vec<Fact> {
    let delays = &examination.delays;
    let mut facts = Vec::new();
    if let Some(flush) = delays.flush_us {
        let found = format!("{}; studies wait for it only with full durability", spread(flush));
        facts.push(Fact::fine("disk flush", found).harms(
            if_so(flush.median > SLOW_FLUSH_US || flush.p99 > SLOWEST_FLUSH_US, Harm::Change),
            "stop what else writes to the disk, or choose another one with `--cache-dir` or `ASSAY_CACHE`",
        ));
    }
    let clock = delays.clock.as_deref().unwrap_or("unknown source");
    facts.push(
        Fact::fine("clock", format!("{clock}, {:.0} ns a reading", delays.clock_read_ns)).harms(
            if_so(delays.clock_read_ns > SLOW_CLOCK_NS, Harm::Change),
            "choose a faster source if `/sys/devices/system/clocksource/clocksource0/available_clocksource` has \
             one: `echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource`",
        ),
    );
    let wake = [(delays.wake_one_cpu_us, "on one CPU"), (delays.wake_two_cpus_us, "on two")];
    let wake = wake.into_iter().filter_map(|(us, on)| Some(format!("{:.1} µs {on}", us?)));
    let wake: Vec<String> = wake.collect();
    if !wake.is_empty() {
        let why = if wake.len() > 1 { "; so one client and its server share a CPU" } else { "" };
        facts.push(Fact::fine("waking a thread", format!("{}{why}", wake.join(", "))));
    }
    if let Some(late) = delays.sleep_late_us {
        let slack = delays.timer_slack_ns;
        let slack = slack.map(|ns| format!(", timer slack {:.0} µs", ns as f64 / 1e3));
        let found = format!("{}{}", spread(late), slack.unwrap_or_default());
        facts.push(Fact::fine("sleep ends late", found).harms(
            if_so(late.median > LATE_US, Harm::Change),
            "do not use `assay bench --rate` here: its events would start late",
        ));
    }
    facts
}

/// `median 0.41 ms, 99% within 1.2 ms`.
fn spread(Quantiles { median, p99 }: Quantiles) -> String {
    let shown = |us: f64| match us {
        us if us < 1000.0 => format!("{us:.0} µs"),
        us => format!("{:.1} ms", us / 1e3),
    };
    format!("median {}, 99% within {}", shown(median), shown(p99))
}

/// The turn by which machines are judged, milliseconds: that of reads.
const JUDGED_MS: f64 = 2.0;

/// Standard error of a ratio in such turns after ten seconds: unusual, and hopeless.
const NOISY: [f64; 2] = [0.003, 0.01];

/// Seconds for which errors are shown.
pub const SHOWN_S: f64 = 10.0;

const NOISE: &str = "noise";

/// At each priority that was examined; that of studies is judged.
fn noises(host: &Host, examination: &Examination) -> impl Iterator<Item = Fact> {
    let Examination { noise, noise_realtime, .. } = examination;
    let normal = noise.as_ref().and_then(|it| self::noise(NOISE, it));
    let realtime = noise_realtime.as_ref().and_then(|it| self::noise(NOISE_REALTIME, it));
    let is_judged = !(is_realtime(host, examination) && realtime.is_some());
    let normal = normal.map(|fact| match is_judged {
        true => fact,
        false => Fact::fine(fact.fact, fact.found),
    });
    normal.into_iter().chain(realtime)
}

const NOISE_REALTIME: &str = "noise at real-time priority";

fn noise(name: &'static str, noise: &Noise) -> Option<Fact> {
    let distance = |turn_ms: f64| (turn_ms / JUDGED_MS).ln().abs();
    let by_distance = |it: &&assay_model::TurnError| distance(it.turn_ms);
    let near = noise.turns.iter().min_by(|a, b| by_distance(a).total_cmp(&by_distance(b)))?;
    let error = near.error / SHOWN_S.sqrt();
    let found =
        format!("±{} after {SHOWN_S} s in turns of {} ms", share(2.0 * error), near.turn_ms);
    Some(Fact::fine(name, found).harms(
        by_amount(error, NOISY),
        "measure when the machine is quieter: longer studies are needed to see the same change",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_cpu_read_well() {
        assert_eq!([0.0, 0.0042, 0.3, 1.237].map(rounded_share), ["0%", "0.4%", "30%", "124%"]);
    }

    #[test]
    fn amounts_are_judged_by_their_limits() {
        assert_eq!(by_amount(0.01, STEAL), Harm::Fine);
        assert_eq!(by_amount(0.02, STEAL), Harm::Change);
        assert_eq!(by_amount(0.5, STEAL), Harm::Spoils);
    }
}
