//! The noise of a machine, as measured by `assay doctor`.

use serde_json::Value;

use super::Plot;
use super::svg::{self, Axis, Point, Series};

/// The autocorrelation of the machine's speed by lag; empty if the document has none.
pub(super) fn plot(doctor: &Value) -> Plot {
    let found = found(doctor).into_iter().flatten();
    let point = |it: &Value| {
        let (at, value) = (it["lag_ms"].as_f64()?, it["value"].as_f64()?);
        Some(Point { at, value, low: value, high: value })
    };
    let points: Vec<Point> = found.filter_map(point).filter(|it| it.at > 0.0).collect();
    if points.is_empty() {
        return Plot { name: "noise", svg: String::new() };
    }
    let x = Axis::logarithmic("time between two moments, ms", points.iter().map(|it| it.at));
    let values = points.iter().map(|it| it.value).chain([1.0]);
    let y = Axis::from_zero("autocorrelation of the machine's speed", values);
    let series = [Series { name: String::new(), points }];
    let title = "How long the machine's speed stays as it is";
    Plot { name: "noise", svg: svg::lines(title, &x, &y, &series) }
}

/// The list `correlations`, anywhere in the document.
fn found(value: &Value) -> Option<&Vec<Value>> {
    match value {
        Value::Object(parts) => match parts.get("correlations") {
            Some(Value::Array(list)) => Some(list),
            _ => parts.values().find_map(found),
        },
        Value::Array(parts) => parts.iter().find_map(found),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_correlations_are_found_and_drawn() {
        let list = json!([{"lag_ms": 2.0, "value": 0.9}, {"lag_ms": 200.0, "value": 0.1}]);
        let drawn = plot(&json!({"host": {"doctor": {"noise": {"correlations": list}}}}));
        assert_eq!(drawn.svg.matches("<circle").count(), 2);
        assert_eq!(plot(&json!({"host": [null, {}]})).svg, "");
    }
}
