//! Carries out studies on this machine: gets and starts systems, measures what the driver asks for, and records it.

pub mod advice;
pub mod clock;
pub mod connection;
pub mod errors;
pub mod examination;
pub mod interrupt;
pub mod lock_note;
pub mod machine_lock;
pub mod machine_queue;
pub mod open_files;
pub mod parallel;
pub mod paths;
pub mod progress;
pub mod scheduler;
pub mod state_lock;
pub mod statement_place;
pub mod study;
pub mod study_records;
pub mod systems;
pub mod whole_file;
pub mod workload;
