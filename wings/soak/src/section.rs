//! Results of a soak, besides the verdicts of the short turns.

use assay_model::{Estimate, EventKind, StudyDocument as _, StudyRecord, Verdict, counted};
use assay_report::section::{
    AfterwardSection, JsonValue, JudgedStudy, NONE, Ratio, SectionChart, SectionContent, Shade,
    ShadedCell, ShadedRow, ShadedTable, Values, chart, duration, figure, thousands,
};
use assay_verdict::{CellJudgement, threshold};

use crate::LongerLooks;
use crate::judgement::{SOAK_STALL, SoakJudgement, SoakStalls, soak};
use crate::turns::Soak;

const COLUMNS_NARROW: usize = 3;

const NOTE: &str = "steady: the last third of the long turns, with 95% intervals over turns; decay: the steady rate \
    divided by that of the first turns, as many";

type JudgedSoak<'a> = (&'a CellJudgement, SoakJudgement);

impl AfterwardSection for LongerLooks {
    fn key(&self) -> &'static str {
        Soak::NAME
    }

    fn title(&self) -> &'static str {
        "a longer look"
    }

    fn content(&self, study: &JudgedStudy) -> Option<SectionContent> {
        let judged = study.judgement.cells.iter();
        let seen: Vec<JudgedSoak> =
            judged.filter_map(|judged| Some((judged, soak(study.record, judged)?))).collect();
        if seen.is_empty() {
            return None;
        }
        let contradictions =
            seen.iter().filter_map(|(judged, soak)| contradiction(study, judged, soak));
        Some(SectionContent {
            contradictions: contradictions.collect(),
            sentences: Vec::new(),
            findings: findings(study, &seen),
            tables: tables(study, &seen),
            notes: notes(study, &seen),
            charts: charts(study, &seen),
        })
    }

    fn value(&self, record: &StudyRecord, judged: &CellJudgement) -> Option<JsonValue> {
        let soak = soak(record, judged)?;
        let [turns, turns_planned] = soak.rounds;
        let series = soak.series.iter().map(|rate| rate.round().into()).collect();
        Some(JsonValue::Fields(vec![
            ("qps", soak.qps.into()),
            ("ratio", soak.ratio.into()),
            ("decay", soak.decay.into()),
            ("decay_ratio", soak.decay_ratio.into()),
            ("stalled_s", soak.stalls.map(|it| it.seconds).into()),
            ("longest_stall_s", soak.stalls.map(|it| it.longest_s).into()),
            ("agrees", soak.agrees.into()),
            ("events", soak.events.into()),
            ("seconds", soak.seconds.into()),
            ("turns", turns.into()),
            ("turns_planned", turns_planned.into()),
            ("instances", soak.instances.into()),
            ("series", JsonValue::List(series)),
        ]))
    }

    fn fields(&self) -> &'static [(&'static str, &'static str)] {
        FIELDS
    }
}

const FIELDS: &[(&str, &str)] = &[
    (
        "qps",
        "steady operations per second of a longer look, an interval; `soak` is present only after one",
    ),
    ("ratio", "the same divided by that of the base, an interval; null for the base"),
    (
        "decay",
        "the steady rate divided by that of the first turns, an interval; null with a single turn",
    ),
    ("decay_ratio", "the decay divided by that of the base; null for the base"),
    ("stalled_s", "seconds with next to no events; null where too few end in a second to tell"),
    ("longest_stall_s", "the longest run of these"),
    ("agrees", "whether `soak.ratio` agrees with `rqps`; null if one of them has no interval"),
    ("events", "events of all long turns"),
    ("seconds", "the time of all long turns"),
    ("turns", "long turns that were measured"),
    ("turns_planned", "long turns that were planned"),
    ("instances", "server processes; more than one after an interruption"),
    ("series[]", "operations of each second, turn after turn"),
];

fn contradiction(
    study: &JudgedStudy,
    judged: &CellJudgement,
    soak: &SoakJudgement,
) -> Option<String> {
    let (long, short) = soak.ratio.zip(judged.rqps).filter(|_| soak.agrees == Some(false))?;
    let [long, short] = [long, short].map(|it| Ratio(Some(it)).value_with_interval());
    Some(format!(
        "the longer look contradicts the short turns: {} of {} has a steady relative QPS of {long}, not {short}",
        study.cell_name(judged.cell),
        study.label(judged.system),
    ))
}

/// Systems that stand still for longer than the base, or slow down more.
fn findings(study: &JudgedStudy, seen: &[JudgedSoak]) -> Vec<String> {
    let of_base = |judged: &CellJudgement| {
        let place = (judged.cell, study.base);
        let base = seen.iter().find(|(other, _)| (other.cell, other.system) == place);
        base.and_then(|(_, soak)| soak.stalls).map_or(0, |stalls| stalls.seconds)
    };
    let least = 1.0 - threshold(&study.record.study);
    let others = seen.iter().filter(|(judged, _)| judged.system != study.base);
    let findings = others.flat_map(|(judged, soak)| {
        let name = format!("{} of {}", study.cell_name(judged.cell), study.label(judged.system));
        let base = of_base(judged);
        let stalls = soak.stalls.filter(|stalls| stalls.seconds > base);
        let stalls = stalls.map(|SoakStalls { seconds, longest_s }| {
            format!(
                "{name} stands still for {seconds} s of a longer look, up to {longest_s} s at a time; the base for \
                 {base} s"
            )
        });
        let decay = soak.decay_ratio.filter(|ratio| ratio.has_interval() && ratio.high < least);
        let decay = decay.map(|ratio| {
            let ratio = Ratio(Some(ratio)).value_with_interval();
            format!("{name} slows down in a longer look: decay against the base {ratio}")
        });
        stalls.into_iter().chain(decay)
    });
    findings.collect()
}

fn tables(study: &JudgedStudy, seen: &[JudgedSoak]) -> Vec<ShadedTable> {
    let columns = [
        "short turns",
        "steady",
        "agree",
        "steady QPS",
        "decay",
        "decay against the base",
        "stalled s",
        "longest stall",
        "events",
    ];
    let row = |(judged, soak): &JudgedSoak| {
        let is_base = judged.system == study.base;
        let ratio = |it| if is_base { "base".to_owned() } else { value_with_interval(it) };
        let shade = match soak.agrees {
            Some(false) => Shade::Low,
            _ => Shade::None,
        };
        let stalls = |count: fn(&SoakStalls) -> u32, unit: &str| {
            soak.stalls.map_or_else(|| NONE.to_owned(), |it| format!("{}{unit}", count(&it)))
        };
        let agree = match soak.agrees {
            Some(true) => "yes",
            Some(false) => "no",
            None => NONE,
        };
        let cells = [
            (ratio(judged.rqps), Shade::None),
            (ratio(soak.ratio), shade),
            (agree.to_owned(), shade),
            (rate(soak.qps), Shade::None),
            (value_with_interval(soak.decay), Shade::None),
            (
                if is_base { NONE.to_owned() } else { value_with_interval(soak.decay_ratio) },
                Shade::None,
            ),
            (stalls(|it| it.seconds, ""), Shade::None),
            (stalls(|it| it.longest_s, " s"), Shade::None),
            (thousands(soak.events as f64), Shade::None),
        ];
        let cells = cells.map(|(text, shade)| ShadedCell { text, shade }).to_vec();
        let name = format!("{}, {}", study.cell_name(judged.cell), study.label(judged.system));
        ShadedRow { name, cells }
    };
    let whole = ShadedTable {
        title: "a longer look".to_owned(),
        note: NOTE.to_owned(),
        corner: "test, system",
        columns: columns.map(str::to_owned).to_vec(),
        rows: seen.iter().map(row).collect(),
    };
    let narrowed = |keep: &[usize]| {
        let mut table = whole.clone();
        let chosen =
            |all: &[ShadedCell]| keep.iter().filter_map(|at| all.get(*at).cloned()).collect();
        table.columns = keep.iter().filter_map(|at| whole.columns.get(*at).cloned()).collect();
        table.rows.iter_mut().for_each(|row| row.cells = chosen(&row.cells));
        table
    };
    let (middle, narrow) = (narrowed(&[0, 1, 3, 5, 6]), narrowed(&[0, 1, 5][..COLUMNS_NARROW]));
    vec![whole, middle, narrow]
}

fn rate(qps: Estimate) -> String {
    let [value, low, high] = [qps.value, qps.low, qps.high].map(|it| figure(Some(it)));
    if qps.has_interval() { format!("{value} [{low}, {high}]") } else { value }
}

fn value_with_interval(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| NONE.to_owned(), |it| Ratio(Some(it)).value_with_interval())
}

fn notes(study: &JudgedStudy, seen: &[JudgedSoak]) -> Vec<String> {
    let mut notes = Vec::new();
    let longest = seen.iter().map(|(_, soak)| soak.seconds).fold(0.0, f64::max);
    let rounds = seen.iter().map(|(_, soak)| soak.rounds[0]).max().unwrap_or(0);
    notes.push(format!(
        "Each system ran for up to {} in {}, which alternated with those of the other systems. All began on fresh \
         instances. A second is stalled if fewer than {:.0}% of the events of the median second end in it.",
        duration(longest),
        counted(u64::from(rounds), "long turn"),
        100.0 * SOAK_STALL,
    ));
    let mut summary = Vec::new();
    for (judged, soak) in seen {
        let (test, [done, planned]) = (study.cell_name(judged.cell), soak.rounds);
        if done < planned {
            summary.push(format!("{test}: {done} of {planned} long turns were measured."));
        }
        if soak.instances > 1 {
            summary.push(format!(
                "{test}: after an interruption, fresh instances went on, without the history of the turns before."
            ));
        }
    }
    summary.dedup();
    notes.extend(summary);
    let events = study.record.events.iter();
    notes.extend(events.filter_map(|event| match &event.what {
        what @ EventKind::NotDone { afterward, .. } if afterward == Soak::NAME => {
            Some(format!("Not seen to the end: {what}."))
        }
        _ => None,
    }));
    let is_undecided =
        |it: &&JudgedSoak| it.0.system != study.base && it.0.verdict == Verdict::Undecided;
    if seen.iter().filter(|it| it.0.system != study.base).all(|it| is_undecided(&it)) {
        notes.push(
            "No change was decided: these are the tests that may have changed most.".to_owned(),
        );
    }
    notes
}

fn charts(study: &JudgedStudy, seen: &[JudgedSoak]) -> Vec<SectionChart> {
    let same = |one: &JudgedSoak, next: &JudgedSoak| one.0.cell == next.0.cell;
    let drawn = |of_test: &[JudgedSoak]| {
        let first = of_test.first()?;
        let values: Vec<Values> = of_test
            .iter()
            .map(|(judged, soak)| (judged.system, soak.series.iter().copied().map(Some).collect()))
            .collect();
        let seconds = values.iter().map(|(_, values)| values.len()).max()?;
        let caption = |top| format!("0 to {}, {seconds} s of each system", figure(Some(top)));
        let chart = chart("queries/s", &values, caption)?;
        let summary: Vec<String> = of_test
            .iter()
            .map(|(judged, soak)| {
                let decay = soak.decay.map_or_else(String::new, |it| {
                    format!(", {} of the rate at first", Ratio(Some(it)).value())
                });
                let rate = figure(Some(soak.qps.value));
                format!("{}: steady at {rate} queries/s{decay}", study.label(judged.system))
            })
            .collect();
        let test = study.cell_name(first.0.cell);
        Some(SectionChart { summary: summary.join("; "), test, chart })
    };
    seen.chunk_by(same).filter_map(drawn).collect()
}

#[cfg(test)]
mod tests {
    use assay_model::CellDocument;
    use assay_report::section::set_sections;
    use assay_report::{Format, TextOptions, render};

    use super::*;
    use crate::turns::SoakTurn;
    use crate::work::tests::ended_early;

    /// A study with four long turns of each system, in which the second one slows down in the end.
    fn record() -> StudyRecord {
        looked(|system, round| vec![if system == 1 && round > 1 { 100 } else { 1000 }; 2])
    }

    /// The events of each second by system and round.
    fn looked(seconds: impl Fn(usize, u32) -> Vec<u64>) -> StudyRecord {
        let mut record = ended_early(0.9);
        let cell = record.study.cells[0].id;
        let soak = |system: usize| {
            let turn = |round: u32| {
                let seconds = seconds(system, round);
                let events = seconds.iter().sum();
                let (instance, started_ms) = (0, 0);
                let elapsed_ms = 1000 * seconds.len() as u64;
                let ops = events as f64;
                SoakTurn { round, instance, started_ms, elapsed_ms, events, ops, seconds }
            };
            let soak = Soak { rounds: 4, turns: (0..4).map(turn).collect() };
            CellDocument::new(system, cell, &soak).unwrap()
        };
        record.documents = [soak(0), soak(1)].into_iter().collect();
        record
    }

    #[test]
    fn each_key_of_the_value_is_in_the_reference_in_the_same_order() {
        let record = record();
        let judged = assay_verdict::judge(&record);
        let Some(JsonValue::Fields(fields)) = LongerLooks.value(&record, &judged.cells[1]) else {
            panic!("no value");
        };
        let described = FIELDS.iter().map(|(name, _)| name.trim_end_matches("[]"));
        assert!(fields.iter().map(|(key, _)| *key).eq(described));
    }

    #[test]
    fn half_a_page_names_the_system_that_stands_still() {
        set_sections(vec![&LongerLooks]);
        let record =
            looked(|system, _| [vec![1000; 6], vec![1000 * (1 - system as u64); 2]].concat());
        let judged = assay_verdict::judge(&record);
        let options = TextOptions { width: 200, color: false, verbose: false };
        let text = render(&record, &judged, Format::BRIEF, &options);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains(" stands still for 8 s of a longer look, up to 2 s at a time"),
            "{text}"
        );
    }

    #[test]
    fn a_report_has_the_section_and_its_value() {
        set_sections(vec![&LongerLooks]);
        let record = record();
        let judged = assay_verdict::judge(&record);
        let options = TextOptions { width: 200, color: false, verbose: true };
        let text = render(&record, &judged, Format::TEXT, &options);
        assert!(text.contains("a longer look: steady") && text.contains("0.10"), "{text}");
        let page = render(&record, &judged, Format::HTML, &options);
        assert!(page.contains("<a href=\"#soak\">A longer look</a>"), "{page}");
        assert!(page.contains("second by second"), "{page}");
        let json = render(&record, &judged, Format::JSON, &options);
        let [count, soak, cpu] = ["\"count\"", "\"soak\"", "\"cpu_ratio\""].map(|it| json.find(it));
        assert!(count < soak && soak < cpu, "{json}");
    }
}
