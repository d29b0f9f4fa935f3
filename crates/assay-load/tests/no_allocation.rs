//! Checks that the loop of a run does not allocate: more events cause no more allocations. Not in the suite, because
//! the allocator counts for all threads.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use assay_load::{ClientSession, ClientWork, RunBound, Tables, UserTables, fill, fill_user_data};
use assay_model::{Dialect, Engine, Setup, StatementMode, TableForm, Test, TestSet, UserRowsFile};
use assay_plan::{UserFile, read_workload};
use assay_wire::ConnectOptions;
use assay_workloads::tests_of;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[expect(unsafe_code, reason = "an allocator that counts cannot be written without")]
// SAFETY: every call is handed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` came from `alloc` above, hence from `System`.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as for `dealloc`; the caller keeps the contract of `realloc`.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

assay_testkit::supervisor_entry!();

#[test]
fn more_events_take_no_more_allocations() {
    let server = assay_testkit::mariadb();
    let options = server.connect_options();
    let setup = Setup { clients: 1, tables: 2, rows: 2000 };
    let dialect = Dialect::MySql;
    let tables = Tables {
        dialect,
        engine: Engine::InnoDb,
        form: TableForm::default(),
        data: setup.data(),
        seed: 1,
    };
    fill(&options, &tables, &mut |_| ()).unwrap();
    let seen = seen(&options);
    for statements in [StatementMode::Prepared, StatementMode::Text] {
        for test in tests_of(TestSet::Set32).into_iter().chain([seen]) {
            let work = ClientWork { dialect, test, setup, statements, seed: 1 };
            let mut session = ClientSession::open(&options, &work, &[]).unwrap();
            let mut allocations_of = |start, events| {
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                session.run(start, RunBound::Events(events)).unwrap();
                ALLOCATIONS.load(Ordering::Relaxed) - before
            };
            let few = if test.name() == "scan" { 5 } else { 50 };
            allocations_of(0, few);
            let (short, long) = (allocations_of(few, few), allocations_of(2 * few, 5 * few));
            // The run itself allocates a little: its command, its results and the serialized histogram.
            assert!(
                long < short + 10 && long < 100,
                "{test}, {statements:?}: {short} for {few} events, then {long}"
            );
        }
    }
}

/// A test with captured values: numbers, texts, bytes and a list.
fn seen(options: &ConnectOptions) -> Test {
    const WORKLOAD: &str = "[table.t]\nrows = 1000\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))\"\n\
        columns = { id = { sequence = 1 }, v = \"x\" }\n[test.seen]\n\
        values = { file = \"f\", names = [\"id\", \"v\", \"b\", \"ids\"] }\n\
        steps = [\"SELECT v FROM t WHERE id = :id AND v <> :v\", \"SELECT v FROM t WHERE id IN (:ids) AND v <> :b\"]\n";
    let line = |n: u32| format!("[{n}, \"y{n:03}\", {{\"hex\": \"00ff\"}}, [{n}, 2, 300]]\n");
    let content: String = (100..200).map(line).collect();
    let files = |_: &str| {
        let (path, sha256) = ("f".to_owned(), "f".to_owned());
        Ok(UserFile { path, sha256, content: content.clone().into_bytes(), bytes: 0 })
    };
    let test = read_workload("seen.toml", WORKLOAD, &files).unwrap().tests[0];
    let files = |_: &UserRowsFile| Err("no file".to_owned());
    let data = test.user_data().unwrap();
    let tables =
        UserTables { dialect: Dialect::MySql, data, seed: 1, files: &files, dumps: &no_dump };
    fill_user_data(options, tables, false, &mut |_| ()).unwrap();
    test
}

fn no_dump(_: &assay_model::UserRowsFile) -> Result<Box<dyn std::io::Read>, String> {
    Err("no dump".to_owned())
}
