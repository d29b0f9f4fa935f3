//! Options of config files for all systems of a product, kept in requests as texts such as `mysql:
//! innodb_io_capacity=300` or `mysql@8.0 (my.cnf:12): innodb_io_capacity=300`, so that studies can be repeated without
//! the file.

use std::fmt;

use assay_model::Product;

use crate::error::{PlanError, PlanResult};
use crate::nearest::nearest;
use crate::system_name::{check_option, product_named, server_option};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommonOption {
    pub product: Product,
    /// The series whose servers read it; `None` for all.
    pub series: Option<String>,
    /// File and line that set it, such as `my.cnf:12`.
    pub place: Option<String>,
    pub name: String,
    pub value: String,
}

impl fmt::Display for CommonOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let series = self.series.as_ref().map_or_else(String::new, |series| format!("@{series}"));
        let place = self.place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
        write!(f, "{}{series}{place}: {}={}", self.product, self.name, self.value)
    }
}

/// Place of a line: the file name without directory and forbidden characters.
pub fn config_place(file: &str, line: usize) -> String {
    let is_usual = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name = file.rsplit('/').next().unwrap_or(file);
    let name: String = name.chars().map(|c| if is_usual(c) { c } else { '_' }).collect();
    format!("{name}:{line}")
}

impl CommonOption {
    pub fn read(text: &str) -> PlanResult<Self> {
        let fail =
            |why: &str| PlanError::CommonOption { text: text.to_owned(), why: why.to_owned() };
        let (scope, option) = text
            .split_once(": ")
            .ok_or_else(|| fail("write it as `mysql: innodb_io_capacity=300`"))?;
        let (scope, place) = match scope.split_once(" (") {
            Some((scope, place)) => (scope, place.strip_suffix(')').map(str::to_owned)),
            None => (scope, None),
        };
        let (word, series) = match scope.split_once('@') {
            Some((word, series)) => (word, Some(series.to_owned())),
            None => (scope, None),
        };
        let product = product_named(word).ok_or_else(|| fail("it names no product"))?;
        let (name, value) = option
            .split_once('=')
            .and_then(|(name, value)| server_option(name, value))
            .ok_or_else(|| fail("an option is written `name=value`"))?;
        check_option(product, &name, &value)?;
        Ok(Self { product, series, place, name, value })
    }
}

/// Options as texts without their places, which do not distinguish requests.
pub fn without_places(options: &[String]) -> Vec<String> {
    let without_place = |text: &String| match CommonOption::read(text) {
        Ok(option) => CommonOption { place: None, ..option }.to_string(),
        Err(_) => text.clone(),
    };
    options.iter().map(without_place).collect()
}

pub(crate) fn common_option(text: &str) -> PlanResult<String> {
    CommonOption::read(text).map(|option| option.to_string())
}

/// Product and path of a file for all systems: `my.cnf`, or `mysql=my.cnf` where products differ.
pub fn common_file(text: &str) -> PlanResult<(Option<Product>, &str)> {
    let fail = |why: String| PlanError::CommonOption { text: text.to_owned(), why };
    let Some((word, path)) = text.split_once('=') else { return Ok((None, text)) };
    if word.contains(['/', '.']) {
        return Ok((None, text));
    }
    match product_named(word) {
        Some(_) if path.is_empty() => Err(fail("the path is missing".to_owned())),
        Some(product) => Ok((Some(product), path)),
        None => {
            let meant = nearest(word, Product::ALL.map(Product::word));
            let meant = meant.map_or_else(
                || format!("`{word}` is no product; a path with a `=` is written `./{text}`"),
                |meant| format!("`{word}` is no product; did you mean `{meant}={path}`?"),
            );
            Err(fail(meant))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_an_option_is_no_part_of_what_is_asked_for() {
        let options = ["mysql (my.cnf:12): a=1", "mysql@8.0: b=2", "no option"].map(str::to_owned);
        assert_eq!(without_places(&options), ["mysql: a=1", "mysql@8.0: b=2", "no option"]);
    }

    #[test]
    fn an_option_is_written_as_it_is_read() {
        for text in [
            "mysql: innodb_io_capacity=300",
            "mariadb@10.11: sql_mode=A,B: c=d",
            "postgres: search_path=\"$user\", public",
            "mysql (my.cnf:12): init_connect=SET a: (b)",
            "mysql@8.0 (my_cnf.d_x:3): sync_binlog=1",
        ] {
            assert_eq!(common_option(text).unwrap(), text);
        }
        for (text, why) in [
            ("innodb_io_capacity=300", "write it as"),
            ("oracle: a=b", "no product"),
            ("mysql: ab", "name=value"),
            ("mysql: datadir=x", "cannot be set"),
        ] {
            let error = common_option(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_place_has_the_name_of_the_file_alone() {
        assert_eq!(config_place("/etc/mysql/my.cnf", 12), "my.cnf:12");
        assert_eq!(config_place("a): b", 1), "a___b:1");
    }

    #[test]
    fn a_file_may_be_for_one_product() {
        let read = |text| common_file(text).map_err(|error| error.to_string());
        assert_eq!(read("my.cnf"), Ok((None, "my.cnf")));
        assert_eq!(read("mysql=a=b.cnf"), Ok((Some(Product::MySql), "a=b.cnf")));
        assert_eq!(read("postgresql=/x"), Ok((Some(Product::Postgres), "/x")));
        assert_eq!(read("./a=b.cnf"), Ok((None, "./a=b.cnf")));
        assert!(read("mysq=my.cnf").unwrap_err().contains("did you mean `mysql=my.cnf`"));
        assert!(read("mysql=").unwrap_err().contains("missing"));
    }
}
