//! Systems of commands: binaries, start, data, clients and settings. Shared by studies, audits, sandboxes and the
//! cache.

mod aging;
mod cache;
mod clients;
mod environment;
mod fetching;
mod from_file;
mod inspect;
mod instance;
mod later_executions;
mod options;
mod participant;
mod plans;
mod statements;
mod study_schema;
mod study_tables;
mod template;

pub use self::cache::{
    described, fails_for_space, key, last_used, limit, mark_used, remove_unused, size, templates,
    with_full_disk,
};
pub use self::clients::{
    Clients, LongTurn, OUTSIDE_BLOCKS, OpenSlice, SliceSlot, WORK_APART_MAX, connect_clients,
    failed_slice, share_out, silence, silent_slice, unmeasured,
};
pub use self::environment::{
    Environment, LocalSite, check_cpus, environment, machine_facts, on_disk, sandbox_site,
};
pub use self::fetching::{
    HeldValgrind, cached_near, check_counting, fetch_all, fetch_one, fetch_valgrind, provisioner,
};
pub use self::from_file::{AcceptedConfig, leave_refused_out, taken};
pub use self::inspect::{data_fact, explain_queue, facts};
pub use self::instance::{DATABASE, Instance};
pub use self::options::{RefusedOptions, SystemOptions, check_options, refuse_options};
pub use self::participant::{
    GatheredSystems, MissingSystem, Participant, attach, create_schemas, get as gathered,
    get_all as participants, leave_root_for, most_clients, refuse_the_same_twice, sizes, terms_of,
};
pub use self::statements::{Questions, shortened};
pub use self::study_schema::StudySchema;
pub use self::study_tables::{StudyTables, Warm};
pub use self::template::{
    StartFailure, Templates, load_beforehand, ready, start_counted, start_instance, start_on_empty,
    still_to_age_s,
};
