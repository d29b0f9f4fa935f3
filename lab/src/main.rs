//! `cargo lab sim`, `real`, `plot` and others.

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    assay_lab::run(&words)
}
