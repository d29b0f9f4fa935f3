//! Systems of commands: binaries, start, data, clients and settings. Shared by studies, audits, sandboxes and the
//! cache.

mod again;
mod aging;
mod cached;
mod clients;
mod counted;
mod empty;
mod environment;
mod explained;
mod fetching;
mod from_file;
mod inspect;
mod instance;
mod made;
mod options;
mod participant;
mod questions;
mod room;
mod shared_files;
mod shortened;
mod site;
mod study_tables;
mod template;
mod walk;

pub use self::cached::{key, mark_used, remove_unused};
pub use self::clients::{
    Clients, OUTSIDE_BLOCKS, OpenSlice, Slot, WORK_APART_MAX, connect_clients, failed_slice,
    share_out, silence, silent_slice, unmeasured,
};
pub use self::counted::start_counted;
pub use self::empty::start_on_empty;
pub use self::environment::{Environment, environment, machine_facts, on_disk};
pub use self::fetching::{Held, fetch_all, fetch_one, fetch_valgrind, provisioner};
pub use self::from_file::{Taken, leave_refused_out, taken};
pub use self::inspect::{data_fact, explain_queue, facts};
pub use self::instance::{DATABASE, Instance};
pub use self::options::{Asked, RefusedOptions, check_options, refuse_options};
pub use self::participant::{
    Gathered, Missing, Participant, attach, get as gathered, get_all as participants,
    leave_root_for, most_clients, refuse_foreign_tables, refuse_the_same_twice, sizes, terms_of,
};
pub use self::questions::Questions;
pub use self::room::{
    described, fails_for_space, last_used, limit, size, templates, with_full_disk,
};
pub use self::shortened::shortened;
pub use self::site::{LocalSite, sandbox_site};
pub use self::study_tables::{StudyTables, Warm};
pub use self::template::{
    NotStarted, Templates, load_beforehand, ready, start_instance, still_to_age_s,
};
