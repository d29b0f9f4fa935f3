//! Consistency conditions 1 to 4 (clause 3.3.2), as queries for violations.

/// A condition that holds whenever no transaction is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TpccCondition {
    pub number: u32,
    pub demands: &'static str,
    /// Query for one violation; no rows if the condition holds.
    pub violation: &'static str,
    pub columns: &'static [&'static str],
}

pub const TPCC_CONDITIONS: [TpccCondition; 4] = [
    TpccCondition {
        number: 1,
        demands: "W_YTD is the sum of D_YTD",
        violation: "SELECT w_id, w_ytd, SUM(d_ytd) FROM warehouse LEFT JOIN district ON d_w_id = w_id \
                    GROUP BY w_id, w_ytd HAVING w_ytd <> COALESCE(SUM(d_ytd), 0) ORDER BY w_id LIMIT 1",
        columns: &["warehouse", "W_YTD", "sum of D_YTD"],
    },
    TpccCondition {
        number: 2,
        demands: "D_NEXT_O_ID - 1 is the highest O_ID and the highest NO_O_ID",
        violation: "SELECT d_w_id, d_id, d_next_o_id - 1, o_last, no_last FROM district \
                    LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o_last FROM orders GROUP BY o_w_id, o_d_id) AS o \
                    ON o_w_id = d_w_id AND o_d_id = d_id \
                    LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS no_last FROM new_order \
                    GROUP BY no_w_id, no_d_id) AS n ON no_w_id = d_w_id AND no_d_id = d_id \
                    WHERE d_next_o_id - 1 <> COALESCE(o_last, 0) OR d_next_o_id - 1 <> no_last \
                    ORDER BY d_w_id, d_id LIMIT 1",
        columns: &["warehouse", "district", "D_NEXT_O_ID - 1", "highest O_ID", "highest NO_O_ID"],
    },
    TpccCondition {
        number: 3,
        demands: "the numbers of new orders have no gaps",
        violation: "SELECT no_w_id, no_d_id, MAX(no_o_id) - MIN(no_o_id) + 1, COUNT(*) FROM new_order \
                    GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) \
                    ORDER BY no_w_id, no_d_id LIMIT 1",
        columns: &["warehouse", "district", "highest NO_O_ID - lowest + 1", "new orders"],
    },
    TpccCondition {
        number: 4,
        demands: "the sum of O_OL_CNT is the number of lines of orders",
        violation: "SELECT o_w_id, o_d_id, wanted, present FROM \
                    (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS wanted FROM orders GROUP BY o_w_id, o_d_id) AS o \
                    LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS present FROM order_line \
                    GROUP BY ol_w_id, ol_d_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id \
                    WHERE wanted <> COALESCE(present, 0) ORDER BY o_w_id, o_d_id LIMIT 1",
        columns: &["warehouse", "district", "sum of O_OL_CNT", "lines"],
    },
];

impl TpccCondition {
    #[must_use]
    pub fn told<'v>(&self, values: impl Iterator<Item = Option<&'v str>>) -> String {
        let pair = |(column, value): (&&str, Option<&str>)| {
            format!("{column} {}", value.unwrap_or("none"))
        };
        self.columns.iter().zip(values).map(pair).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_names_its_values() {
        let values = [Some("1"), Some("4"), Some("3005"), None, Some("3004")];
        assert_eq!(
            TPCC_CONDITIONS[1].told(values.into_iter()),
            "warehouse 1, district 4, D_NEXT_O_ID - 1 3005, highest O_ID none, highest NO_O_ID 3004"
        );
    }
}
