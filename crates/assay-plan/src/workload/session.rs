//! Session settings of a test.

use assay_model::limits::user::SETTINGS;
use assay_model::{Dialect, SessionSetting, SettingError};
use toml::de::DeValue;

use crate::document::{Fault, Value, all};
use crate::nearest::nearest;

/// In the order in which they are set.
pub(super) fn settings(value: &Value<'_>) -> Result<Vec<SessionSetting>, Fault> {
    let table = value.table("a table such as `{ sql_mode = \"ANSI_QUOTES\" }`")?;
    if table.values().len() > SETTINGS {
        return Err(value.fault(format!("a session may have at most {SETTINGS} settings")));
    }
    let mut read = all(table.values().iter().map(setting))?;
    read.sort();
    if let Some(pair) = read.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
        let name = pair.first().map_or("", SessionSetting::name);
        return Err(value.fault(format!("`{name}` is set twice")));
    }
    Ok(read)
}

fn setting(value: &Value<'_>) -> Result<SessionSetting, Fault> {
    let text = match &value.value {
        DeValue::String(text) => text.to_string(),
        DeValue::Boolean(true) => "ON".to_owned(),
        DeValue::Boolean(false) => "OFF".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        _ => return Err(value.is_not("a text, a number, `true` or `false`")),
    };
    SessionSetting::new(value.key, &text).map_err(|error| match error {
        SettingError::Value(takes) => value.fault(format!("`{}` takes {takes}", value.key)),
        SettingError::Unknown => {
            let fault = Fault::at(
                value.key_span.clone(),
                format!("`{}` is no setting that assay sets in sessions", value.key),
            );
            let name = value.key.to_ascii_lowercase();
            let known = Dialect::ALL.into_iter().flat_map(SessionSetting::names);
            match nearest(&name, known) {
                Some(meant) => fault.hint(format!("did you mean `{meant}`")),
                None => fault.hint(
                    "docs/reference/workload-files.md lists them; an option of the server stands in the name of the \
                     system, such as `mysql@8.0+max_connections=500`",
                ),
            }
        }
    })
}
