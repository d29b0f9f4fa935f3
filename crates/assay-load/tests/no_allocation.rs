//! The loop between the start and the end of a run does not allocate: more events cause no more allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use assay_load::{Bound, Session, Tables, Work, fill};
use assay_model::{Dialect, Engine, IdKey, Setup, StatementMode, TableForm, TestSet};
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
        id_key: IdKey::Primary,
        form: TableForm::default(),
        data: setup.data(),
        seed: 1,
    };
    fill(&options, &tables, &mut |_| ()).unwrap();
    for statements in [StatementMode::Prepared, StatementMode::Text] {
        for test in tests_of(TestSet::Set32) {
            let work = Work { dialect, test, setup, statements, seed: 1 };
            let mut session = Session::open(&options, &work, &[]).unwrap();
            let mut allocations_of = |start, events| {
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                session.run(start, Bound::Events(events)).unwrap();
                ALLOCATIONS.load(Ordering::Relaxed) - before
            };
            let few = if test.name() == "scan" { 5 } else { 50 };
            allocations_of(0, few);
            let (short, long) = (allocations_of(few, few), allocations_of(2 * few, 5 * few));
            // The run itself allocates a little: its command, its results and the serialised histogram.
            assert!(
                long < short + 10 && long < 100,
                "{test}, {statements:?}: {short} for {few} events, then {long}"
            );
        }
    }
}
