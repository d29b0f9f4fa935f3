//! Options of sysbench itself, which scripts read too.

use assay_model::Distribution;
use mlua::Table;

use crate::error::{Error, Result};
use crate::setting::{ScriptDraws, Setting};

/// The largest parameter of a random distribution.
const PARAMETER_MAX: f64 = 100.0;

/// Options that belong to sysbench, and what does the same in assay.
const OF_SYSBENCH: [(&str, &str); 16] = [
    ("threads", "use `--clients`"),
    ("time", "use `--budget` in a study, or `--time` of `bench`"),
    ("events", "use `--events` of `bench`"),
    ("warmup-time", "assay warms up by itself"),
    ("report-interval", "use `--report-interval` of `bench`"),
    ("rate", "use `--rate` of `bench`"),
    ("percentile", "leave it out: reports have several percentiles"),
    ("histogram", "leave it out: the ledger keeps every response time"),
    ("verbosity", "leave it out"),
    ("db-driver", "leave it out: the system decides"),
    ("db-ps-mode", "use `--db-ps-mode` before `--`"),
    ("db-debug", "leave it out"),
    ("debug", "leave it out"),
    ("validate", "leave it out"),
    ("rand-seed", "use `--seed`"),
    ("mysql-ignore-errors", "use `--ignore-errors` of `bench`"),
];

/// What to do in place of an option of sysbench itself, if it is one.
pub(crate) fn of_sysbench(name: &str) -> Option<&'static str> {
    let name = name.replace('_', "-");
    if name.starts_with("mysql-") || name.starts_with("pgsql-") {
        return Some("leave it out: assay connects to the systems that are compared");
    }
    OF_SYSBENCH.iter().find(|(known, _)| *known == name).map(|(_, instead)| *instead)
}

/// Reads options: `--name=value` or `name=value`, or `--name` for one that is on. Names have dashes in the end.
pub fn parse_options(words: &[String]) -> Result<Vec<(String, String)>> {
    let option = |word: &String| {
        let option =
            word.strip_prefix("--").or(Some(word).filter(|it| it.contains('=')).map(|it| &**it));
        let is_name = |it: &&str| !it.is_empty() && !it.starts_with(['=', '-']);
        let option = option.filter(is_name);
        let option = option.ok_or_else(|| Error::NoOption(word.clone()))?;
        let (name, value) = option.split_once('=').unwrap_or((option, "on"));
        Ok((name.replace('_', "-"), value.to_owned()))
    };
    words.iter().map(option).collect()
}

/// How a script draws: as its options say, and else as in sysbench 1.0.20. Returns the options that are left for the
/// script.
pub fn take_distribution(
    options: Vec<(String, String)>,
) -> Result<(ScriptDraws, Vec<(String, String)>)> {
    let ScriptDraws { pareto_h: mut h, zipfian_exp: mut s, .. } = ScriptDraws::default();
    let mut kind = "special".to_owned();
    let mut left = Vec::with_capacity(options.len());
    for (name, value) in options {
        let number = || {
            let wrong = || Error::Value { name: name.clone(), value: value.clone() };
            let is_one = |it: &f64| (0.0..=PARAMETER_MAX).contains(it);
            value.parse::<f64>().ok().filter(is_one).ok_or_else(wrong)
        };
        match name.as_str() {
            "rand-type" => kind = value,
            "rand-pareto-h" => h = number()?,
            "rand-zipfian-exp" => s = number()?,
            _ => left.push((name, value)),
        }
    }
    if !(h > 0.0 && h < 1.0) {
        return Err(Error::Value { name: "rand-pareto-h".to_owned(), value: h.to_string() });
    }
    let usual = match kind.as_str() {
        "special" => Distribution::Special,
        "uniform" => Distribution::Uniform,
        "gaussian" => Distribution::Gaussian,
        "pareto" => Distribution::Pareto { h },
        "zipfian" => Distribution::Zipfian { s },
        _ => return Err(Error::Value { name: "rand-type".to_owned(), value: kind }),
    };
    Ok((ScriptDraws { usual, pareto_h: h, zipfian_exp: s }, left))
}

/// Adds the values of sysbench's own options that scripts read in `sysbench.opt`.
pub(crate) fn add_general(options: &Table, setting: &Setting) -> mlua::Result<()> {
    let zero = ["events", "time", "report_interval", "rate", "warmup_time", "rand_seed"];
    for name in zero {
        options.set(name, 0)?;
    }
    for name in ["debug", "histogram", "validate", "db_debug"] {
        options.set(name, false)?;
    }
    options.set("threads", setting.threads)?;
    options.set("percentile", 95)?;
    options.set("verbosity", 3)?;
    options.set("db_driver", setting.driver)?;
    options.set("db_ps_mode", "auto")?;
    for (name, value) in &setting.connection {
        options.set(name.as_str(), value.as_str())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Vec<(String, String)>> {
        parse_options(&words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_have_names_and_values() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let options = of(&["--tables=4", "--table_size=10", "--auto-inc"]).unwrap();
        assert_eq!(
            options,
            [pair("tables", "4"), pair("table-size", "10"), pair("auto-inc", "on")]
        );
        assert_eq!(of(&["tables=4"]).unwrap(), [pair("tables", "4")]);
        for word in ["tables", "--", "--=4", "=4", "-t", "-t=4", "---t=4"] {
            assert!(of(&[word]).is_err(), "{word}");
        }
        assert_eq!(of_sysbench("mysql_host").map(|it| &it[..9]), Some("leave it "));
        assert_eq!(of_sysbench("threads"), Some("use `--clients`"));
        assert_eq!(of_sysbench("tables"), None);
    }

    #[test]
    fn a_script_draws_as_its_options_say() {
        let taken = |words: &[&str]| take_distribution(of(words).unwrap());
        assert_eq!(taken(&[]).unwrap().0, ScriptDraws::default());
        let (draw, left) =
            taken(&["--rand-type=zipfian", "--rand-zipfian-exp=1", "--x=1"]).unwrap();
        assert_eq!((draw.usual, left.len()), (Distribution::Zipfian { s: 1.0 }, 1));
        assert_eq!((draw.pareto_h, draw.zipfian_exp), (0.2, 1.0));
        for words in [["--rand-type=no", "--x"], ["--rand-type=pareto", "--rand-pareto-h=1"]] {
            assert!(taken(&words).is_err());
        }
    }
}
