//! Records at the bounds of valid values: everything that the ledger accepts can be judged and shown.

use proptest::prelude::*;

use crate::common;

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_record_can_be_judged_and_shown(record in common::record()) {
        assay_fuzz::show(&record);
    }
}
