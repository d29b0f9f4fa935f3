//! Reports of studies and other pages of results, in every format. Pure: data in, text out.
//!
//! A page is a `document` of sections, prose, tables and charts. `view` has the sections of the report of a study,
//! `report` its pages. `formats` render any document; `data` has the same for scripts.

mod audit;
mod beside;
mod bisect;
mod charts;
mod claims;
mod data;
mod doctor;
mod document;
mod feeds;
mod formats;
mod junit;
mod nodes;
mod number;
mod page;
mod ratio;
mod report;
mod scale;
pub mod section;
mod stacks;
mod studies;
mod study;
mod tests_list;
mod text;
mod trend;
mod view;
mod watch;
mod words;

pub use audit::{AuditResult, ComparedCounts, audit_json, audit_text};
pub use beside::{OtherStudy, beside};
pub use bisect::{
    Bisection, ChangedFunctions, FunctionUnit, RangeEnd, SearchedRange, SearchedVersion,
    VersionStep, bisection,
};
pub use charts::ChartFile;
pub use claims::{CheckedClaim, CheckedPart, claims};
pub use data::csv::cells_csv;
pub use data::fields::json_fields;
pub use doctor::{Diagnosis, NeededTime, Prospect, doctor};
pub use feeds::{FEEDS, Feed, FeedRender, FeedStudy, FeedText, feed_of_file, feed_table};
pub use formats::FORMATS;
pub use junit::junit;
pub use nodes::by_node;
pub use page::{Format, Page, TextOptions};
pub use report::{answer, gate, published, report};
pub use stacks::{StackFile, stacks};
pub use studies::studies;
pub use study::{ShownStudy, study_json, study_text};
pub use tests_list::{ListedFrom, ListedTest, tests_json, tests_text};
pub use trend::{TrendResult, trend};
pub use watch::{WatchResult, WatchedChange, WatchedLine, WatchedSuspicion, WatchedValue, watched};

use assay_model::StudyRecord;
use assay_verdict::Judgement;

/// Ends with a line feed.
#[must_use]
pub fn render(
    record: &StudyRecord,
    judgement: &Judgement,
    format: Format,
    options: &TextOptions,
) -> String {
    report(record, judgement).render(format, options).expect("reports have every format")
}
