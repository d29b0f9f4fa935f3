//! Values for scripts.

use crate::page::Format;

pub(super) const FORMAT: Format = Format {
    word: "json",
    about: "For scripts: schema 1",
    extensions: &["json"],
    render: |page, _| page.json(),
};
