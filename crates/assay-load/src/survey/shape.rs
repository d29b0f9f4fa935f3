//! Objects that a survey finds, and the expected shape of our tables. Parts are compared separately, not as one text,
//! because names may contain anything.

use assay_model::Dialect;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    pub(super) dialect: Dialect,
    /// Database or schema of the objects, quoted for SQL.
    pub(super) schema: String,
    pub(super) objects: Vec<Object>,
    /// Whether the user may create tables there, as far as known beforehand.
    pub(super) may_create: bool,
    /// Whether the user would see triggers of all these tables.
    pub(super) sees_triggers: bool,
}

/// An object whose name the load needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) kind: ObjectKind,
    /// The table of an index.
    pub(super) of: Option<String>,
    /// Why it is not a table of an earlier load; `None` if it is one.
    pub(super) foreign: Option<String>,
    /// Description of an object that is kept and refers to it, so it cannot be dropped.
    pub(super) referrer: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Table,
    View,
    MaterializedView,
    Sequence,
    Index,
    ForeignTable,
    Type,
}

impl ObjectKind {
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::View => "VIEW",
            Self::MaterializedView => "MATERIALIZED VIEW",
            Self::Sequence => "SEQUENCE",
            Self::Index => "INDEX",
            Self::ForeignTable => "FOREIGN TABLE",
            Self::Type => "TYPE",
        }
    }
}

pub(super) fn quoted(dialect: Dialect, name: &str) -> String {
    let mark = dialect.quote();
    format!("{mark}{}{mark}", name.replace(mark, &format!("{mark}{mark}")))
}

/// `'sbtest1', 'sbtest2', ...`
pub(super) fn listed_names(stem: &str, tables: u32) -> String {
    let names: Vec<String> = (1..=tables).map(|number| format!("'{stem}{number}'")).collect();
    names.join(", ")
}

/// A server's column, with types and defaults normalized to those of [`COLUMNS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TableColumn {
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
pub(super) struct TableIndex {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) is_primary: bool,
    pub(super) is_unique: bool,
}

/// Why these are not the columns of our tables; `None` if they are.
pub(super) fn odd_columns(columns: &[TableColumn]) -> Option<String> {
    let is_ours = columns.len() == COLUMNS.len()
        && columns
            .iter()
            .zip(COLUMNS)
            .all(|(own, (name, kind, _))| !own.is_nullable && own.name == name && own.kind == kind);
    if !is_ours {
        let columns: Vec<String> = columns.iter().map(column_words).collect();
        return Some(format!("has the columns ({})", columns.join(", ")));
    }
    columns.iter().zip(COLUMNS).find_map(|(column, (name, _, default))| {
        if !column.extra.is_empty() {
            Some(format!("has a column `{name}` that is {}", column.extra))
        } else if column.default != default {
            Some(format!("has the default {} for the column `{name}`", column.default))
        } else {
            None
        }
    })
}

fn column_words(column: &TableColumn) -> String {
    let is_plain = |mark: char| mark.is_ascii_alphanumeric() || mark == '_';
    let mark = if column.name.chars().all(is_plain) { "" } else { "`" };
    let null = if column.is_nullable { " null" } else { "" };
    format!("{mark}{}{mark} {}{null}", column.name, column.kind)
}

/// The first index that is not ours. Ours are one of `id`, primary key or not, and one of `k`.
pub(super) fn odd_index(indexes: &[TableIndex]) -> Option<String> {
    let (mut ids, mut ks) = (0, 0);
    let odd = indexes.iter().find(|index| match (index.columns.as_slice(), index.is_unique) {
        ([column], is_unique) if column == "id" && index.is_primary == is_unique => {
            ids += 1;
            ids > 1
        }
        ([column], false) if column == "k" => {
            ks += 1;
            ks > 1
        }
        _ => true,
    });
    odd.map(|index| format!("has the index `{}`", index.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Vec<TableColumn> {
        let column = |(name, kind, default): (&str, &str, &str)| TableColumn {
            name: name.into(),
            kind: kind.into(),
            default: default.into(),
            ..TableColumn::default()
        };
        COLUMNS.map(column).into()
    }

    fn index(column: &str, is_primary: bool, is_unique: bool) -> TableIndex {
        let columns = column.split(' ').map(str::to_owned).collect();
        TableIndex { name: "mine".into(), columns, is_primary, is_unique }
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
