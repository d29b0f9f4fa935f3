//! Files of the map of instructions, which may come from anyone.

use assay_map_data::{
    CountMap, MapCell, MapGap, changes, functions_text, merged, read_functions, read_rows,
    rows_text,
};

pub(crate) fn files(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(functions) = read_functions("file", text, |_| true) {
        let text = functions_text(&functions);
        let again = read_functions("file", &text, |_| true);
        assert!(again.is_ok(), "what was written cannot be read: {again:?}");
    }
    if let Ok(gaps) = read_rows::<MapGap>("file", text) {
        let gaps = merged(gaps, Vec::new());
        assert_eq!(read_rows::<MapGap>("file", &rows_text(&gaps)).as_ref(), Ok(&gaps));
    }
    let Ok(cells) = read_rows::<MapCell>("file", text) else { return };
    // Numbers are rounded once.
    let text = rows_text(merged(cells, Vec::new()));
    let cells = read_rows::<MapCell>("file", &text).expect("a file that was written can be read");
    assert_eq!(read_rows::<MapCell>("file", &rows_text(&cells)).as_ref(), Ok(&cells));
    let map = CountMap::new(cells, Vec::new());
    // All pairs of a large file would take too long.
    for first in map.cells().iter().take(4) {
        for last in map.cells().iter().rev().take(4) {
            let pair = [first, last].map(|cell| (cell.product, cell.version.as_str()));
            for change in changes(&map, pair) {
                let of_steps: f64 = change.steps.iter().map(|step| step.ratio.value).product();
                let whole = of_steps * change.rest;
                let is_near = (whole / change.ratio.value - 1.0).abs() < 1e-6;
                assert!(is_near || !whole.is_normal(), "{whole} is not {}", change.ratio.value);
            }
        }
    }
}
