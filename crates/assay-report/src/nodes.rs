//! The machines that measured a study, by the same systems: `assay report --by node`.

use assay_model::{Setup, StudyRecord};
use assay_verdict::{NodeRate, Nodes};
use serde::Serialize;

use crate::data::json::NodeRow;
use crate::data::value::JsonValue;
use crate::data::{csv, json};
use crate::document::{Block, Column, Heading, PageDocument, Row, Table, Wish};
use crate::number::{figure, share};
use crate::page::{Page, PageContent};
use crate::ratio::Quotient;

#[derive(Serialize)]
struct ByNode<'a> {
    study: &'a str,
    nodes: Vec<NodeRow<'a>>,
    rates: JsonValue,
}

/// Columns of the CSV, in order; new ones come last.
const FIELDS: &str =
    "test clients tables rows system node blocks qps relative relative_low relative_high";

pub fn by_node<'a>(record: &'a StudyRecord, nodes: &'a Nodes) -> Page<'a> {
    Page::new(NodesPage { record, nodes })
}

struct NodesPage<'a> {
    record: &'a StudyRecord,
    nodes: &'a Nodes,
}

impl<'a> NodesPage<'a> {
    fn names(&self, rate: &NodeRate) -> [&'a str; 2] {
        [&self.record.systems[rate.system].name, &self.nodes.each[rate.node].name]
    }

    fn row(&self, rate: &NodeRate) -> JsonValue {
        let [system, node] = self.names(rate);
        let Setup { clients, tables, rows } = rate.cell.setup;
        JsonValue::object([
            ("test", rate.cell.test.name().into()),
            ("clients", clients.into()),
            ("tables", tables.into()),
            ("rows", rows.into()),
            ("system", system.into()),
            ("node", node.into()),
            ("blocks", rate.blocks.into()),
            ("qps", rate.qps.into()),
            // `qps` divided by the geometric mean of all nodes; null on a single node.
            ("relative", rate.relative.into()),
        ])
    }

    fn machines(&self) -> Table {
        let columns = [
            Column::words("node"),
            Column::words("machine"),
            Column::numbers("blocks"),
            Column::numbers("slices"),
            Column::numbers("speed of the base"),
        ];
        let rows = self.nodes.each.iter().map(|node| {
            Row::new([
                node.name.clone(),
                format!("{} × {}", node.host.cpus, node.host.cpu),
                node.blocks.to_string(),
                node.slices.to_string(),
                node.speed.map_or_else(String::new, share),
            ])
        });
        Table::new(columns.to_vec(), rows).flush()
    }

    fn rates(&self) -> Table {
        let columns = [
            Column::words("test"),
            Column::words("system"),
            Column::words("node"),
            Column::numbers("blocks"),
            Column::numbers("QPS"),
            Column::words("of the mean of all nodes"),
        ];
        let has_several = self.record.study.setups.len() > 1;
        let rows = self.nodes.rates.iter().map(|rate| {
            let [system, node] = self.names(rate);
            let setup =
                if has_several { format!(" at {}", rate.cell.setup) } else { String::new() };
            Row::new([
                format!("{}{setup}", rate.cell.test.name()),
                system.to_owned(),
                node.to_owned(),
                rate.blocks.to_string(),
                figure(Some(rate.qps)),
                Quotient(rate.relative).value_with_interval(),
            ])
        });
        Table::new(columns.to_vec(), rows).flush()
    }
}

impl PageContent for NodesPage<'_> {
    fn document(&self, _: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let heading =
            Heading { before: format!("Nodes of {}", self.record.study.id), ..Heading::default() };
        let blocks = vec![Block::Table(self.machines()), Block::Break, Block::Table(self.rates())];
        then(&PageDocument { title: heading.line(), heading, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        Some(json::versioned(ByNode {
            study: &self.record.study.id,
            nodes: self.nodes.each.iter().map(NodeRow::new).collect(),
            rates: self.nodes.rates.iter().map(|rate| self.row(rate)).collect(),
        }))
    }

    fn csv(&self) -> Option<String> {
        Some(csv::fields_csv(FIELDS, self.nodes.rates.iter().map(|rate| self.row(rate))))
    }
}
