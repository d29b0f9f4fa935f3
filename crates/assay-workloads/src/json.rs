//! Parses JSON arrays and keeps the text of numbers: parsing would round them.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json<'t> {
    Null,
    Truth(bool),
    /// Original notation.
    Number(&'t str),
    /// Without quotes and escapes.
    Text(String),
    /// With its brackets.
    Array(&'t str),
    /// With its braces.
    Object(&'t str),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("this is no JSON array")]
    NoArray,
    #[error("`{0}` is no JSON value")]
    NoValue(String),
}

pub(crate) fn elements(text: &str) -> Result<Vec<Json<'_>>, JsonError> {
    let inside = text.trim().strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let mut rest = inside.ok_or(JsonError::NoArray)?.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = length_of(rest).ok_or(JsonError::NoArray)?;
        let (part, after) = rest.split_at_checked(length).ok_or(JsonError::NoArray)?;
        found.push(value(part.trim_end())?);
        let after = after.trim_start();
        rest = match after.strip_prefix(',').map(str::trim_start) {
            Some("") => return Err(JsonError::NoArray),
            Some(next) => next,
            None if after.is_empty() => "",
            None => return Err(JsonError::NoArray),
        };
    }
    Ok(found)
}

/// Bytes of the value at the beginning; `None` if it is unterminated.
fn length_of(text: &str) -> Option<usize> {
    let opens = text.as_bytes().first()?;
    if !matches!(opens, b'"' | b'[' | b'{') {
        return Some(text.find(',').unwrap_or(text.len()));
    }
    let (mut depth, mut is_text, mut is_escaped) = (0_u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 && !is_text {
            return Some(at + 1);
        }
    }
    None
}

fn value(text: &str) -> Result<Json<'_>, JsonError> {
    let fail = || JsonError::NoValue(text.chars().take(40).collect());
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).map(Json::Text).map_err(|_| fail()),
        Some(b'[') => Ok(Json::Array(text)),
        Some(b'{') => Ok(Json::Object(text)),
        _ => match text {
            "null" => Ok(Json::Null),
            "true" => Ok(Json::Truth(true)),
            "false" => Ok(Json::Truth(false)),
            // JSON's grammar of numbers only: no server keywords such as `inf`.
            number => serde_json::from_str::<serde_json::Number>(number)
                .map(|_| Json::Number(number))
                .map_err(|_| fail()),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_keep_their_text() {
        let found = elements(" [1.500, -0, 12345678901234567890, 1E+2 ,0.1] ").unwrap();
        let texts = ["1.500", "-0", "12345678901234567890", "1E+2", "0.1"];
        assert_eq!(found, texts.map(Json::Number));
        for wrong in
            ["[1,]", "[,1]", "[1 2]", "[+1]", "[.5]", "[inf]", "[1", "1]", "[\"a]", "[]]", ""]
        {
            assert!(elements(wrong).is_err(), "{wrong}");
        }
        assert_eq!(elements("[]").unwrap(), []);
    }

    #[test]
    fn brackets_in_texts_mean_nothing() {
        let found = elements(r#"["a]\"[", [1, "]"], {"hex": "}"}, null, false]"#).unwrap();
        let expected = [
            Json::Text("a]\"[".to_owned()),
            Json::Array(r#"[1, "]"]"#),
            Json::Object(r#"{"hex": "}"}"#),
            Json::Null,
            Json::Truth(false),
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn arrays_are_read_as_by_a_parser(text in r#"\[[\[\]{},"\\a1:. -]{0,16}\]"#) {
            let parsed = serde_json::from_str::<Vec<serde_json::Value>>(&text);
            // Inner arrays and objects are parsed later.
            if let Ok(parsed) = parsed {
                prop_assert_eq!(elements(&text).map(|it| it.len()), Ok(parsed.len()));
            }
        }
    }
}
