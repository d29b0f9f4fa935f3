//! Repository tasks: `cargo xtask ci`, `cargo xtask tidy`.

fn main() {}
