//! Records at the bounds of valid values: everything that the ledger accepts can be judged and shown.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[path = "../../assay-ledger/tests/common/mod.rs"]
mod common;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_record_can_be_judged_and_shown(record in common::record()) {
        assay_fuzz::show(&record);
    }
}
