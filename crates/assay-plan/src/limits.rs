//! Checks of numbers against their bounds.

use std::ops::RangeInclusive;

pub(crate) use assay_model::limits::{
    BLOCKS, CELLS, CLIENTS, NAME_BYTES, RESULTS, ROUNDS, ROWS, SYSTEMS, TABLES,
};

use assay_model::thousands;

use crate::error::{PlanError, PlanResult};

pub(crate) const FEWER_SYSTEMS: &str = "split the comparison into several studies";

pub(crate) fn in_range(
    option: &'static str,
    value: u32,
    range: &RangeInclusive<u32>,
) -> PlanResult<u32> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (thousands(*range.start()), thousands(*range.end()));
    Err(PlanError::out_of_range(option, value, format!("it must be between {least} and {most}")))
}

/// Fails for more items than a study may have. `fewer` is advice on how to reduce them.
pub(crate) fn at_most(
    what: &'static str,
    count: usize,
    most: usize,
    fewer: &'static str,
) -> PlanResult<()> {
    if count <= most { Ok(()) } else { Err(PlanError::TooMany { what, count, most, fewer }) }
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use super::*;
    use crate::{MachineFacts, Request, SystemRequest, plan};

    const MACHINE: MachineFacts =
        MachineFacts { cpus: 2, memory_mb: 1 << 30, disk_mb: 1 << 40, realtime: None };

    fn request(change: impl FnOnce(&mut Request)) -> Request {
        let mut request =
            Request::of_systems(&["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()]);
        change(&mut request);
        request
    }

    fn with_clients(most: u32) -> Request {
        request(|request| request.setups[0].clients = Some((1..=most).collect()))
    }

    #[test]
    fn a_plan_has_no_more_cells_than_a_ledger_takes() {
        assert_eq!(plan(&with_clients(312), MACHINE).unwrap().study.cells.len(), 32 * 312);
        let error = plan(&with_clients(313), MACHINE).unwrap_err();
        let message = "10,016 tests times setups are too many: a study may have 10,000";
        assert_eq!(error.to_string(), message);
        assert!(error.hints()[0].contains("`--clients`"), "{:?}", error.hints());
    }

    #[test]
    fn a_plan_has_no_more_systems_than_a_ledger_takes() {
        let with = |count, twin| {
            let change = |request: &mut Request| {
                request.systems = vec![SystemRequest::parse("mariadb@11.8"); count];
                request.twin = Some(twin);
            };
            plan(&request(change), MACHINE).map(|plan| plan.systems.len())
        };
        assert_eq!(with(SYSTEMS, false), Ok(SYSTEMS));
        assert!(matches!(with(SYSTEMS, true), Err(PlanError::TooMany { count: 101, .. })));
        // The count is checked before any of them is read.
        let wrong = request(|it| it.systems = vec![SystemRequest::parse("no system"); 10_000]);
        assert!(matches!(plan(&wrong, MACHINE), Err(PlanError::TooMany { count: 10_000, .. })));
    }
}
