//! Lines of values for spreadsheets and scripts.

use crate::page::Format;

pub(super) const FORMAT: Format = Format {
    word: "csv",
    about: "One line per cell and system",
    extensions: &["csv"],
    render: |page, _| page.csv(),
};
