//! The output of `SHOW CREATE TABLE`, in any form of a client.

use std::collections::{BTreeMap, BTreeSet};

const CREATE: &str = "CREATE TABLE ";

/// Options of tables, with the facts that they give.
const OPTIONS: [(&str, &str); 4] = [
    ("ENGINE", "table.engine"),
    ("CHARSET", "table.charset"),
    ("COLLATE", "table.collation"),
    ("ROW_FORMAT", "table.row_format"),
];

/// The options that all tables have, each with the values of all of them in alphabetical order. An option that a table
/// lacks is a default, which depends on the version.
pub(crate) fn table_facts(text: &str) -> BTreeMap<String, String> {
    let tables: Vec<&str> = text.split(CREATE).skip(1).filter_map(options_of).collect();
    let mut facts = BTreeMap::new();
    for (option, fact) in OPTIONS {
        let values: Option<BTreeSet<&str>> = tables.iter().map(|it| value_of(it, option)).collect();
        if let Some(values) = values.filter(|values| !values.is_empty()) {
            facts.insert(fact.to_owned(), values.into_iter().collect::<Vec<_>>().join(","));
        }
    }
    facts
}

/// The options behind the columns of a table. In the client's batch form, a line ends with the letters `\n`.
fn options_of(table: &str) -> Option<&str> {
    let at = table.rfind(") ENGINE=")? + 2;
    let options = table.get(at..)?;
    let ends = ["\n", "\\n", "|", ";", " COMMENT="];
    let end = ends.iter().filter_map(|end| options.find(end)).min().unwrap_or(options.len());
    options.get(..end)
}

fn value_of<'a>(options: &'a str, option: &str) -> Option<&'a str> {
    let mut words = options.split_whitespace().filter_map(|word| word.split_once('='));
    words.find(|(name, _)| *name == option).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Vec<String> {
        table_facts(text).into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn tables_are_read_in_each_form_of_the_client() {
        let expected = ["table.charset=latin1", "table.engine=InnoDB"];
        let vertical = "*** 1. row ***\n       Table: t\nCreate Table: CREATE TABLE `t` (\n  `id` int NOT NULL\n\
                        ) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=latin1 COMMENT='COLLATE=x'\n";
        let bordered = "| t     | CREATE TABLE `t` (\n  `id` int NOT NULL\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 |\n";
        let batch = "Table\tCreate Table\nt\tCREATE TABLE `t` (\\n  `id` int\\n\
                     ) ENGINE=InnoDB DEFAULT CHARSET=latin1\n";
        for text in [vertical, bordered, batch] {
            assert_eq!(facts(text), expected, "{text}");
        }
    }

    #[test]
    fn several_tables_give_what_all_of_them_have() {
        let text = "CREATE TABLE `a` (\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;\n\
                    CREATE TABLE `b` (\n) ENGINE=MyISAM DEFAULT CHARSET=utf8mb4 ROW_FORMAT=COMPRESSED\n";
        assert_eq!(facts(text), ["table.charset=utf8mb4", "table.engine=InnoDB,MyISAM"]);
        assert_eq!(facts("CREATE TABLE t (a int)"), [""; 0]);
        assert_eq!(facts(""), [""; 0]);
    }
}
