//! The expected shape of our tables. Parts are compared separately, not as one text, because names may contain
//! anything.

/// A server's column, with types and defaults normalized to those of [`COLUMNS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) is_nullable: bool,
    /// Without quotes; empty if absent.
    pub(super) default: String,
    /// Other properties, such as `stored generated`; without the counter of `id`.
    pub(super) extra: String,
}

/// Names, types and defaults.
const COLUMNS: [(&str, &str, &str); 4] =
    [("id", "integer", ""), ("k", "integer", "0"), ("c", "char(120)", ""), ("pad", "char(60)", "")];

/// Columns of an index. The name of an expression never matches one of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) is_primary: bool,
    pub(super) is_unique: bool,
}

/// Why these are not the columns of our tables; `None` if they are.
pub(super) fn odd_columns(columns: &[Column]) -> Option<String> {
    let is_ours = columns.len() == COLUMNS.len()
        && columns
            .iter()
            .zip(COLUMNS)
            .all(|(it, (name, kind, _))| !it.is_nullable && it.name == name && it.kind == kind);
    if !is_ours {
        let message: Vec<String> = columns.iter().map(message).collect();
        return Some(format!("has the columns ({})", message.join(", ")));
    }
    columns.iter().zip(COLUMNS).find_map(|(it, (name, _, default))| {
        if !it.extra.is_empty() {
            Some(format!("has a column `{name}` that is {}", it.extra))
        } else if it.default != default {
            Some(format!("has the default {} for the column `{name}`", it.default))
        } else {
            None
        }
    })
}

fn message(it: &Column) -> String {
    let is_plain = |mark: char| mark.is_ascii_alphanumeric() || mark == '_';
    let mark = if it.name.chars().all(is_plain) { "" } else { "`" };
    let null = if it.is_nullable { " null" } else { "" };
    format!("{mark}{}{mark} {}{null}", it.name, it.kind)
}

/// The first index that is not ours. Ours are one of `id`, primary key or not, and one of `k`.
pub(super) fn odd_index(indexes: &[Index]) -> Option<String> {
    let (mut ids, mut ks) = (0, 0);
    let odd = indexes.iter().find(|it| match (it.columns.as_slice(), it.is_unique) {
        ([column], is_unique) if column == "id" && it.is_primary == is_unique => {
            ids += 1;
            ids > 1
        }
        ([column], false) if column == "k" => {
            ks += 1;
            ks > 1
        }
        _ => true,
    });
    odd.map(|it| format!("has the index `{}`", it.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Vec<Column> {
        let column = |(name, kind, default): (&str, &str, &str)| Column {
            name: name.into(),
            kind: kind.into(),
            default: default.into(),
            ..Column::default()
        };
        COLUMNS.map(column).into()
    }

    fn index(column: &str, is_primary: bool, is_unique: bool) -> Index {
        let columns = column.split(' ').map(str::to_owned).collect();
        Index { name: "mine".into(), columns, is_primary, is_unique }
    }

    #[test]
    fn every_column_must_match_a_loaded_table() {
        assert_eq!(odd_columns(&ours()), None);
        let mut generated = ours();
        generated[1].extra = "stored generated".into();
        let why = odd_columns(&generated).unwrap();
        assert_eq!(why, "has a column `k` that is stored generated");
        let mut other = ours();
        other[0].default = "evil()".into();
        assert_eq!(odd_columns(&other).unwrap(), "has the default evil() for the column `id`");
        // Concatenated, it reads like ours.
        let mut named = ours();
        named.remove(1);
        named[0].name = "id integer, k".into();
        let why = odd_columns(&named).unwrap();
        assert_eq!(why, "has the columns (`id integer, k` integer, c char(120), pad char(60))");
        assert!(odd_columns(&[]).is_some() && odd_columns(&ours()[..3]).is_some());
    }

    #[test]
    fn a_loaded_table_has_an_index_on_id_and_one_on_k() {
        let (primary, secondary, k) =
            (index("id", true, true), index("id", false, false), index("k", false, false));
        for ours in [vec![], vec![primary.clone(), k.clone()], vec![secondary.clone(), k.clone()]] {
            assert_eq!(odd_index(&ours), None);
        }
        for other in [
            vec![primary.clone(), secondary],
            vec![primary.clone(), k.clone(), k],
            vec![index("c", false, false)],
            vec![index("k", false, true)],
            vec![index("id", false, true)],
            vec![index("id k", false, false)],
            vec![index("lower(c)", false, false)],
        ] {
            assert_eq!(odd_index(&other).unwrap(), "has the index `mine`");
        }
    }
}
