//! Reports of studies, and what other pages of results are built of, in every format. Pure: data in, text out.
//!
//! A page is a `document` of sections, prose, tables and charts. `sections` has those of the report of a study.
//! `formats` render any document; `data` has the same for scripts.

mod beside;
pub mod blocks;
mod charts;
mod data;
mod document;
mod feeds;
pub mod findings;
mod folder;
mod formats;
mod junit;
pub mod machine_facts;
mod nodes;
mod number;
mod page;
mod ratio;
mod scale;
pub mod section;
mod sections;
mod stacks;
mod text;
mod time_use;
mod words;

pub use beside::{OtherStudy, beside};
pub use charts::ChartFile;
pub use data::csv::cells_csv;
pub use data::fields::json_fields;
pub use feeds::{FEEDS, Feed, FeedRender, FeedStudy, FeedText, feed_of_file, feed_table};
pub use folder::{FOLDER_PAGE_BYTES, FolderLink, PageFrame};
pub use formats::FORMATS;
pub use junit::junit;
pub use nodes::by_node;
pub use page::{Format, Page, TextOptions};
pub use sections::published_style::published;
pub use sections::report::{answer, limits, report};
pub use stacks::{StackFile, stacks};

use assay_model::StudyRecord;
use assay_verdict::Judgement;

/// Ends with a line feed.
pub fn render(
    record: &StudyRecord,
    judgement: &Judgement,
    format: Format,
    options: &TextOptions,
) -> String {
    report(record, judgement).render(format, options).expect("reports have every format")
}
