//! Ratios as the posts print them.

/// As in the posts, 1 if both are zero; `None` if only the base is zero.
#[must_use]
pub fn ratio(value: f64, base: f64) -> Option<f64> {
    match (value == 0.0, base == 0.0) {
        (true, true) => Some(1.0),
        (false, true) => None,
        _ => Some(value / base),
    }
}

/// As printed in the posts: two decimals, `1` if both are zero, `inf` if only the base is.
#[must_use]
pub fn printed_ratio(value: f64, base: f64) -> String {
    match ratio(value, base) {
        Some(_) if value == 0.0 && base == 0.0 => "1".to_owned(),
        Some(ratio) => format!("{ratio:.2}"),
        None => "inf".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_have_rules_of_their_own() {
        let printed = [(3926.0, 4527.0), (0.0, 0.0), (1.0, 0.0), (0.0, 5.0)];
        let printed = printed.map(|(value, base)| printed_ratio(value, base));
        assert_eq!(printed, ["0.87", "1", "inf", "0.00"]);
    }
}
