//! `--explain-terms`: finds the settings that made a change between two systems. A second study measures the changed
//! tests on the new system, with one differing setting at a time as on the old system, or as if it did not exist.

use std::collections::BTreeMap;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{
    AuditFinding, CellId, Class, Dialect, EventKind, NAME_LETTERS, Origin, SettingCause,
    SettingsTrial, StudyEvent, StudyRecord, SystemSpec, Test, Verdict, counted,
};
use assay_plan::{MachineFacts, Request, StudyPlan, SystemRequest};
use assay_run::systems::{Environment, LocalSite, participants};
use assay_run::{study, study_records};
use assay_servers::audit::{ServerSettings, value_without, variables_of};

const MOST: usize = 8;

const UNCHANGED: &str = "unchanged";

/// Percent of the change. A setting that undoes less is not named.
const LEAST: u32 = 10;

/// Settings that only make sense together, with equal values.
const TOGETHER: [[&str; 2]; 1] = [["character_set_server", "collation_server"]];

/// The setting with flags, each of which an audit treats as a setting.
const FLAGS: &str = "optimizer_switch";

#[derive(Debug, Clone, PartialEq, Eq)]
struct Reversal {
    options: Vec<(String, String)>,
}

impl Reversal {
    /// `sync_binlog=0`.
    fn words(&self) -> String {
        let words = self.options.iter().map(|(name, value)| format!("{name}={value}"));
        words.collect::<Vec<_>>().join("+")
    }

    /// Name of the system, in which `=` is not allowed.
    fn name(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let words = self.words();
        words.chars().map(|c| if is_plain(c) { c } else { '-' }).take(NAME_LETTERS).collect()
    }
}

struct ChangedSystem {
    system: usize,
    /// Ratio to the QPS of the base.
    cells: Vec<(CellId, f64)>,
}

pub(crate) struct FirstStudy<'a> {
    pub request: &'a Request,
    pub suite: &'a [Test],
    pub machine: MachineFacts,
}

struct FollowUp {
    plan: StudyPlan,
    tried: Vec<Reversal>,
    changed: ChangedSystem,
}

pub(crate) fn explain(
    record: &StudyRecord,
    asked: &FirstStudy<'_>,
    env: &Environment,
    ledger: &mut Ledger,
) -> Result<()> {
    let follow_up = match follow_up(record, asked, env, ledger)? {
        Ok(follow_up) => follow_up,
        Err(why) => {
            env.progress.note(&why);
            return Ok(());
        }
    };
    let id = &record.study.id;
    env.progress.note(&format!("study `{id}` is finished, and `assay report {id}` shows it"));
    env.progress.note(&follow_up.words());
    let FollowUp { plan, tried, changed } = follow_up;
    let second = study::run(plan, env, ledger).map_err(|stopped| stopped.error)?;
    env.progress.finish();
    let second = study_records::read(&Ledger::open_read_only(ledger.path())?, &second)?;
    // The first study took no longer because of the second one.
    let when_ms = record.runs.last().map_or(record.study.started_ms, |run| run.updated_ms);
    for found in found(&tried, &changed, &second) {
        let what = EventKind::SettingsTried(found);
        ledger.add_event(id, &StudyEvent { when_ms, system: Some(changed.system), what })?;
    }
    Ok(())
}

fn follow_up(
    record: &StudyRecord,
    asked: &FirstStudy<'_>,
    env: &Environment,
    ledger: &Ledger,
) -> Result<Result<FollowUp, String>> {
    let Some(changed) = most_changed(record) else {
        return Ok(Err("no test changed, so no setting is to blame".to_owned()));
    };
    let settings = ledger.settings(&record.study.id)?;
    let base = record.systems.iter().position(|it| it.is_base).unwrap_or(0);
    let settings = |system: usize| settings.get(system).cloned().unwrap_or_default();
    let (old, new) = (settings(base), settings(changed.system));
    let spec = &record.systems[changed.system].spec;
    let is_attached = matches!(spec.origin, Origin::Url(_));
    let (Some(wanted), false) = (asked.request.systems.get(changed.system), is_attached) else {
        return Ok(Err("a server that is running already keeps its settings".to_owned()));
    };
    let writes = changed.cells.iter().any(|(cell, _)| cell.test.class == Class::Write);
    let class = if writes { Class::Write } else { Class::Read };
    let able = record.audit.iter().filter(|it| assay_verdict::can_act(&it.setting, class));
    let all = candidates(able, &old, &new, spec);
    let (tried, left) = accepted(&all, wanted, asked, env)?;
    if tried.is_empty() {
        return Ok(Err("no setting differs that the new version takes".to_owned()));
    }
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|it| format!("`{}`", it.words())).collect();
        env.progress.note(&format!("not tried: {}", names.join(", ")));
    }
    let systems = systems(wanted, &tried);
    let mut tests: Vec<String> =
        changed.cells.iter().map(|(cell, _)| cell.test.name.clone()).collect();
    tests.sort_unstable();
    tests.dedup();
    let request = second(asked.request, systems, tests);
    let plan = assay_plan::plan_of(&request, asked.machine, asked.suite.to_vec())?;
    Ok(Ok(FollowUp { plan, tried, changed }))
}

/// The second request: the same work and terms for other systems, without the parts that only the first study needs.
fn second(request: &Request, systems: Vec<SystemRequest>, tests: Vec<String>) -> Request {
    Request { systems, tests, twin: Some(false), limits: None, ..request.clone().without_looks() }
}

/// Systems of the second study: the new one with its own settings, and once more for each that is set back.
fn systems(wanted: &SystemRequest, tried: &[Reversal]) -> Vec<SystemRequest> {
    let own = SystemRequest { name: Some(UNCHANGED.to_owned()), ..wanted.clone() };
    std::iter::once(own).chain(tried.iter().map(|it| with(wanted, it))).collect()
}

fn with(wanted: &SystemRequest, back: &Reversal) -> SystemRequest {
    let mut system = SystemRequest { name: Some(back.name()), ..wanted.clone() };
    system.options.extend(back.options.iter().cloned());
    system
}

fn most_changed(record: &StudyRecord) -> Option<ChangedSystem> {
    let mut by_system: BTreeMap<usize, Vec<(CellId, f64)>> = BTreeMap::new();
    for cell in assay_verdict::judge(record).cells {
        let system = &record.systems[cell.system];
        let is_other = !system.is_base && !system.is_twin;
        let is_changed = matches!(cell.verdict, Verdict::Slower | Verdict::Faster) && is_other;
        if let Some(rqps) = cell.rqps.filter(|it| is_changed && it.value > 0.0) {
            by_system.entry(cell.system).or_default().push((cell.cell, rqps.value));
        }
    }
    let most = by_system.into_iter().max_by_key(|(system, cells)| (cells.len(), *system));
    most.map(|(system, cells)| ChangedSystem { system, cells })
}

/// Settings that differ between two systems and can be set back, the most likely causes first: in the order of the
/// audit, but flags of the optimizer before other settings not known to matter.
fn candidates<'a>(
    audit: impl Iterator<Item = &'a AuditFinding>,
    old: &ServerSettings,
    new: &ServerSettings,
    spec: &SystemSpec,
) -> Vec<Reversal> {
    let mut found: Vec<Reversal> = Vec::new();
    let mut findings: Vec<&AuditFinding> = audit.collect();
    findings.sort_by_key(|it| {
        let is_flag = it.setting.starts_with(FLAGS);
        (
            it.class == assay_model::AuditClass::Harmless,
            !is_flag && variables_of(&it.setting) == [it.setting.as_str()],
        )
    });
    for finding in findings {
        let back = match finding.setting.strip_prefix(FLAGS).and_then(|it| it.strip_prefix('.')) {
            Some(flag) => flag_back(flag, old, new, spec),
            None => variables_of(&finding.setting)
                .into_iter()
                .find_map(|variable| variable_back(variable, old, new)),
        };
        found.extend(back.filter(|back| !found.contains(back)));
    }
    found
}

/// A variable as in the old system, with those that belong to it. If the old system lacks it, it gets the value that
/// acts as if the new one lacked it too.
fn variable_back(variable: &str, old: &ServerSettings, new: &ServerSettings) -> Option<Reversal> {
    let value = |name: &str| {
        let then = old.get(name).map(String::as_str).or_else(|| value_without(name))?;
        let now = new.get(name)?;
        let is_plain = !then.contains(['\n', '/']) && !then.is_empty() && !name.contains('.');
        (then != now && is_plain).then(|| (name.to_owned(), then.to_owned()))
    };
    let own = value(variable)?;
    let options = match TOGETHER.iter().find(|it| it.contains(&variable)) {
        Some(pair) => pair.iter().filter_map(|name| value(name)).collect(),
        None => vec![own],
    };
    Some(Reversal { options })
}

/// A flag of the optimizer as in the old system, with the other flags that the new system is started with.
fn flag_back(
    flag: &str,
    old: &ServerSettings,
    new: &ServerSettings,
    spec: &SystemSpec,
) -> Option<Reversal> {
    fn flags(text: &str) -> impl Iterator<Item = (&str, &str)> {
        text.split(',').filter_map(|it| it.trim().split_once('='))
    }
    let state = |settings: &ServerSettings| {
        let all = settings.get(FLAGS)?;
        flags(all).find(|it| it.0 == flag).map(|it| it.1.to_owned())
    };
    let (then, now) = (state(old)?, state(new)?);
    if then == now {
        return None;
    }
    let given = spec.overrides.iter().rev().find(|(name, _)| name.replace('-', "_") == FLAGS);
    let others = given.map(|(_, value)| flags(value)).into_iter().flatten();
    let others = others.filter(|it| it.0 != flag).map(|(name, value)| format!("{name}={value}"));
    let value: Vec<String> = std::iter::once(format!("{flag}={then}")).chain(others).collect();
    Some(Reversal { options: vec![(FLAGS.to_owned(), value.join(","))] })
}

fn accepted(
    all: &[Reversal],
    wanted: &SystemRequest,
    asked: &FirstStudy<'_>,
    env: &Environment,
) -> Result<(Vec<Reversal>, Vec<Reversal>)> {
    let planned = |systems| {
        let request = second(asked.request, systems, Vec::new());
        assay_plan::plan_of(&request, asked.machine, asked.suite.to_vec())
    };
    let participants = participants(&planned(vec![wanted.clone(), wanted.clone()])?, env)?;
    let prefix = participants[0].prefix()?;
    let site = LocalSite::new(env)?.site;
    let mut taken: Vec<Reversal> = Vec::new();
    for (number, back) in all.iter().enumerate() {
        if taken.len() == MOST {
            return Ok((taken, all[number..].to_vec()));
        }
        env.interrupt.check()?;
        // Users cannot set options that decide where a server is.
        if planned(vec![wanted.clone(), with(wanted, back)]).is_err() {
            continue;
        }
        let options: Vec<String> =
            back.options.iter().map(|it| option(it, prefix.product.dialect())).collect();
        if assay_servers::refused_options(&site, prefix, &options)?.is_empty() {
            taken.push(back.clone());
        }
    }
    Ok((taken, Vec::new()))
}

fn option((name, value): &(String, String), dialect: Dialect) -> String {
    match dialect {
        Dialect::MySql => format!("--{}={value}", name.replace('_', "-")),
        Dialect::Postgres => format!("--{name}={value}"),
    }
}

/// Share of a change that is gone with the setting set back: 1 is all of it.
fn share(change: f64, brought: f64) -> Option<f64> {
    let share = -brought.ln() / change.ln();
    share.is_finite().then_some(share)
}

fn found(tried: &[Reversal], changed: &ChangedSystem, second: &StudyRecord) -> Vec<SettingsTrial> {
    let judged = assay_verdict::judge(second);
    let of_cell = |(cell, change): &(CellId, f64)| {
        let of_setting = |(number, back): (usize, &Reversal)| {
            let is_it = |it: &&assay_verdict::CellJudgement| {
                it.system == number + 1
                    && (&it.cell.test.name, it.cell.setup) == (&cell.test.name, cell.setup)
            };
            let found = judged.cells.iter().find(is_it)?;
            let percent = match found.verdict {
                Verdict::Same => 0,
                Verdict::Slower | Verdict::Faster => {
                    (share(*change, found.rqps?.value)? * 100.0).round() as u32
                }
                _ => return None,
            };
            Some(SettingCause { options: back.words(), percent })
        };
        let mut causes: Vec<SettingCause> =
            tried.iter().enumerate().filter_map(of_setting).collect();
        let undecided = tried.len() - causes.len();
        causes.retain(|it| it.percent >= LEAST);
        causes.sort_by_key(|it| std::cmp::Reverse(it.percent));
        (undecided < tried.len()).then(|| SettingsTrial {
            test: cell.test.name.clone(),
            setup: cell.setup,
            is_slower: *change < 1.0,
            tried: u32::try_from(tried.len()).unwrap_or(u32::MAX),
            undecided: u32::try_from(undecided).unwrap_or(u32::MAX),
            causes,
            study: second.study.id.clone(),
        })
    };
    changed.cells.iter().filter_map(of_cell).collect()
}

impl FollowUp {
    fn words(&self) -> String {
        let settings = counted(self.tried.len() as u64, "setting");
        let tests = counted(self.changed.cells.len() as u64, "test");
        format!("a second study tries {settings} of the base in {tests} that changed")
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{AuditClass, Product};

    use super::*;

    fn settings(all: &[(&str, &str)]) -> ServerSettings {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn finding(setting: &str, class: AuditClass) -> AuditFinding {
        AuditFinding {
            setting: setting.to_owned(),
            values: Vec::new(),
            class,
            why: String::new(),
            is_asked: false,
            statements: Vec::new(),
        }
    }

    fn chosen(audit: &[AuditFinding], old: &ServerSettings, new: &ServerSettings) -> Vec<String> {
        let spec = SystemSpec {
            overrides: vec![("optimizer-switch".to_owned(), "mrr=on,semijoin=off".to_owned())],
            ..SystemSpec::new(Product::MySql, Origin::Version("8.4".to_owned()))
        };
        candidates(audit.iter(), old, new, &spec).iter().map(Reversal::words).collect()
    }

    #[test]
    fn settings_that_differ_are_set_back_the_likely_ones_first() {
        let old = settings(&[
            ("sync_binlog", "0"),
            ("optimizer_switch", "mrr=off,semijoin=on,x=on"),
            ("unknown", "1"),
            ("only_old", "1"),
            ("same", "1"),
            ("place", "/a"),
        ]);
        let new = settings(&[
            ("sync_binlog", "1"),
            ("optimizer_switch", "mrr=on,semijoin=off,x=on"),
            ("unknown", "2"),
            ("same", "1"),
            ("place", "/b"),
            ("innodb_parallel_read_threads", "4"),
            ("only_new", "4"),
        ]);
        use AuditClass::{Expected, Harmless};
        let audit = [
            finding("unknown", Harmless),
            finding("optimizer_switch.semijoin", Harmless),
            finding("sync_binlog", Expected),
            finding("only_old", Expected),
            finding("only_new", Harmless),
            finding("innodb_parallel_read_threads", Harmless),
            finding("same", Expected),
            finding("place", Harmless),
            finding("plan.test", Expected),
        ];
        // The other flag with which the system is started stays. A setting that the old system lacks acts like it.
        let expected = [
            "sync_binlog=0",
            "optimizer_switch=semijoin=on,mrr=on",
            "unknown=1",
            "innodb_parallel_read_threads=1",
        ];
        assert_eq!(chosen(&audit, &old, &new), expected);
    }

    #[test]
    fn a_character_set_comes_with_its_collation_once() {
        let old = settings(&[("character_set_server", "latin1"), ("collation_server", "latin1_x")]);
        let new = settings(&[("character_set_server", "utf8mb4"), ("collation_server", "utf8_x")]);
        let audit = ["character_set_server", "collation_server"]
            .map(|it| finding(it, AuditClass::Expected));
        let expected = ["character_set_server=latin1+collation_server=latin1_x"];
        assert_eq!(chosen(&audit, &old, &new), expected);
    }

    #[test]
    fn systems_of_the_second_study_have_short_names_that_users_may_give() {
        let option = |name: String| (name, "on".to_owned());
        let options: Vec<_> = (0..40).map(|it| option(format!("innodb_option_{it}"))).collect();
        let wanted = SystemRequest { options, ..SystemRequest::parse("new=mysql@8.4") };
        let flags: Vec<String> = (0..40).map(|it| format!("flag_{it}=on")).collect();
        let back = |name: &str, value: &str| Reversal {
            options: vec![(name.to_owned(), value.to_owned())],
        };
        let tried = [back("sync_binlog", "0"), back(FLAGS, &flags.join(","))];
        let request = Request {
            systems: systems(&wanted, &tried),
            ..Request::of_systems(&["mysql@8.4".to_owned()])
        };
        let machine =
            MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
        let plan = assay_plan::plan(&request, machine).unwrap();
        let names: Vec<&str> = plan.systems.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "unchanged",
                "sync_binlog-0",
                "optimizer_switch-flag_0-on-flag_1-on-flag_2-on-flag_3-on-fla"
            ]
        );
        // A name in a study file, with the same words.
        assert_eq!(
            assay_plan::read_study("", &assay_plan::write_study(&request)).unwrap(),
            request
        );
    }

    #[test]
    fn a_part_of_a_change_is_undone() {
        let near = |change: f64, brought: f64, expected: f64| {
            (share(change, brought).unwrap() - expected).abs() < 1e-9
        };
        assert!(near(0.25, 2.0, 0.5) && near(0.5, 2.0, 1.0) && near(2.0, 0.5, 1.0));
        assert!(near(0.5, 4.0, 2.0));
        assert_eq!(share(1.0, 2.0), None);
    }
}
