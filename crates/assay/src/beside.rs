//! The published tables that `assay report --beside` knows.

use assay_import::{Reference, references};

use assay_run::advice::Advised;

pub(crate) fn table(name: &str) -> Option<Reference> {
    references().into_iter().find(|table| table.slug == name)
}

pub(crate) fn note(table: &Reference) -> String {
    format!("there: {}; {}", table.source, table.note)
}

pub(crate) fn nothing(name: &str) -> Advised {
    let names: Vec<String> = references().into_iter().map(|table| table.slug).collect();
    Advised::new(
        format!("there is nothing called `{name}` to set beside"),
        format!("name a study of the ledger, or a published table: {}", names.join(", ")),
    )
}
