//! Short names of systems for tables, where a URL with the path of a socket would be too wide.

use crate::short_name::without_shared_options;
use crate::{Origin, System, short_names};

const HOST: usize = 24;

/// One per name: the [short name](short_names) without the options that all have, or the shortest part of a URL that no
/// other name shares.
pub fn labels(names: &[&str]) -> Vec<String> {
    let short = short_names(names);
    let short = without_shared_options(&short).unwrap_or(short);
    let short: Vec<&str> = short.iter().map(String::as_str).collect();
    (0..short.len()).map(|index| label(&short, index)).collect()
}

/// The [exact names](exact_name) of systems; the given name if another system has the same exact one.
pub fn exact_names(systems: &[System]) -> Vec<String> {
    let exact: Vec<String> = systems.iter().map(exact_name).collect();
    let names = systems.iter().zip(&exact).map(|(system, own)| {
        let is_unique = exact.iter().filter(|other| *other == own).count() < 2;
        if is_unique { own.clone() } else { system.name.clone() }
    });
    names.collect()
}

/// Replaces the series with the exact version: `mysql@8.0.12` for `mysql@8.0`.
fn exact_name(system: &System) -> String {
    let Origin::Version(asked) = &system.spec.origin else { return system.name.clone() };
    let head = format!("{}@{asked}", system.spec.product);
    let version = system.artifact.version();
    let rest = system.name.strip_prefix(&head);
    let is_series = version.strip_prefix(asked.as_str()).is_some_and(|it| it.starts_with('.'));
    match rest.filter(|it| is_series && (it.is_empty() || it.starts_with(['/', '+', ' ']))) {
        Some(rest) => format!("{}@{version}{rest}", system.spec.product),
        None => system.name.clone(),
    }
}

/// Headings for narrow columns: labels without the product if all share it.
pub fn versions(labels: &[&str]) -> Vec<String> {
    let parts: Option<Vec<(&str, &str)>> = labels.iter().map(|it| it.split_once('@')).collect();
    match parts {
        Some(parts) if parts.windows(2).all(|pair| pair[0].0 == pair[1].0) => {
            parts.into_iter().map(|(_, version)| version.to_owned()).collect()
        }
        _ => labels.iter().map(|&label| label.to_owned()).collect(),
    }
}

fn label(names: &[&str], index: usize) -> String {
    let name = names[index];
    let is_unique = |length: usize, short: &str| {
        let mut others = names.iter().enumerate().filter(|(other, _)| *other != index);
        others.all(|(_, name)| shortened(name, length).as_deref() != Some(short))
    };
    for length in 0.. {
        match shortened(name, length) {
            Some(short) if is_unique(length, &short) => return short,
            Some(_) => {}
            None => break,
        }
    }
    name.to_owned()
}

/// The URL without its user: `mysql://host:3307/db`, `mysql://…/dir/socket`. Keeps a suffix (`(twin)`, `#2`); a larger
/// `length` keeps more. `None` if the name is not a URL or has no more to keep.
fn shortened(name: &str, length: usize) -> Option<String> {
    let (scheme, rest) = name.split_once("://").filter(|(scheme, _)| !scheme.contains('@'))?;
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
    fn assert_labels(names: &[&str], expected: &[&str]) {
        assert_eq!(labels(names), expected);
    }

    #[test]
    fn names_that_are_not_urls_are_kept() {
        let names = ["mariadb@11.8", "mysql@git:https://me@example.org/a#b", "mariadb@11.8 #2"];
        assert_labels(&names, &names);
    }

    #[test]
    fn sockets_by_the_end_of_their_path_as_far_as_it_differs() {
        assert_labels(
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
        assert_labels(
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
    fn ambiguous_labels_keep_the_whole_name() {
        let names = ["mysql://a@h:3306/d", "mysql://b@h:3306/d", "mysql://b@h:3306/d #2"];
        assert_labels(&names, &["mysql://a@h:3306/d", "mysql://b@h:3306/d", "mysql://h:3306/d #2"]);
        let sockets = ["mysql://a@/d?socket=/s", "mysql://a@/e?socket=/s"];
        assert_labels(&sockets, &sockets);
    }

    #[test]
    fn odd_names_do_no_harm() {
        for name in
            ["://", "mysql://", "mysql://@", "a://b@?socket=", "a://b@:", "a://b@é.é:é/é", " "]
        {
            assert_eq!(labels(&[name, name]).len(), 2);
        }
    }
}
