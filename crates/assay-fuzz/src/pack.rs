//! Untrusted packs: damaged containers, and ledgers in them that no assay writes.

use std::path::Path;

use assay_ledger::Ledger;
use assay_pack::{LEDGER, MEMBERS, Pack};

use crate::ledger;

pub(crate) fn file(bytes: &[u8]) {
    let Ok(pack) = Pack::read(bytes) else { return };
    let contents = MEMBERS.map(|name| pack.member(name).to_vec());
    if pack.altered().is_empty() {
        let same = Pack::new(&pack.manifest.study, &pack.manifest.assay, contents);
        let same = same.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(same, pack, "the manifest is the one that assay writes");
        let bytes = same.bytes();
        assert_eq!(Pack::read(&bytes).ok(), Some(pack.clone()));
    }
    if let Ok(packed) = Ledger::of_bytes(pack.member(LEDGER), Path::new(LEDGER)) {
        ledger::read(&packed);
        copy(&packed);
    }
}

/// Whatever can be read can be copied.
fn copy(ledger: &Ledger) {
    let Ok(Some(id)) = ledger.latest() else { return };
    let Ok(rows) = ledger.rows(&id) else { return };
    let Ok(bytes) = Ledger::bytes_of(std::slice::from_ref(&rows)) else { return };
    let copied =
        Ledger::of_bytes(&bytes, Path::new(LEDGER)).unwrap_or_else(|error| panic!("{error}"));
    let read = copied.rows(&id).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read, rows);
}
