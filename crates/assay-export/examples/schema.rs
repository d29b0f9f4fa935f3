//! Prints the schema for `docs/export.md`.

#![expect(clippy::print_stdout, reason = "a tool for the developer")]

fn main() {
    print!("{}", assay_export::schema());
}
