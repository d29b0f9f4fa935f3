//! Files of results: one JSON value on each line, appended as soon as it is known.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde_json::Value;

#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    values: Vec<Value>,
}

impl Lines {
    /// The file need not exist. An incomplete last line, left by an interruption, is removed.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
        let whole = text.rfind('\n').map_or("", |end| text.get(..=end).unwrap_or_default());
        let of_line = |(number, line): (usize, &str)| {
            serde_json::from_str(line)
                .with_context(|| format!("{}, line {}", path.display(), number + 1))
        };
        let values = whole.lines().enumerate().map(of_line).collect::<Result<_>>()?;
        let lines = Self { path: path.to_owned(), values };
        if whole.len() < text.len() {
            lines.write()?;
        }
        Ok(lines)
    }

    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(super) fn push(&mut self, value: Value) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(format!("{value}\n").as_bytes())?;
        self.values.push(value);
        Ok(())
    }

    pub(super) fn replace(&mut self, values: Vec<Value>) -> Result<()> {
        if values != self.values {
            self.values = values;
            self.write()?;
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, is_removed: impl Fn(&Value) -> bool) -> Result<usize> {
        let kept: Vec<Value> =
            self.values.iter().filter(|value| !is_removed(value)).cloned().collect();
        let removed = self.values.len() - kept.len();
        self.replace(kept)?;
        Ok(removed)
    }

    fn write(&self) -> Result<()> {
        let text: String = self.values.iter().map(|value| format!("{value}\n")).collect();
        let beside = self.path.with_extension("new");
        fs::write(&beside, text)?;
        fs::rename(&beside, &self.path)?;
        Ok(())
    }
}

/// 0 if missing.
pub(super) fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or(0.0)
}

/// Empty if missing.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_torn_last_line_is_dropped_and_written_again() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("deeper/results.jsonl");
        let mut lines = Lines::open(&path).unwrap();
        lines.push(json!({"a": 1})).unwrap();
        fs::write(&path, "{\"a\":1}\n{\"a\":2").unwrap();
        let mut lines = Lines::open(&path).unwrap();
        assert_eq!(lines.values(), [json!({"a": 1})]);
        lines.push(json!({"a": 2})).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":1}\n{\"a\":2}\n");
        assert_eq!(lines.remove(|it| number(it, "a") < 2.0).unwrap(), 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":2}\n");
    }

    #[test]
    fn a_line_that_is_no_json_is_an_error_with_its_place() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("results.jsonl");
        fs::write(&path, "{}\nwhat\n{}\n").unwrap();
        let error = Lines::open(&path).unwrap_err();
        assert!(error.to_string().ends_with("results.jsonl, line 2"), "{error}");
    }
}
