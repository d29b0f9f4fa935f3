//! Formatting of counts.

/// A count with its noun: `1 test`, `2,000 tests`.
pub fn counted(number: impl Into<u64>, one: &str) -> String {
    let number = number.into();
    let end = if number == 1 { "" } else { "s" };
    format!("{} {one}{end}", thousands(number))
}

/// A number with separators: `2,000`.
pub fn thousands(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_thousands_are_separated() {
        let words = [0_u64, 1, 2, 999, 1000, 4_200_000].map(|number| counted(number, "row"));
        let expected = ["0 rows", "1 row", "2 rows", "999 rows", "1,000 rows", "4,200,000 rows"];
        assert_eq!(words, expected);
    }
}
