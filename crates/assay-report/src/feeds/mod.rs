//! Formats that other programs read: one file and one line in [`FEEDS`] each.
//!
//! Cells without a value are left out and named in [`FeedText::left_out`]: no format gets an invented value.

mod bmf;
mod feed;
mod github;
mod openmetrics;
mod otava;

use std::fmt::Write as _;

pub use feed::{Feed, FeedRender, FeedStudy, FeedText};

/// In the order of the documentation.
pub const FEEDS: [&Feed; 4] = [&bmf::FEED, &github::FEED, &otava::FEED, &openmetrics::FEED];

pub fn feed_of_file(name: &str) -> Option<&'static Feed> {
    let name = name.to_ascii_lowercase();
    let is_its = |feed: &&&Feed| feed.endings.iter().any(|ending| name.ends_with(ending));
    FEEDS.iter().find(is_its).copied()
}

/// Markdown table of all feeds, for the documentation.
pub fn feed_table() -> String {
    let mut text =
        "| format | read by | file ending | undecided | failed |\n|---|---|---|---|---|\n"
            .to_owned();
    for feed in FEEDS {
        let Feed { word, reader, undecided, failed, .. } = feed;
        let endings: Vec<String> = feed.endings.iter().map(|it| format!("`{it}`")).collect();
        let _ = writeln!(
            text,
            "| `{word}` | {reader} | {} | {undecided} | {failed} |",
            endings.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stand_for_feeds() {
        let word = |name: &str| feed_of_file(name).map(|feed| feed.word);
        assert_eq!(word("results.bmf.json"), Some("bmf"));
        assert_eq!(word("Results.GitHub.JSON"), Some("github"));
        assert_eq!(word("otava.csv"), None);
        assert_eq!(word("a.otava.csv"), Some("otava"));
        assert_eq!(word("assay.prom"), Some("openmetrics"));
        assert_eq!(word("results.json"), None);
    }

    #[test]
    fn no_ending_stands_for_two_feeds() {
        let all: Vec<&str> = FEEDS.iter().flat_map(|feed| feed.endings).copied().collect();
        for (at, one) in all.iter().enumerate() {
            assert!(!all.iter().skip(at + 1).any(|other| other.ends_with(one)), "{one}");
        }
    }
}
