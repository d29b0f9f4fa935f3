//! A page as that of a wing: values in their order, with a chart.

use assay_report::blocks::{
    Block, Column, Heading, PageContent, PageDocument, Rate, Ratio, Row, SequenceChart, Table,
    Wish, began, stem,
};
use assay_report::{ChartFile, Page};
use assay_verdict::ComparablePoint;

pub(crate) struct SequencePage {
    pub(crate) points: Vec<ComparablePoint>,
}

const TITLE: &str = "mariadb/innodb relative to mariadb@10.11";

impl SequencePage {
    pub(crate) fn page(&self) -> Page<'_> {
        Page::new(self)
    }

    fn chart(&self) -> SequenceChart<'_> {
        let note = "Relative QPS in the order of the table. Bars are 95% intervals.".to_owned();
        let points = self.points.iter().map(Into::into).collect();
        SequenceChart { points, changes: vec![self.points.len() / 2], note }
    }
}

fn row(point: &ComparablePoint) -> Row {
    Row::new([
        point.version.clone(),
        began(point.started_ms, point.is_reported),
        Ratio(Some(point.rqps)).to_string(),
        point.verdict.word().to_owned(),
        Rate(point.qps).to_string(),
        point.study.clone(),
    ])
}

impl PageContent for &SequencePage {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let columns = ["version", "started (UTC)", "relative QPS", "verdict", "QPS", "study"];
        let table = Table::new(columns.map(Column::words).to_vec(), self.points.iter().map(row));
        let mut shown =
            Block::list(["machine: one with a name that is longer than a phone is wide"]);
        shown.extend(self.chart().inline());
        shown.push(Block::Table(table.flush()));
        let mut blocks = vec![Block::Answer(vec!["a test in many studies".to_owned()])];
        blocks.push(wish.charts());
        blocks.extend(Block::section(TITLE, shown));
        blocks.extend(Block::notes(["a note that explains the table".to_owned()]));
        let heading = Heading { before: "A test".to_owned(), ..Heading::default() };
        then(&PageDocument { title: heading.line(), heading, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        None
    }

    fn charts(&self) -> Vec<ChartFile> {
        let values = self.points.iter();
        let values = values.map(|it| format!("{}: {}", it.version, Ratio(Some(it.rqps))));
        let (name, values) = (stem("sequence", [None]), values.collect::<Vec<_>>());
        let chart = self.chart().file(name, TITLE.to_owned(), vec![], &values);
        chart.into_iter().collect()
    }
}
