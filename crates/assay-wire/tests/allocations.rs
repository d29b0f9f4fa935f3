//! The hot path does not allocate once it is warm. Not in the suite, which keeps the usual allocator.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write as _;

use assay_testkit::TestServer;
use assay_wire::{Connection, Param, ParamType, Reply};

#[path = "common/mod.rs"]
mod common;

assay_testkit::supervisor_entry!();

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
}

#[expect(unsafe_code, reason = "an allocator cannot be written otherwise")]
// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_hot_connection_does_not_allocate() {
    check(assay_testkit::mariadb(), "?", "?");
}

#[test]
fn a_warm_postgres_connection_does_not_allocate() {
    check(assay_testkit::postgres(), "$1", "$2");
}

#[test]
fn a_warm_connection_over_tls_does_not_allocate() {
    const LENGTHS: [usize; 3] = [30_000, 100, 20_000];
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = common::server_config("server.pem", version);
        let peer = common::Peer::over_tls(config, |mut stream| {
            while let Some(request) = common::read_packet(&mut stream) {
                let length = (request.len() as u32).to_le_bytes();
                let row = [&[0xfd][..], &length[..3], &request].concat();
                let rows = [&[1][..], b"column", common::EOF, &row, &row, common::EOF];
                if stream.write_all(&common::reply(&rows)).is_err() {
                    return;
                }
            }
        });
        let mut hot = Connection::connect(&peer.options).unwrap();
        for round in 0..20 {
            for length in LENGTHS {
                let sql = vec![b'x'; length];
                let before = ALLOCATIONS.get();
                let answer = hot.execute_text(&sql).unwrap();
                assert_eq!(answer, Reply { result_set: true, rows: 2, affected: 0 });
                assert!(round == 0 || ALLOCATIONS.get() == before, "{length} bytes");
            }
        }
        drop(hot);
        peer.join();
    }
}

fn check(server: TestServer, first: &str, second: &str) {
    let mut control = server.connect();
    control.query("CREATE TABLE t (id INT PRIMARY KEY, c CHAR(120))").unwrap();
    let values: Vec<String> = (0..2000).map(|id| format!("({id}, REPEAT('x', 119))")).collect();
    control.query(&format!("INSERT INTO t VALUES {}", values.join(","))).unwrap();

    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    let mut prepare = |sql: &str, params: &[ParamType]| {
        let sql = sql.replacen('?', first, 1).replacen('?', second, 1);
        hot.prepare(&sql, params).unwrap()
    };
    let point = prepare("SELECT c FROM t WHERE id = ?", &[ParamType::Int]);
    let range = prepare("SELECT id, c FROM t WHERE id BETWEEN ? AND ?", &[ParamType::Int; 2]);
    let update = prepare("UPDATE t SET c = ? WHERE id = ?", &[ParamType::Text, ParamType::Int]);
    let mut round = |number: i64| {
        let text = format!("{number:0>119}");
        let before = ALLOCATIONS.get();
        let replies = [
            hot.execute(point, &[Param::Int(number)]).unwrap(),
            hot.execute(range, &[Param::Int(0), Param::Int(1999)]).unwrap(),
            hot.execute(update, &[Param::Text(text.as_bytes()), Param::Int(number)]).unwrap(),
            hot.execute_text(b"SELECT * FROM t WHERE LENGTH(c) < 0").unwrap(),
        ];
        (ALLOCATIONS.get() - before, replies)
    };
    let read = |rows| Reply { result_set: true, rows, affected: 0 };
    let expected = [read(1), read(2000), Reply { affected: 1, ..Reply::default() }, read(0)];
    // The longest parameters come first, so that later ones fit into the buffers.
    assert_eq!(round(1999).1, expected);
    for number in 2..50 {
        assert_eq!(round(number), (0, expected));
    }
}
