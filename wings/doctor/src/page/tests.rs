//! The page of a machine.

use assay_model::*;
use assay_report::{Format, TextOptions};

use super::*;

const OPTIONS: TextOptions = TextOptions { width: 100, color: false, verbose: true };

fn noise() -> Noise {
    let lags = [(2.0, 0.84), (10.0, 0.73), (50.0, 0.43), (1000.0, -0.09)];
    let turns = [(1.0, 0.0041), (5.0, 0.0119), (50.0, 0.0475)];
    Noise {
        seconds: 20.0,
        correlations: lags.map(|(lag_ms, value)| Correlation { lag_ms, value }).to_vec(),
        turns: turns.map(|(turn_ms, error)| TurnError { turn_ms, error }).to_vec(),
        asked_ms: 1.0,
    }
}

fn quiet() -> Examination {
    Examination {
        cpus: CpuFacts { allowed: 2, smt: Some(false), numa_nodes: Some(1), ..CpuFacts::default() },
        load: LoadFacts {
            seconds: 22.0,
            steal_cpus: Some(0.004),
            other_cpus: Some(0.01),
            busiest: Vec::new(),
        },
        memory: MemoryFacts {
            available_kb: Some(22 << 20),
            huge_pages: Some("madvise".into()),
            swap_kb: Some(0),
            swap_used_kb: Some(0),
            swappiness: Some(60),
        },
        delays: Delays {
            clock: Some("kvm-clock".into()),
            clock_read_ns: 31.0,
            sleep_late_us: Some(Quantiles { median: 68.0, p99: 140.0 }),
            timer_slack_ns: Some(50_000),
            wake_one_cpu_us: Some(3.1),
            wake_two_cpus_us: Some(21.4),
            flush_us: Some(Quantiles { median: 420.0, p99: 1900.0 }),
        },
        noise: Some(noise()),
        noise_realtime: None,
    }
}

/// The same machine in use by others, with other settings.
fn busy() -> Examination {
    let mut busy = quiet();
    let process = |name: &str, cpu_percent| BusyProcess { name: name.into(), pid: 7, cpu_percent };
    busy.load.other_cpus = Some(1.31);
    busy.load.busiest = vec![process("rustc", 97), process("\u{1b}[2Jbackup", 34)];
    busy.load.steal_cpus = Some(0.05);
    busy.cpus.quota = Some(0.5);
    busy.cpus.governor = Some("powersave".into());
    busy.cpus.turbo = Some(true);
    busy.cpus.numa_nodes = Some(2);
    busy.memory.huge_pages = Some("always".into());
    busy.memory.swap_kb = Some(2 << 20);
    busy.delays.clock_read_ns = 900.0;
    busy
}

fn host(doctor: Examination) -> Host {
    let (cpu, kernel) = ("Example CPU".into(), "6.1.0".into());
    let host = Host { cpu, kernel, cpus: 2, memory_kb: 24 << 20, ..Host::default() };
    Host { hypervisor: Some("KVM".into()), doctor: Some(doctor), ..host }
}

fn prospects() -> [Prospect; 2] {
    let quick = Prospect {
        preset: Preset::Quick,
        seconds: 600.0,
        reads: Some(0.0231),
        writes: Some(0.047),
        several: None,
    };
    let standard = Prospect {
        preset: Preset::Standard,
        seconds: 3600.0,
        several: Some(0.104),
        reads: Some(0.021),
        ..quick
    };
    [quick, standard]
}

fn needed() -> [NeededTime; 2] {
    let one = NeededTime { change: 0.01, threshold: 0.005, time: Some((3125.0, 11)), blocks: 6 };
    [one, NeededTime { change: 0.001, threshold: 0.0005, time: None, blocks: 6 }]
}

#[test]
fn a_quiet_machine_is_fit() {
    let host = host(quiet());
    let (prospects, needed) = (prospects(), needed());
    let diagnosis = Diagnosis { host: &host, prospects: &prospects, needed: &needed };
    insta::assert_snapshot!(doctor(diagnosis).render(Format::TEXT, &OPTIONS).unwrap());
}

#[test]
fn a_busy_machine_is_not_and_every_harm_has_advice() {
    let host = host(busy());
    let diagnosis = Diagnosis { host: &host, prospects: &prospects(), needed: &[] };
    let text = doctor(diagnosis).render(Format::TEXT, &OPTIONS).unwrap();
    insta::assert_snapshot!(text);
    let json: serde_json::Value =
        serde_json::from_str(&doctor(diagnosis).render(Format::JSON, &OPTIONS).unwrap()).unwrap();
    assert_eq!((&json["schema"], &json["fit"]), (&1.into(), &false.into()));
    for fact in json["facts"].as_array().unwrap() {
        assert_eq!(fact["judgement"] == "fine", fact["advice"].is_null(), "{fact}");
    }
    assert_eq!(json["host"]["doctor"]["load"]["busiest"][0]["cpu_percent"], 97);
}

/// Servers run before other programs, so the noise of studies is judged.
#[test]
fn a_busy_machine_that_permits_real_time_priority_is_fit() {
    let mut busy = quiet();
    busy.load.other_cpus = Some(1.9);
    let noisy = |error| {
        let turns = noise().turns.into_iter().map(|turn| TurnError { error, ..turn }).collect();
        Noise { turns, ..noise() }
    };
    (busy.noise, busy.noise_realtime) = (Some(noisy(0.3)), None);
    let shown = |realtime, busy: &Examination| {
        let host = Host { realtime, ..host(busy.clone()) };
        let diagnosis = Diagnosis { host: &host, prospects: &prospects(), needed: &[] };
        doctor(diagnosis).render(Format::TEXT, &OPTIONS).unwrap()
    };
    let unfit = "This machine is not fit to measure at the moment: other load, noise.";
    let forbidden = shown(Some(RealtimeAccess::Limit), &busy);
    assert!(forbidden.contains(unfit), "{forbidden}");
    let grant = "! real-time priority: studies then measure undisturbed by other programs: \
                 `sudo prlimit --pid $$ --rtprio=2` permits it in this shell";
    assert!(forbidden.replace("\n    ", " ").contains(grant), "{forbidden}");
    busy.noise_realtime = Some(noise());
    let permitted = shown(Some(RealtimeAccess::Permitted), &busy);
    assert!(permitted.contains("This machine can measure; one thing is worth"), "{permitted}");
    assert!(permitted.contains("noise at real-time priority"), "{permitted}");
    assert!(permitted.contains("permitted; studies use it"), "{permitted}");
    busy.cpus.allowed = 1;
    assert!(shown(Some(RealtimeAccess::Permitted), &busy).contains("not fit"), "{permitted}");
}
