//! Drawings of quantities over time or over client counts, a line for each system.

/// Columns of a drawing. With more seconds, a column spans several, from the least to the most.
pub(crate) const COLUMNS: u32 = 240;

pub(crate) const HEIGHT: f64 = 60.0;

/// Upper end of a drawing, relative to the largest value.
const ROOM: f64 = 1.2;

/// Maximum number of connected values per line; more are drawn as vertical strokes.
const CONNECTED: usize = 60;

/// A drawing with a line for each system.
pub struct Chart {
    pub(crate) title: String,
    /// Both ends of the axes.
    pub(crate) caption: String,
    pub(crate) ticks: Vec<String>,
    pub(crate) lines: Vec<ChartLine>,
}

pub(crate) struct ChartLine {
    /// From 0.
    pub(crate) system: usize,
    pub(crate) path: String,
}

/// A system and its values at equal distances; `None` if not measured.
pub type Values = (usize, Vec<Option<f64>>);

/// The scale starts at 0; `caption` gets its upper end. `None` without any value above 0.
pub fn chart(title: &str, values: &[Values], caption: impl FnOnce(f64) -> String) -> Option<Chart> {
    let known = values.iter().flat_map(|(_, values)| values.iter().flatten());
    let top = ROOM * known.copied().fold(0.0, f64::max);
    let columns = values.iter().map(|(_, values)| values.len()).max()?;
    let line = |(system, values): &Values| ChartLine {
        system: *system,
        path: match columns <= CONNECTED {
            true => connected(values, columns, top),
            false => strokes(values, columns, top),
        },
    };
    (top > 0.0 && top.is_finite()).then(|| Chart {
        title: title.to_owned(),
        caption: caption(top),
        ticks: Vec::new(),
        lines: values.iter().map(line).collect(),
    })
}

fn y(value: f64, top: f64) -> f64 {
    HEIGHT * (1.0 - value / top)
}

/// Line segments from value to value. An isolated value is a short stroke.
fn connected(values: &[Option<f64>], columns: usize, top: f64) -> String {
    let width = f64::from(COLUMNS) / columns as f64;
    let mut path = String::new();
    let mut goes_on = false;
    for (number, value) in values.iter().enumerate() {
        let Some(value) = value else {
            goes_on = false;
            continue;
        };
        let (x, y) = ((number as f64 + 0.5) * width, y(*value, top));
        path += &match goes_on {
            true => format!("L{x:.0} {y:.1}"),
            false => format!("M{:.1} {y:.1}H{x:.0}", x - 0.8),
        };
        goes_on = true;
    }
    path
}

fn strokes(values: &[Option<f64>], columns: usize, top: f64) -> String {
    let of_column = columns.div_ceil(COLUMNS as usize).max(1);
    let width = f64::from(COLUMNS) / columns.div_ceil(of_column) as f64;
    let stroke = |(column, values): (usize, &[Option<f64>])| {
        let known = || values.iter().flatten().copied();
        let (least, most) = (known().reduce(f64::min)?, known().reduce(f64::max)?);
        let x = (column as f64 + 0.5) * width;
        // A stroke without length would not be drawn.
        Some(format!("M{x:.1} {:.1}V{:.1}", y(least, top) + 0.4, y(most, top) - 0.4))
    };
    values.chunks(of_column).enumerate().filter_map(stroke).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_seen_however_long_the_step() {
        let mut values = vec![Some(100.0); 2400];
        values[1234] = Some(0.0);
        let path = strokes(&values, values.len(), 120.0);
        assert_eq!(path.matches('M').count(), 240);
        assert!(path.contains("M123.5 60.4V9.6"), "{path}");
        assert!(path.starts_with("M0.5 10.4V9.6"), "{path}");
    }

    #[test]
    fn few_values_are_connected_and_gaps_are_not() {
        let values = [Some(10.0), Some(20.0), None, Some(5.0)];
        assert_eq!(connected(&values, 4, 20.0), "M29.2 30.0H30L90 0.0M209.2 45.0H210");
    }

    #[test]
    fn nothing_measured_is_no_chart() {
        assert!(chart("x", &[(0, vec![None, None])], |_| String::new()).is_none());
        assert!(chart("x", &[], |_| String::new()).is_none());
    }
}
