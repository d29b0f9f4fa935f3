//! Tests over several client counts: throughput, scalability and response times, as tables and as curves, and the
//! client counts at which a system is as fast as the base.

use std::collections::BTreeSet;

use assay_model::{CellId, DataSet, Estimate, Setup, Test, Verdict, counted};
use assay_verdict::{ActiveSecond, CellJudgement, Crossover, active_seconds};

use super::shades::{ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::charts::curves::{self, CurveCrossing, Sweep, SweptSystem, TestCurves};
use crate::charts::drawing::{Chart, Values, chart};
use crate::charts::{Place, marks};
use crate::document::{Block, Figure, Fold, Section, Wish};
use crate::number::{NONE, Rate, figure};
use crate::ratio::Quotient;
use crate::words::{CROSSOVERS_LEGEND, capital};

/// From this many client counts on, a terminal shows the tables too.
const MANY: usize = 3;

struct TestSweep {
    test: Test,
    data: DataSet,
    clients: Vec<u32>,
}

impl TestSweep {
    fn cell(&self, clients: u32) -> CellId {
        let DataSet { tables, rows } = self.data;
        CellId { test: self.test, setup: Setup { clients, tables, rows } }
    }
}

/// Minimum number of seconds in a chart: fewer show no trend.
const SECONDS_MIN: usize = 3;

/// Throughput and response times by client count; in a terminal, the most important ones if there are many counts. A
/// page has them next to the charts of versions.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let mut blocks = vec![Block::Images(wish.images.at(&Place::Clients))];
    if wish.is_page() {
        return blocks;
    }
    let all = test_sweeps(study);
    for (quantity, shown) in tables(study, &all) {
        if wish.is_post() {
            let table = Block::Table(shown.table().untitled());
            blocks.extend(Block::folded(capital(&shown.title), Fold::Closed, vec![table]));
        } else if quantity.is_short && shown.columns.len() >= MANY {
            blocks.push(Block::Table(shown.table()));
        }
    }
    blocks
}

pub(super) fn page(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let Some(sweep) = sweep(study).filter(|_| wish.is_page()) else { return Vec::new() };
    let mut blocks = vec![Block::key(&sweep.systems)];
    blocks.extend(sweep.tests.iter().map(|test| Block::Section(section(study, test))));
    let tables = tables(study, &test_sweeps(study));
    blocks.extend(tables.into_iter().map(|(_, shown)| Block::Table(shown.table())));
    Block::place("clients", "Clients", "By number of clients", blocks)
}

fn section(study: &JudgedStudy, test: &TestCurves) -> Section<'static> {
    let drawn = curves::inline(study, test).into_iter();
    let drawn = drawn.map(|(caption, svg)| Figure { caption, svg, ..Figure::default() });
    let mut blocks = vec![Block::Figures("curves", drawn.collect())];
    if !test.seconds.is_empty() {
        let message = "Each second is made of one system's own turns. The other systems' turns are left out, and the \
            blocks are joined.";
        let charts = test.seconds.iter().map(marks::small).collect();
        let mut seconds = Block::prose("", [message]);
        seconds.push(Block::Figures("charts", charts));
        let section = Section::new("Second by second", Fold::Closed);
        blocks.push(Block::Section(Section { class: "seconds", blocks: seconds, ..section }));
    }
    let of_data = test.data.as_ref().map_or_else(String::new, |data| format!(" on {data}"));
    let section = Section::new(format!("{}{of_data}", test.test), Fold::Open);
    Section { class: "seconds", blocks, ..section }
}

/// `None` if every test was measured with a single client count.
pub(crate) fn sweep<'a>(study: &JudgedStudy<'a>) -> Option<Sweep<'a>> {
    let all = test_sweeps(study);
    let systems = (0..study.record.systems.len()).map(|system| study.label(system).to_owned());
    (!all.is_empty()).then(|| Sweep {
        systems: systems.collect(),
        tests: all.iter().map(|swept| test_curves(study, swept)).collect(),
    })
}

/// Tests that were measured with several client counts.
fn test_sweeps(study: &JudgedStudy) -> Vec<TestSweep> {
    let mut all: Vec<TestSweep> = Vec::new();
    for CellId { test, setup } in study.record.study.cells.iter().map(|planned| planned.id) {
        match all.iter_mut().find(|it| it.test == test && it.data == setup.data()) {
            Some(known) => known.clients.push(setup.clients),
            None => all.push(TestSweep { test, data: setup.data(), clients: vec![setup.clients] }),
        }
    }
    all.iter_mut().for_each(|swept| swept.clients.sort_unstable());
    all.retain(|swept| swept.clients.len() > 1);
    all
}

struct SweptQuantity {
    title: &'static str,
    note: &'static str,
    is_short: bool,
    text: fn(cell: &CellJudgement, fewest: &CellJudgement) -> String,
}

static QUANTITIES: [SweptQuantity; 6] = [
    SweptQuantity {
        title: "transactions per second",
        note: "by client count, with half the width of the 95% interval; a transaction is an event of the test",
        is_short: true,
        text: |cell, _| Rate(tps(cell)).to_string(),
    },
    SweptQuantity {
        title: "scalability",
        note: "transactions per second divided by those of the same system with the fewest clients [95% interval]",
        is_short: true,
        text: |cell, fewest| match cell.cell == fewest.cell {
            true => "1".to_owned(),
            false => Quotient(scalability(cell, fewest)).to_string(),
        },
    },
    SweptQuantity {
        title: "mean response time, ms",
        note: "over all events; has no interval",
        is_short: false,
        text: |cell, _| ms(cell.latency.and_then(|it| it.mean)),
    },
    SweptQuantity {
        title: "95th percentile of the response time, ms",
        note: "over all events; has no interval",
        is_short: true,
        text: |cell, _| ms(cell.latency.and_then(|it| it.p95)),
    },
    SweptQuantity {
        title: "99th percentile of the response time, ms",
        note: "over all events; has no interval",
        is_short: false,
        text: |cell, _| ms(cell.latency.and_then(|it| it.p99)),
    },
    SweptQuantity {
        title: "longest response time, ms",
        note: "over all events; has no interval",
        is_short: false,
        text: |cell, _| ms(cell.latency.and_then(|it| it.max)),
    },
];

/// Transactions per second, with the relative interval of the QPS: the two differ by a factor that is part of the test.
fn tps(cell: &CellJudgement) -> Option<Estimate> {
    let (tps, qps) = (cell.tps?, cell.qps?);
    let factor = tps / qps.value;
    Some(Estimate { value: tps, low: qps.low * factor, high: qps.high * factor })
}

/// Assumes independent errors.
fn scalability(cell: &CellJudgement, fewest: &CellJudgement) -> Option<Estimate> {
    let (qps, one) = (cell.qps?, fewest.qps?);
    let value = cell.tps? / fewest.tps?;
    if !qps.has_interval() || !one.has_interval() {
        return Some(Estimate::without_interval(value));
    }
    let half = |estimate: Estimate| (estimate.high / estimate.low).ln() / 2.0;
    let spread = half(qps).hypot(half(one)).exp();
    Some(Estimate { value, low: value / spread, high: value * spread })
}

fn ms(us: Option<f64>) -> String {
    figure(us.map(|us| us / 1000.0))
}

/// A table for each quantity: a row for each test and system, a column for each client count. None in a large study.
fn tables(study: &JudgedStudy, all: &[TestSweep]) -> Vec<(&'static SweptQuantity, ShadedTable)> {
    let clients: BTreeSet<u32> = all.iter().flat_map(|swept| swept.clients.clone()).collect();
    let clients: Vec<u32> = clients.into_iter().collect();
    let quantities = QUANTITIES.iter().filter(|_| !all.is_empty() && !study.is_large());
    quantities.map(|it| (it, table(study, it, all, &clients))).collect()
}

fn table(
    study: &JudgedStudy,
    quantity: &SweptQuantity,
    all: &[TestSweep],
    clients: &[u32],
) -> ShadedTable {
    let several = all.iter().any(|swept| swept.data != all[0].data);
    let rows = all.iter().flat_map(|swept| {
        (0..study.record.systems.len()).map(move |system| {
            let data = if several { format!(" on {}", swept.data) } else { String::new() };
            let judged = |clients: u32| study.cell(swept.cell(clients), system);
            let fewest = swept.clients.first().and_then(|clients| judged(*clients));
            let text = |clients: &u32| {
                let cell = judged(*clients).zip(fewest);
                cell.map_or(NONE.to_owned(), |(cell, fewest)| (quantity.text)(cell, fewest))
            };
            let name = format!("{}{data}, {}", swept.test, study.label(system));
            ShadedRow::plain(name, clients.iter().map(text))
        })
    });
    ShadedTable {
        title: quantity.title.to_owned(),
        note: quantity.note.to_owned(),
        corner: "test, system",
        columns: clients.iter().map(u32::to_string).collect(),
        rows: rows.collect(),
    }
}

fn systems(study: &JudgedStudy, swept: &TestSweep) -> Vec<SweptSystem> {
    let swept_system = |system: usize| {
        let cells = || swept.clients.iter().map(move |it| study.cell(swept.cell(*it), system));
        SweptSystem {
            system,
            qps: cells().map(|judged| judged?.qps).collect(),
            rqps: match system == study.base {
                true => Vec::new(),
                false => {
                    let ratio = |clients: &u32| study.ratio(swept.cell(*clients), system);
                    swept.clients.iter().map(ratio).collect()
                }
            },
            p95: cells()
                .map(|judged| Some(Estimate::without_interval(judged?.latency?.p95? / 1000.0)))
                .collect(),
        }
    };
    let systems = (0..study.record.systems.len()).filter(|&system| !study.is_twin(system));
    systems.map(swept_system).collect()
}

fn crossings(study: &JudgedStudy, swept: &TestSweep) -> Vec<CurveCrossing> {
    let crossovers = study.judgement.crossovers.iter().filter(|it| {
        it.few.test == swept.test
            && it.few.setup.data() == swept.data
            && study.compared.contains(&it.system)
    });
    crossovers.map(|it| CurveCrossing { system: it.system, clients: it.clients }).collect()
}

fn test_curves<'a>(study: &JudgedStudy<'a>, swept: &TestSweep) -> TestCurves<'a> {
    let several = study.record.study.cells.iter().any(|it| it.id.setup.data() != swept.data);
    let counts: Vec<String> = swept.clients.iter().map(u32::to_string).collect();
    let by_clients = |title: &str, value: fn(&CellJudgement) -> Option<f64>| {
        let values = values(study, |system| {
            let cells = swept.clients.iter();
            cells.map(|it| study.cell(swept.cell(*it), system).and_then(value)).collect()
        });
        let caption = |top| format!("0 to {}, by number of clients", figure(Some(top)));
        chart(title, &values, caption).map(|chart| Chart { ticks: counts.clone(), ..chart })
    };
    let counts_by_second = swept.clients.iter().filter(|_| !study.is_large());
    TestCurves {
        test: swept.test.name(),
        group: swept.test.group(study.record.study.set),
        systems: systems(study, swept),
        crossings: crossings(study, swept),
        clients: swept.clients.clone(),
        data: several.then(|| swept.data.to_string()),
        response_times: by_clients("95th percentile of the response time, ms", |cell| {
            Some(cell.latency?.p95? / 1000.0)
        }),
        seconds: counts_by_second.flat_map(|it| by_second(study, swept.cell(*it))).collect(),
    }
}

fn by_second(study: &JudgedStudy, cell: CellId) -> Vec<Chart> {
    let course = |system| {
        let judged = study.cell(cell, system);
        let is_disturbed = judged.is_some_and(|it| it.is_disturbed);
        active_seconds(study.record, cell, system, is_disturbed)
    };
    let courses: Vec<Vec<ActiveSecond>> = (0..study.record.systems.len()).map(course).collect();
    let seconds = courses.iter().map(Vec::len).max().unwrap_or(0);
    if seconds < SECONDS_MIN {
        return Vec::new();
    }
    let course = |title: &str, value: fn(&ActiveSecond) -> Option<f64>| {
        let values = values(study, |system| {
            courses.get(system).map_or(Vec::new(), |course| course.iter().map(value).collect())
        });
        let clients = counted(cell.setup.clients, "client");
        chart(title, &values, |top| format!("0 to {}; {clients}, {seconds} s", figure(Some(top))))
    };
    let charts = [
        course("transactions/s", |second| Some(second.events as f64 / second.seconds)),
        course("longest response time, ms", |second| Some(second.latency?.max? / 1000.0)),
    ];
    charts.into_iter().flatten().collect()
}

fn values(study: &JudgedStudy, values_of: impl Fn(usize) -> Vec<Option<f64>>) -> Vec<Values> {
    (0..study.record.systems.len()).map(|system| (system, values_of(system))).collect()
}

/// Below this many clients, a decimal is shown: there are few whole numbers.
const FEW_CLIENTS: f64 = 10.0;

pub(super) fn crossovers(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let blocks = Block::explained(crossover_lines(study), CROSSOVERS_LEGEND);
    Block::place("crossovers", "Crossovers", wish.heading("crossovers"), blocks)
}

fn crossover_lines(study: &JudgedStudy) -> Vec<String> {
    let crossovers = study.judgement.crossovers.iter();
    let compared = crossovers.filter(|it| study.compared.contains(&it.system));
    compared.map(|crossover| crossover_line(study, crossover)).collect()
}

/// `read-write: mariadb@11.8 is slower up to 4 clients, faster from 16; equal at about 7 [5, 11] clients`.
fn crossover_line(study: &JudgedStudy, crossover: &Crossover) -> String {
    let Crossover { few, many, .. } = crossover;
    let setups = study.record.study.setups.iter();
    let several_data = setups.map(|setup| setup.data()).collect::<BTreeSet<_>>().len() > 1;
    let data = if several_data { format!(" on {}", few.setup.data()) } else { String::new() };
    let opposite = match crossover.verdict {
        Verdict::Slower => Verdict::Faster,
        _ => Verdict::Slower,
    };
    format!(
        "{}{data}: {} is {} {} {}, {} {} {}; equal at about {} clients",
        few.test.definition().name,
        study.label(crossover.system),
        crossover.verdict.word(),
        if crossover.holds_below { "up to" } else { "at" },
        counted(few.setup.clients, "client"),
        opposite.word(),
        if crossover.holds_above { "from" } else { "at" },
        many.setup.clients,
        clients_in_words(crossover.clients),
    )
}

/// `7 [5, 11]`, `2.3 [1.6, 3.1]`.
fn clients_in_words(estimate: Estimate) -> String {
    let digits = usize::from(estimate.high < FEW_CLIENTS);
    let Estimate { value, low, high } = estimate;
    format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
}
