//! Options of sysbench that assay does not have, and what does their work here.

/// How long and how much: sysbench limits each run.
const TIME: &str = "a study has `--budget 10m` for the whole of it and `--slice 100ms` for one slice, \
                    `assay bench` has `--time 10` and `--rate`; nothing counts events";

/// Where the server is.
const SERVER: &str = "a server that runs already is named by its URL, such as `mysql://user@127.0.0.1:3306/sbtest`, \
                      with the password in `ASSAY_PASSWORD`";

/// What a test works on.
const RANGE: &str = "the size of a range is part of the test's name, such as `read-only_range=100`; \
                     `assay tests --set 47` lists all";

/// What to use instead of an option that there is not, if it is one of sysbench's.
pub(crate) fn option_hint(option: &str) -> Option<&'static str> {
    let name = option.split('=').next()?.strip_prefix("--")?.replace('_', "-");
    Some(match name.as_str() {
        "events" | "max-requests" | "duration" | "max-time" | "tim" | "time" => TIME,
        "host" | "user" | "password" | "db-driver" => SERVER,
        "range-size" | "random-points" => RANGE,
        it if it.starts_with("mysql-") || it.starts_with("pgsql-") => SERVER,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_sysbench_are_answered() {
        assert_eq!(option_hint("--mysql-host"), Some(SERVER));
        assert_eq!(option_hint("--mysql_port=3306"), Some(SERVER));
        assert_eq!(option_hint("--events"), Some(TIME));
        assert_eq!(option_hint("--events-of"), None);
        assert_eq!(option_hint("-e"), None);
    }
}
