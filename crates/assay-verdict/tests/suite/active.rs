//! Active time of a system in a cell, second by second.

use assay_model::{Preset, Slice, SliceOutcome, WorkCounters};
use assay_verdict::active_seconds;

use crate::common::{empty, slice};

#[test]
fn slices_add_up_to_seconds() {
    let mut record = empty(1, Preset::Quick, 1);
    let cell = record.study.cells[0].id;
    let timed_slice = |(ms, round): (u64, u32)| Slice {
        work: WorkCounters {
            elapsed_ns: ms * 1_000_000,
            events: 10,
            read: 20,
            ..WorkCounters::default()
        },
        ..slice(0, cell, 0, round, 1.0)
    };
    let mut seconds_of = |ms: &[u64]| {
        record.slices = ms.iter().copied().zip(0..).map(timed_slice).collect();
        let found = active_seconds(&record, cell, 0, false);
        found.iter().map(|it| (it.seconds, it.events, it.queries)).collect::<Vec<_>>()
    };
    assert_eq!(seconds_of(&[400, 400, 400, 900, 200]), [(1.2, 30, 60), (1.1, 20, 40)]);
    // Less than half a second at the end belongs to the previous second.
    assert_eq!(seconds_of(&[400, 600, 300, 100]), [(1.4, 40, 80)]);
    assert_eq!(seconds_of(&[400, 100]), [(0.5, 20, 40)]);
    assert_eq!(seconds_of(&[]), []);
    record.slices = vec![Slice { outcome: SliceOutcome::Troubled, ..timed_slice((600, 0)) }];
    let count = |is_disturbed| active_seconds(&record, cell, 0, is_disturbed).len();
    assert_eq!([count(false), count(true)], [0, 1]);
}
