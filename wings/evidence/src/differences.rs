//! Differences between two JSON documents.

use assay_model::shortened;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    /// Such as `cells[3].rqps.value (point-query, mariadb@11.8)`.
    pub(super) place: String,
    pub(super) recorded: String,
    pub(super) computed: String,
}

pub(super) fn between(recorded: &Value, computed: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(recorded, computed, &Place::default(), &mut found);
    found
}

#[derive(Clone, Default)]
struct Place {
    path: String,
    item: String,
}

impl Place {
    fn field(&self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self { path: format!("{}{dot}{name}", self.path), item: self.item.clone() }
    }

    fn item(&self, number: usize, item: &Value) -> Self {
        let names = ["test", "group", "setting", "clients", "system"];
        let name = |name: &&str| match item.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(clients) => Some(format!("{clients} clients")),
            _ => None,
        };
        let names: Vec<String> = names.iter().filter_map(name).collect();
        let item = if names.is_empty() { self.item.clone() } else { names.join(", ") };
        Self { path: format!("{}[{number}]", self.path), item }
    }

    fn text(&self) -> String {
        let Self { path, item } = self;
        if item.is_empty() { path.clone() } else { format!("{path} ({item})") }
    }
}

fn compare(recorded: &Value, computed: &Value, place: &Place, found: &mut Vec<Difference>) {
    match (recorded, computed) {
        (Value::Object(one), Value::Object(other)) => {
            let added = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(added) {
                let of = |fields: &serde_json::Map<String, Value>| fields.get(key).cloned();
                let (one, other) = (of(one), of(other));
                match one.as_ref().zip(other.as_ref()) {
                    Some((one, other)) => compare(one, other, &place.field(key), found),
                    None => found.push(differs(&place.field(key), one.as_ref(), other.as_ref())),
                }
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            for at in 0..one.len().max(other.len()) {
                let (one, other) = (one.get(at), other.get(at));
                let place = place.item(at, one.or(other).unwrap_or(&Value::Null));
                match one.zip(other) {
                    Some((one, other)) => compare(one, other, &place, found),
                    None => found.push(differs(&place, one, other)),
                }
            }
        }
        _ if recorded == computed => {}
        _ => found.push(differs(place, Some(recorded), Some(computed))),
    }
}

fn differs(place: &Place, recorded: Option<&Value>, computed: Option<&Value>) -> Difference {
    let shown = |value: Option<&Value>| match value {
        None => "nothing".to_owned(),
        Some(value) => shortened(&value.to_string()).into_owned(),
    };
    Difference { place: place.text(), recorded: shown(recorded), computed: shown(computed) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_named_by_cell_and_system() {
        let of = |rqps: Value, more: Value| {
            json!({"study": {"id": "a"}, "cells": [
                {"test": "scan", "clients": 4, "system": "b", "rqps": {"value": rqps}}, more,
            ]})
        };
        let message = |one: &Value, other: &Value| {
            let found = between(one, other).into_iter();
            found
                .map(|it| format!("{}: {} {}", it.place, it.recorded, it.computed))
                .collect::<Vec<_>>()
        };
        let recorded = of(json!(1.5), Value::Null);
        assert_eq!(message(&recorded, &recorded), Vec::<String>::new());
        let computed = of(json!(1.25), json!({"test": "x", "why": null}));
        assert_eq!(
            message(&recorded, &computed),
            [
                "cells[0].rqps.value (scan, 4 clients, b): 1.5 1.25",
                r#"cells[1]: null {"test":"x","why":null}"#
            ]
        );
        let missing = json!({"study": {}, "cells": recorded["cells"][0]});
        assert_eq!(
            message(&json!({"study": {"id": 1}, "cells": []}), &json!({"study": {}, "cells": [2]})),
            ["cells[0]: nothing 2", "study.id: 1 nothing"]
        );
        assert_eq!(message(&recorded, &missing).len(), 2);
    }
}
