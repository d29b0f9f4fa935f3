//! The test files of this crate in one program, because each program takes seconds to link. `cargo xtask suite` runs
//! each file in a process of its own.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod answer;
mod beside;
mod brief;
mod browser;
mod changes;
mod charts;
#[path = "../common/mod.rs"]
mod common;
mod count_only;
mod counts;
mod feeds;
mod findings;
mod gate;
mod hostile;
mod html;
mod insert_bench;
mod json_fields;
mod machine_facts;
mod nodes;
mod profiles;
mod published_style;
mod ranking;
mod reading;
mod render;
mod upgrade;
