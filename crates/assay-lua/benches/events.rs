//! Measures an event of a script without a server, in nanoseconds: one that executes a prepared statement with a random
//! number, one that sends text, one that also reads a row, and one that adds numbers. An argument selects one of them.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_lua::{
    RowUse, ScriptAnswer, ScriptClient, ScriptDraws, ScriptEngine, ScriptSetting, ScriptValue,
    SqlError,
};

const EVENTS: u64 = 100_000;
const ROUNDS: usize = 5;

const SCRIPTS: [(&str, &str); 4] = [
    ("prepared", "id:set(sysbench.rand.uniform(1, 1000)) st:execute()"),
    ("text", "con:query('SELECT c FROM t WHERE id = ' .. sysbench.rand.uniform(1, 1000))"),
    (
        "row",
        "local c = con:query_row('SELECT c FROM t WHERE id = ' .. sysbench.rand.uniform(1, 1000))",
    ),
    ("arithmetic", "local sum = 0 for i = 1, 1000 do sum = sum + i % 7 end"),
];

/// Answers everything at once.
struct Nobody;

impl ScriptClient for Nobody {
    fn connect(&mut self) -> Result<usize, SqlError> {
        Ok(0)
    }

    fn disconnect(&mut self, _: usize) {}

    fn reconnect(&mut self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }

    fn query(&mut self, _: usize, _: &[u8], rows: RowUse) -> Result<ScriptAnswer, SqlError> {
        let rows = (rows == RowUse::Keep).then(|| vec![vec![Some(vec![b'x'; 119])]]);
        Ok(ScriptAnswer { has_rows: true, row_count: 1, columns: 1, rows, rest: Vec::new() })
    }

    fn prepare(&mut self, _: usize, _: &[u8]) -> Result<usize, SqlError> {
        Ok(0)
    }

    fn execute(
        &mut self,
        _: usize,
        _: usize,
        _: &[ScriptValue],
        _: RowUse,
    ) -> Result<ScriptAnswer, SqlError> {
        Ok(ScriptAnswer { has_rows: true, row_count: 1, ..ScriptAnswer::default() })
    }

    fn close(&mut self, _: usize, _: usize) {}

    fn pause(&mut self, _: Duration) -> bool {
        true
    }
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let setting = ScriptSetting {
        thread: 0,
        threads: 1,
        driver: "mysql",
        command: "run".to_owned(),
        options: Vec::new(),
        connection: Vec::new(),
        seed: 1,
        draw: ScriptDraws::default(),
        may_use_all: false,
        leash: Arc::default(),
    };
    let only = std::env::args().nth(1).filter(|it| !it.starts_with('-'));
    for (name, event) in SCRIPTS {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let path = directory.path().join(format!("{name}.lua"));
        let text = format!(
            "function thread_init()
               con = sysbench.sql.driver():connect()
               st = con:prepare('SELECT c FROM t WHERE id = ?')
               id = st:bind_create(sysbench.sql.type.INT)
               st:bind_param(id)
             end
             function event() {event} end"
        );
        fs_err::write(&path, text).unwrap();
        let engine = ScriptEngine::read(&mut Nobody, &path, None, &setting).unwrap();
        engine.call(&mut Nobody, "thread_init").unwrap();
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                for sequence in 0..EVENTS {
                    engine.event(&mut Nobody, sequence, 0).unwrap();
                }
                start.elapsed().as_nanos() as f64 / EVENTS as f64
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        println!("{name}: {:.0} ns an event (median of {ROUNDS})", rounds[ROUNDS / 2]);
    }
}
