//! Short names of systems for tables: a URL with the path of a socket is wider than what is told of the system.

use assay_model::StudyRecord;

/// Longest host that a label has in full.
const HOST: usize = 24;

/// What a system is called where there is little room: its name, or of a URL the least of it that no other has.
pub(crate) fn label(record: &StudyRecord, index: usize) -> String {
    let names: Vec<&str> = record.systems.iter().map(|system| system.name.as_str()).collect();
    of_names(&names, index)
}

fn of_names(names: &[&str], index: usize) -> String {
    let Some(name) = names.get(index) else { return "?".to_owned() };
    let is_unique = |length: usize, short: &str| {
        let mut others = names.iter().enumerate().filter(|(other, _)| *other != index);
        others.all(|(_, name)| shortened(name, length).as_deref() != Some(short))
    };
    // Longer and longer; the whole name where nothing shorter tells it apart.
    for length in 0.. {
        match shortened(name, length) {
            Some(short) if is_unique(length, &short) => return short,
            Some(_) => {}
            None => break,
        }
    }
    (*name).to_owned()
}

/// The URL without user: `mysql://host:3307/db`, `mysql://…/dir/socket`, what a study says of it (`(twin)`, `#2`) kept.
/// The larger `length`, the more of it; none where the name is no URL or has no more.
fn shortened(name: &str, length: usize) -> Option<String> {
    let (scheme, rest) = name.split_once("://").filter(|(scheme, _)| !scheme.contains('@'))?;
    // A URL has no spaces.
    let (url, suffix) = rest.find(' ').map_or((rest, ""), |at| rest.split_at(at));
    let (_, place) = url.split_once('@')?;
    let place = match place.split_once("?socket=") {
        Some((_, path)) => {
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            let kept = length + 2;
            if length > 0 && kept > parts.len() {
                return None;
            }
            let from = parts.len().saturating_sub(kept);
            let before = if from == 0 { "" } else { "…" };
            format!("{before}/{}", parts.get(from..)?.join("/"))
        }
        None if length == 0 => short_host(place),
        None if length == 1 => place.to_owned(),
        None => return None,
    };
    Some(format!("{scheme}://{place}{suffix}"))
}

/// `db1…:3306/sbtest` for a host with a long domain.
fn short_host(place: &str) -> String {
    let end = place.find('/').unwrap_or(place.len());
    let end = place[..end].rfind(':').unwrap_or(end);
    let (host, rest) = place.split_at(end);
    match host.split_once('.') {
        Some((first, _)) if host.chars().count() > HOST => format!("{first}…{rest}"),
        _ => place.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn labels(names: &[&str], expected: &[&str]) {
        let labels: Vec<String> = (0..names.len()).map(|index| of_names(names, index)).collect();
        assert_eq!(labels, expected);
    }

    #[test]
    fn names_that_are_no_urls_stay() {
        let names = ["mariadb@11.8", "mysql@git:https://me@example.org/a#b", "mariadb@11.8 #2"];
        labels(&names, &names);
    }

    #[test]
    fn sockets_by_the_end_of_their_path_as_far_as_it_differs() {
        labels(
            &[
                "mysql://root@/sbtest?socket=/home/me/.local/state/assay/servers/box/assay/5e5c70d2f93d/s",
                "mysql://root@/sbtest?socket=/home/me/.local/state/assay/servers/box/assay/5e5c70d2f93d/s (twin)",
                "mysql://root@/sbtest?socket=/srv/a/run/s",
                "mysql://root@/sbtest?socket=/srv/b/run/s",
                "mysql://root@/sbtest?socket=/s",
            ],
            &[
                "mysql://…/5e5c70d2f93d/s",
                "mysql://…/5e5c70d2f93d/s (twin)",
                "mysql://…/a/run/s",
                "mysql://…/b/run/s",
                "mysql:///s",
            ],
        );
    }

    #[test]
    fn hosts_without_user_and_long_domain() {
        labels(
            &[
                "postgres://root@127.0.0.1:33463/sbtest",
                "mysql://me@[2001:db8::1]:3306/sbtest",
                "mysql://me@one.0123456789.eu-west-1.example.org:3306/sbtest",
                "mysql://me@two.a.0123456789.eu-west-1.example.org:3306/sbtest",
                "mysql://me@two.b.0123456789.eu-west-1.example.org:3306/sbtest",
            ],
            &[
                "postgres://127.0.0.1:33463/sbtest",
                "mysql://[2001:db8::1]:3306/sbtest",
                "mysql://one…:3306/sbtest",
                "mysql://two.a.0123456789.eu-west-1.example.org:3306/sbtest",
                "mysql://two.b.0123456789.eu-west-1.example.org:3306/sbtest",
            ],
        );
    }

    #[test]
    fn what_nothing_shorter_tells_apart_keeps_its_name() {
        let names = ["mysql://a@h:3306/d", "mysql://b@h:3306/d", "mysql://b@h:3306/d #2"];
        labels(&names, &["mysql://a@h:3306/d", "mysql://b@h:3306/d", "mysql://h:3306/d #2"]);
        let sockets = ["mysql://a@/d?socket=/s", "mysql://a@/e?socket=/s"];
        labels(&sockets, &sockets);
    }

    #[test]
    fn odd_names_do_no_harm() {
        for name in
            ["://", "mysql://", "mysql://@", "a://b@?socket=", "a://b@:", "a://b@é.é:é/é", " "]
        {
            of_names(&[name, name], 0);
        }
    }
}
