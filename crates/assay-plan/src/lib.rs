//! Turns command words or a study file into a checked study, and orders its slices.
//!
//! Pure: no clock, no files, no unseeded randomness.

mod common_option;
mod config_file;
mod counting;
pub mod document;
mod effort;
mod error;
mod fits;
pub mod glob;
mod insert_bench;
mod limits;
mod memory;
mod nearest;
mod order;
mod outlook;
mod participants;
mod plan;
mod precision;
mod regression_limits;
mod request;
mod scheduling;
mod sequence;
mod shards;
mod short_slices;
mod size;
mod size_overrides;
mod study;
mod study_file;
mod suites;
mod system_name;
mod tests_glob;
mod tls_words;
mod url;
mod workload;

pub use assay_options::{
    duration_text, parse_budget_s, parse_clients, parse_count, parse_duration_s, parse_percent,
};
pub use common_option::{CommonOption, common_file, config_place, without_places};
pub use config_file::{
    ConfigFault, ConfigLine, ScopedLine, common_options, config_lines, lines_for, places_of,
    product_of_groups, repeated_options, scoped_lines, written_lines,
};
pub use counting::count_command;
pub use document::FileError;
pub use error::{PlanError, PlanResult, SearchedTests};
pub use fits::{MachineFacts, check_audit, check_memory, notes_on_logs};
pub use memory::{advised, scaled_to};
pub use nearest::nearest;
pub use order::{connect_order, round_order, start_order};
pub use outlook::{
    Fitting, Outlook, ROUNDS_MIN, needed, outlook, overrun, round_s, smallest_change_in, start_s,
    suggested_time,
};
pub use participants::{PlannedSystem, StudyPlan};
pub use plan::{check_user_tables, check_user_test, plan, plan_of};
pub use precision::Needs;
pub use regression_limits::{note_on_limits, parse_limit, regression_limits};
pub use request::{
    InsertBenchRequest, LONGER_LOOK, LimitsRequest, Request, SetupRequest, SystemRequest,
    THRESHOLD, parse_share, ps_mode, usual_terms,
};
pub use scheduling::without_realtime;
pub use sequence::{SequenceStep, sequence};
pub use shards::{ShardPart, shard, shards};
pub use short_slices::shortened;
pub use size::{COUNTED_INSTANCES, cache_mb, largest, log_mb};
pub use size_overrides::SizeOverrides;
pub use study::request_of;
pub use study_file::{
    SubjectTable, read_study, read_subject, shell_quoted, study_key, write_study,
};
pub use suites::{SuiteFacts, SuiteOptions, suite_facts};
pub use system_name::{parse_engine, parse_system, repository_login};
pub use tests_glob::{is_script, name_matcher, select_of, select_tests};
pub use tls_words::{TlsDemand, TlsWords};
pub use url::{ServerPlace, ServerUrl, parse_url};
pub use workload::{
    FileExtent, NamedFile, PGBENCH_SCRIPTS, ReadFile, ReadFileOf, ScriptOptions, UserFile,
    UserWorkload, WorkloadFile, is_lua, is_pgbench, lua_workload, pgbench_script, read_workload,
    read_workload_files,
};
