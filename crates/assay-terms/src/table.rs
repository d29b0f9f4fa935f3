//! The terms as a table for the documentation.

use std::fmt::Write as _;

use assay_model::Product;

use crate::terms::{Setting, Terms, Value};

/// The options of a product as a Markdown table: values, by version where they differ, and reasons.
#[must_use]
pub fn option_table(terms: &Terms, product: Product) -> String {
    let mut table = "| option | value | why |\n|---|---|---|\n".to_owned();
    for setting in terms.settings(product) {
        let Setting { option, values, why, .. } = setting;
        let values: Vec<String> = values.iter().map(in_words).collect();
        let option = option.strip_prefix("loose-").unwrap_or(option).replace('-', "_");
        // Writing to memory cannot fail.
        let _ = writeln!(table, "| `{option}` | {} | {why} |", values.join("; "));
    }
    table
}

fn in_words(value: &Value) -> String {
    let Value { value, versions, engine } = value;
    let mut words = if value.is_empty() { "empty".to_owned() } else { format!("`{value}`") };
    let parts = [
        versions.from.as_ref().map(|from| format!(" from {from}")),
        versions.until.as_ref().map(|until| format!(" before {until}")),
        engine.map(|engine| format!(" with {}", engine.word())),
    ];
    words.extend(parts.into_iter().flatten());
    words
}
