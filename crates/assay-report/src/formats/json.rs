//! Values for scripts.

use super::Format;

pub(super) const FORMAT: Format = Format {
    word: "json",
    about: "For scripts: schema 1",
    extensions: &["json"],
    render: |page, _| page.json(),
};
