//! Parser of system names such as `mariadb@10.11/rocksdb+innodb_log_write_ahead_size=4096`.

use std::ops::Range;

use assay_model::{
    BUILD_PREFIX, BuildFlag, BuildFlags, Engine, Login, Origin, Product, ProductFacts, SystemSpec,
    address_without_login, is_option, login, may_be_secret, refusal,
};

use assay_terms::{adds_up, variable};

use crate::error::{NO_SCHEME, PlanError, PlanResult};
use crate::nearest::nearest;
use crate::url::parse_url;

pub fn parse_system(name: &str) -> PlanResult<SystemSpec> {
    read(name).map_err(|error| match error {
        PlanError::SystemName { name, at, why, hint } => {
            let hint = hint.or_else(|| system_hint(&name));
            PlanError::SystemName { name, at, why, hint }
        }
        other => other,
    })
}

fn read(name: &str) -> PlanResult<SystemSpec> {
    if is_url(name) {
        let url = parse_url(name)?;
        let product = Product::of_dialect(url.dialect);
        return Ok(SystemSpec::new(product, Origin::Url(url.to_string())));
    }
    // A mistyped URL may hold a password.
    if is_like_url(name) {
        return Err(PlanError::Url { why: NO_SCHEME.to_owned() });
    }
    check_repository(name)?;
    // The name is stored and shown.
    let name = &address_without_login(name);
    refuse_control(name)?;
    let fail = |part: &str, why: String| PlanError::SystemName {
        name: without_secret_options(name),
        at: place(name, part),
        why,
        hint: None,
    };
    let (product_word, rest) =
        name.split_once('@').ok_or_else(|| fail(name, "there is no `@` in it".to_owned()))?;
    let product = parse_product(name, product_word)?;

    let mut parts = rest.split('+');
    let origin_word = parts.next().unwrap_or_default();
    let (build, overrides) = options(parts, &fail)?;
    overrides.iter().try_for_each(|(name, value)| check_option(product, name, value))?;

    let (origin, engine) = if let Some(path) = origin_word.strip_prefix("dir:") {
        if path.is_empty() {
            return Err(fail(origin_word, "`dir:` needs a path".to_owned()));
        }
        (Origin::Dir(path.into()), product.default_engine())
    } else if let Some(reference) = origin_word.strip_prefix("git:") {
        if reference.is_empty() {
            return Err(fail(origin_word, "`git:` needs a path and a ref".to_owned()));
        }
        (Origin::Git(reference.to_owned()), product.default_engine())
    } else {
        let (version, engine_word) = match origin_word.split_once('/') {
            Some((version, engine)) => (version, Some(engine)),
            None => (origin_word, None),
        };
        check_version(version).map_err(|why| fail(version, why))?;
        let engine = match engine_word {
            Some(word) => parse_engine(product, word).map_err(|why| fail(word, why))?,
            None => product.default_engine(),
        };
        (Origin::Version(version.to_owned()), engine)
    };
    if let Some(flag) = build.keys().next().filter(|_| !matches!(origin, Origin::Git(_))) {
        return Err(not_built(name, product, flag.option()));
    }
    Ok(SystemSpec { product, origin, engine, overrides, build })
}

fn not_built(name: &str, product: Product, flag: String) -> PlanError {
    let at = name.split('+').find(|it| it.starts_with(&flag)).map_or(0..0, |it| place(name, it));
    let why = format!("`{flag}` is a flag of a build, and assay does not build this server");
    let hint = format!("build it from a repository: `{product}@git:PATH#REF+{flag}=...`");
    PlanError::SystemName { name: without_secret_options(name), at, why, hint: Some(hint) }
}

/// A flag and its value, from `build.FLAG=VALUE`.
fn build_flag(word: &str) -> Result<(BuildFlag, String), String> {
    let (option, value) = word.split_once('=').unwrap_or((word, ""));
    let flag = option.strip_prefix(BUILD_PREFIX).and_then(BuildFlag::named).ok_or_else(|| {
        let known = BuildFlag::ALL.map(BuildFlag::option).join(", ");
        format!("`{option}` is no flag of a build; there are {known}")
    })?;
    flag.refusal(value).map_or_else(|| Ok((flag, value.to_owned())), Err)
}

const NO_PLUS: &str = "a `+` begins an option; `build.cxx=clang` and `build.cxx=gcc-12` stand for the C++ programs of \
                       these compilers";

type ServerOptions = Vec<(String, String)>;

/// Flags of the build and options of the server, from the words that follow plus signs. `fail` is given the wrong word
/// and the reason.
fn options<'a>(
    words: impl Iterator<Item = &'a str>,
    fail: &impl Fn(&str, String) -> PlanError,
) -> PlanResult<(BuildFlags, ServerOptions)> {
    let (mut build, mut overrides) = (BuildFlags::new(), ServerOptions::new());
    for word in words {
        // A secret may contain a `+`.
        let follows_secret = overrides.iter().any(|(name, _)| may_be_secret(name));
        let shown = if follows_secret { "..." } else { word.split('=').next().unwrap_or(word) };
        if word.starts_with(BUILD_PREFIX) && !follows_secret {
            let (flag, value) = build_flag(word).map_err(|why| fail(word, why))?;
            if build.insert(flag, value).is_some() {
                return Err(fail(word, format!("`{}` is given twice", flag.option())));
            }
            continue;
        }
        if word.is_empty() && build.contains_key(&BuildFlag::Cxx) {
            return Err(fail(word, NO_PLUS.to_owned()));
        }
        let option = parse_override(word)
            .ok_or_else(|| fail(word, format!("`+{shown}` is not `+option=value`")))?;
        let is_again = |(name, _): &&(String, String)| variable(name) == variable(&option.0);
        if !adds_up(&option.0) && overrides.iter().any(|it| is_again(&it)) {
            let why =
                format!("`{}` is given twice, and the server would use only the last", option.0);
            return Err(fail(word, why));
        }
        overrides.push(option);
    }
    Ok((build, overrides))
}

/// Refuses the address of a repository if a part of it that is stored and shown may be a secret.
fn check_repository(name: &str) -> PlanResult<()> {
    let Some((product, address)) = name.split_once("@git:") else { return Ok(()) };
    let address = address_without_login(address);
    let address = address.split(['#', '+']).next().unwrap_or_default();
    let Some((_, address)) = address.split_once("://") else { return Ok(()) };
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|it| !it.ends_with(']'));
    let is_login = port.is_some_and(|it| it.parse::<u16>().is_err() || path.contains('@'));
    let why = if is_login {
        "write `/`, `?` and `#` in a password as `%2F`, `%3F` and `%23`"
    } else if address.contains('?') {
        "the ledger would store the query of its address; use `https://TOKEN@host/path` for a token"
    } else {
        return Ok(());
    };
    let (name, why) = (format!("{product}@git:..."), why.to_owned());
    Err(PlanError::SystemName { name, at: 0..0, why, hint: None })
}

/// Refuses a name with control characters: it becomes a part of lines.
fn refuse_control(name: &str) -> PlanResult<()> {
    if !name.contains(char::is_control) {
        return Ok(());
    }
    let why = "it has a control character, such as the end of a line".to_owned();
    Err(PlanError::SystemName { name: without_secret_options(name), at: 0..0, why, hint: None })
}

/// Login for the repository that a system is built from: `mysql@git:https://user:token@host/x.git`.
pub fn repository_login(name: &str) -> Option<Login> {
    let (_, reference) = name.split_once("@git:")?;
    let mut login = login(reference)?;
    // Ref and options follow the address.
    let end = login.address.find(['#', '+']).unwrap_or(login.address.len());
    login.address.truncate(end);
    Some(login)
}

pub(crate) const GIVEN_MAX: usize = 40;

/// Name and specification of `NAME=SYSTEM`; `None` without a name. Other texts with `=` may hold a password.
pub(crate) fn name_of(text: &str) -> Option<(&str, &str)> {
    let (name, words) = text.split_once('=')?;
    let product = match words.split_once("://") {
        Some((scheme, _)) => scheme,
        None => words.split_once('@')?.0,
    };
    let is_product = nearest(product, known_words()).is_some();
    (is_given_name(name) && is_product && !may_be_secret(name)).then_some((name, words))
}

fn known_words() -> impl Iterator<Item = &'static str> {
    let all = |product: Product| {
        std::iter::once(product.word()).chain(product.facts().aliases.iter().copied())
    };
    Product::ALL.into_iter().flat_map(all)
}

/// Whether a text may name a system: it appears in all reports, and must not be a specification itself.
pub(crate) fn is_given_name(name: &str) -> bool {
    name.len() <= GIVEN_MAX
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Whether a name begins like a URL, with a scheme of letters. The address of a repository comes after an `@`.
fn is_url(name: &str) -> bool {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|it| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphabetic()))
}

/// Whether a name may be meant as a URL, or is another tool's form of a server address with a password.
fn is_like_url(name: &str) -> bool {
    let words = name.split('+').next().unwrap_or(name);
    match name.split_once('@') {
        Some((product, rest)) => {
            let origin = rest.split('+').next().unwrap_or(rest);
            let is_place = ["git:", "dir:"].iter().any(|kind| origin.starts_with(kind));
            product.contains([':', '/', '=']) || !is_place && origin.contains([':', '@', '='])
        }
        // `mysql:8.0` is the name of a container image.
        None => match words.split_once(':') {
            Some((_, "latest")) => false,
            Some((_, version)) => !version.starts_with(|c: char| c.is_ascii_digit()),
            None => words.contains("//") || words.contains('='),
        },
    }
}

/// The name with `*` for values of options that may be secret; positions are unchanged.
fn without_secret_options(name: &str) -> String {
    let mut at = 0;
    for part in name.split('+') {
        let value = part.split_once('=').filter(|(option, _)| at > 0 && may_be_secret(option));
        if let Some((option, _)) = value {
            // A `+` may belong to the value.
            let (shown, hidden) = name.split_at(at + option.len() + 1);
            return format!("{shown}{}", "*".repeat(hidden.len()));
        }
        at += part.len() + 1;
    }
    name.to_owned()
}

pub(crate) fn product_named(word: &str) -> Option<Product> {
    let is_called = |it: &Product| it.word() == word || it.facts().aliases.contains(&word);
    Product::ALL.into_iter().find(is_called)
}

fn parse_product(name: &str, word: &str) -> PlanResult<Product> {
    if let Some(product) = product_named(word) {
        return Ok(product);
    }
    let why = match word {
        "" => "the product before `@` is missing".to_owned(),
        word => {
            let known = Product::ALL.map(Product::word).join(", ");
            format!("`{word}` is not a product assay knows ({known})")
        }
    };
    let at = place(name, word);
    Err(PlanError::SystemName { name: without_secret_options(name), at, why, hint: None })
}

fn place(name: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(name.as_ptr() as usize);
    start..start + part.len()
}

fn check_version(version: &str) -> Result<(), String> {
    if version.is_empty() {
        return Err("the version is missing".to_owned());
    }
    // Each part is a number with an optional suffix: `8.0.36-28`, `19~beta1`, but not `10.11.x`.
    let well_formed = version.split('.').all(|it| it.starts_with(|c: char| c.is_ascii_digit()))
        && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '~'));
    if well_formed { Ok(()) } else { Err(format!("`{version}` is not a version")) }
}

pub fn parse_engine(product: Product, word: &str) -> Result<Engine, String> {
    let engines = product.facts().engines;
    engines.iter().copied().find(|engine| engine.word() == word).ok_or_else(|| {
        let known: Vec<_> = engines.iter().map(|engine| format!("`{}`", engine.word())).collect();
        format!("`{word}` is not a supported engine of {product}; use {}", known.join(" or "))
    })
}

fn parse_override(word: &str) -> Option<(String, String)> {
    let (option, value) = word.split_once('=')?;
    server_option(option, value)
}

/// A server option in assay's notation; `None` if malformed. Names are restricted so that no override can become
/// another kind of server argument.
pub(crate) fn server_option(option: &str, value: &str) -> Option<(String, String)> {
    is_option(option, value).then(|| (option.replace('-', "_"), value.to_owned()))
}

pub(crate) fn check_option(product: Product, name: &str, value: &str) -> PlanResult<()> {
    match refusal(product, name, value) {
        None => Ok(()),
        Some(why) => Err(PlanError::ReservedOption { option: name.to_owned(), why }),
    }
}

const PERCONA: [&str; 3] = ["percona", "percona-server", "ps"];

const NO_BINARIES: &str = "assay has no binaries of Aurora and RDS: compare the community version, such as \
                           `mysql@8.0`, or give `assay audit` and `assay bench` the URL of the server";

/// Hint for an invalid system name.
fn system_hint(name: &str) -> Option<String> {
    // The product ends where the version begins: `pg16`, `mariadb:10.11`, `mysql 8.0`.
    let at = name.find('@').or_else(|| name.find(|c: char| c.is_ascii_digit()));
    let (word, rest) = name.split_at(at.unwrap_or(name.len()));
    let is_separator =
        |c: char| matches!(c, '@' | ':' | '-' | '_' | '=' | '/') || c.is_whitespace();
    let (word, version) = (word.trim_matches(is_separator), rest.trim_matches(is_separator));
    let lower = word.to_ascii_lowercase();
    if PERCONA.contains(&lower.as_str()) {
        let example = if version.contains('-') { version } else { "8.0.36-28" };
        return Some(format!(
            "Percona Server is product `mysql`; name its full version: `mysql@{example}`"
        ));
    }
    if lower.starts_with("aurora") || lower.starts_with("rds") {
        return Some(NO_BINARIES.to_owned());
    }
    let known = Product::named(&lower);
    // A path instead of the version. A `/` with only an engine after it is not a path.
    let path = rest.strip_prefix('@').filter(|it| it.starts_with(['/', '.']));
    let is_engine = |it: &str| ["/innodb", "/rocksdb", "/heap"].contains(&it);
    if let (Some(product), Some(path)) = (known, path.filter(|it| !is_engine(it))) {
        return Some(format!("a directory is written `{product}@dir:{path}`"));
    }
    let elsewhere = Product::ALL.into_iter().find(|product| {
        let ProductFacts { aliases, other_names, .. } = product.facts();
        aliases.iter().chain(*other_names).any(|name| *name == lower)
    });
    let near = || nearest(lower.as_str(), Product::ALL.map(Product::word)).and_then(Product::named);
    let product = known.or(elsewhere).or_else(near)?;
    // `10.11.x` means the series.
    let any = [".x", ".X", ".*"].into_iter().find_map(|any| version.strip_suffix(any));
    let meant = format!("{product}@{}", any.unwrap_or(version));
    if meant != name && read(&meant).is_ok() {
        return Some(format!("did you mean `{meant}`"));
    }
    let is_versioned = version.starts_with(|c: char| c.is_ascii_digit());
    (!is_versioned && !rest.contains("git:") && !rest.contains("dir:")).then(|| {
        let example = product.facts().example;
        format!(
            "a system is written `product@version`, for example `{product}@{example}`; \
             `assay server list --available {product}` lists the versions"
        )
    })
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_login_of_a_repository_is_kept_apart_from_the_name() {
        let words = "mysql@git:https://me:se+cret@h/x.git#v1+innodb_doublewrite=OFF";
        let spec = parse_system(words).unwrap();
        assert_eq!(spec.origin, Origin::Git("https://h/x.git#v1".to_owned()));
        assert_eq!(spec.to_string(), "mysql@git:https://h/x.git#v1+innodb_doublewrite=OFF");
        let login = repository_login(words).unwrap();
        assert_eq!(
            (login.address.as_str(), login.password.reveal()),
            ("https://h/x.git", "se+cret")
        );
        let error = parse_system("mysql@git:https://me:secret@h/x.git+oops").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        assert_eq!(repository_login("mysql@git:../x#v1"), None);
    }
    #[test]
    fn reads_all_parts() {
        let spec = parse_system("mariadb@10.11/rocksdb+innodb-doublewrite=OFF+x=").unwrap();
        assert_eq!(spec.product, Product::MariaDb);
        assert_eq!(spec.origin, Origin::Version("10.11".to_owned()));
        assert_eq!(spec.engine, Engine::RocksDb);
        assert_eq!(
            spec.overrides,
            [("innodb_doublewrite".into(), "OFF".into()), ("x".into(), String::new())]
        );
    }

    #[test]
    fn repeated_options_add_up_or_are_refused() {
        let instruments = "performance_schema_instrument=a=ON+performance-schema-instrument=b=ON";
        let spec = parse_system(&format!("mysql@8.0+{instruments}")).unwrap();
        assert_eq!(spec.overrides.len(), 2);
        for name in [
            "mysql@8.0+a=1+b=1+a=2",
            "mysql@8.0+skip_log_bin=1+log-bin=x",
            "postgres@17+jit=on+JIT=off",
        ] {
            let error = parse_system(name).unwrap_err().to_string();
            assert!(error.contains("is given twice"), "{error}");
        }
    }

    #[test]
    fn flags_of_a_build_are_kept_apart_from_options_of_the_server() {
        let name = "mysql@git:../x#v1+sync_binlog=0+build.lto=on+build.cxx=clang-14";
        let spec = parse_system(name).unwrap();
        assert_eq!(spec.overrides, [("sync_binlog".to_owned(), "0".to_owned())]);
        let flags: Vec<_> =
            spec.build.iter().map(|(flag, value)| (*flag, value.as_str())).collect();
        assert_eq!(flags, [(BuildFlag::Cxx, "clang-14"), (BuildFlag::Lto, "on")]);
        let whole = "mysql@git:../x#v1+build.cxx=clang-14+build.lto=on+sync_binlog=0";
        assert_eq!(spec.to_string(), whole);
        assert_eq!(parse_system(whole).unwrap(), spec);
        assert_eq!(spec.without_options().to_string(), whole.replace("+sync_binlog=0", ""));
    }

    #[test]
    fn flags_of_a_build_are_refused_with_a_remedy() {
        for (name, why, hint) in [
            (
                "mysql@8.0+build.lto=on",
                "does not build this server",
                "`mysql@git:PATH#REF+build.lto=",
            ),
            (
                "postgres@dir:/x+build.opt=O3",
                "does not build this server",
                "`postgres@git:PATH#REF",
            ),
            ("mysql@git:../x+build.opt=fast", "`build.opt` is one of O0, O1", ""),
            ("mysql@git:../x+build.cc=/bin/sh", "program in the `PATH`", ""),
            ("mysql@git:../x+build.cc", "program in the `PATH`", ""),
            ("mysql@git:../x+build.cxx=clang++", "a `+` begins an option", ""),
            ("mysql@git:../x+build.flags=-O3", "there are build.cc, build.cxx, build.opt", ""),
            ("mysql@git:../x+build.lto=on+build.lto=off", "is given twice", ""),
        ] {
            let error = parse_system(name).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.hints().concat().contains(hint), "{:?}", error.hints());
        }
    }

    #[test]
    fn repository_addresses_are_not_servers() {
        let spec = parse_system("postgres@git:https://h/postgres.git#REL_17_5").unwrap();
        assert_eq!(spec.origin, Origin::Git("https://h/postgres.git#REL_17_5".to_owned()));
        // The text behind a `+` is no address either.
        assert!(matches!(
            parse_system("mysql@8.0+log_bin=file://x"),
            Err(PlanError::ReservedOption { .. })
        ));
        assert!(matches!(parse_system("mysql://u@h/d").unwrap().origin, Origin::Url(_)));
    }

    #[test]
    fn refuses_what_is_malformed() {
        for name in [
            "",
            "mariadb",
            "mariadb@",
            "mariadb@latest",
            "mariadb@10.11.x",
            "mariadb@10.11.",
            "mariadb@10.11/",
            "mariadb@10.11/heap",
            "mariadb@10.11+x",
            "mariadb@10.11+=1",
            "mariadb@10.11+--x=1",
            "maria@10.11",
            "@10",
            "mariadb@dir:",
            "mariadb@10.11/innodb/x",
            "postgres@18/innodb",
            "mariadb@10 11",
            "mariadb@dir:/a\nb",
        ] {
            assert!(parse_system(name).is_err(), "{name}");
        }
    }

    #[test]
    fn suggests_the_nearest_product() {
        let Err(PlanError::SystemName { hint, .. }) = parse_system("mariabd@10.11") else {
            panic!("accepted")
        };
        assert_eq!(hint.as_deref(), Some("did you mean `mariadb@10.11`"));
    }

    #[test]
    fn a_malformed_url_shows_no_password() {
        for name in [
            "mysql:/me:secret@h/db",
            "mysql//me:secret@h/db",
            "me:secret@h",
            "mysql@root:secret@h/db",
            "mysql@root:a+secret@h/db",
            "mysql:secret",
            "jdbc:mysql://h/db?user=root&password=secret",
            "host=h password=secret",
            "mysql://root:secret/db",
        ] {
            let error = parse_system(name).unwrap_err();
            assert!(matches!(error, PlanError::Url { .. }), "{error}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }

    #[test]
    fn errors_show_no_option_that_may_be_secret() {
        for name in [
            "mysql@8.0+x_pwd=secret+oops",
            "mysql@8.0+x_pwd=a+secret",
            "mysql@8.x+x-Password=secret",
            "mysq@8.0+x_password=secret",
            "mysql@8.0+x_password=/secret",
            "mysql@8.0/heap+a=b+api-key=secret",
            "mysql@8.0+x_pwd!=secret",
            "mysql@git:https://h/x.git?access_token=secret#v1",
            "mysql@git:https://u:1/secret@h/x.git#v1",
            "mysql@git:https://u:a#secret@h/x.git#v1",
            "mysql@git:https://u:a?secret@h/x.git#v1",
            "mysql@git:https://u:a(secret@h/x.git#v1+oops",
        ] {
            let error = parse_system(name).unwrap_err();
            assert!(
                !format!("{error} {error:?} {:?}", error.hints()).contains("secret"),
                "{error:?}"
            );
        }
        let error = parse_system("mysql@8.x+a=b+x_pwd=secret").unwrap_err().to_string();
        assert!(error.contains("`mysql@8.x+a=b+x_pwd=******`"), "{error}");
    }

    #[test]
    fn a_name_stands_before_a_system() {
        for (text, expected) in [
            ("old=mysql@8.0", Some(("old", "mysql@8.0"))),
            ("a.b-1=pg@16+jit=off", Some(("a.b-1", "pg@16+jit=off"))),
            ("here=mysql://me@h/d?socket=/s", Some(("here", "mysql://me@h/d?socket=/s"))),
            ("old=mysq@8.0", Some(("old", "mysq@8.0"))),
            ("mysql@8.0+a=mysql@b", None),
            ("user=me@h", None),
            ("password=secret@h", None),
            ("password=mysql1@h", None),
            ("mysql://me@h/d?socket=/s", None),
            ("-a=mysql@8.0", None),
            ("=mysql@8.0", None),
        ] {
            assert_eq!(name_of(text), expected, "{text}");
        }
        assert_eq!(name_of(&format!("{}=mysql@8.0", "x".repeat(41))), None);
        let error = parse_system("user=mysql@host password=secret").unwrap_err();
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        let (_, words) = name_of("user=mysql@host password=secret").unwrap();
        let error = parse_system(words).unwrap_err();
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }

    #[test]
    fn points_at_the_part_that_is_wrong() {
        for (name, part) in [
            ("mariabd@10.11", "mariabd"),
            ("mariadb@latest", "latest"),
            ("mariadb@10.11/rocks+a=1", "rocks"),
            ("mariadb@10.11+a=1+b", "b"),
            ("mariadb", "mariadb"),
            ("mysql@", ""),
        ] {
            let Err(PlanError::SystemName { at, .. }) = parse_system(name) else {
                panic!("{name}")
            };
            assert_eq!(&name[at], part);
        }
    }

    proptest! {
        #[test]
        fn never_panics(name in ".*") {
            let _ = parse_system(&name);
        }

        #[test]
        fn display_reads_back(
            product in prop::sample::select(vec!["mariadb", "mysql", "postgres"]),
            version in "[0-9]{1,2}(\\.[0-9]{1,2}){0,2}",
            overrides in prop::collection::btree_map("x[a-z_]{0,8}", "[A-Za-z0-9]{0,5}", 0..3),
        ) {
            let overrides = overrides.iter().map(|(name, value)| format!("+{name}={value}"));
            let name = format!("{product}@{version}{}", overrides.collect::<String>());
            prop_assert_eq!(parse_system(&name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn names_in_the_form_of_other_tools_get_a_suggestion() {
        for (typed, meant) in [
            ("mariadb:10.11", "`mariadb@10.11`"),
            ("mariadb-10.11", "`mariadb@10.11`"),
            ("mariadb 10.11", "`mariadb@10.11`"),
            ("MariaDB@10.11", "`mariadb@10.11`"),
            ("maria@10.11+innodb_doublewrite=OFF", "`mariadb@10.11+innodb_doublewrite=OFF`"),
            ("mariabd@10.11", "`mariadb@10.11`"),
            ("mariadb@10.11.x", "`mariadb@10.11`"),
            ("mysql@8.0.*", "`mysql@8.0`"),
            ("mysql8.0", "`mysql@8.0`"),
            ("mysql:8.0.33/rocksdb", "`mysql@8.0.33/rocksdb`"),
            ("pg@16", "`postgres@16`"),
            ("pg16", "`postgres@16`"),
            ("postgresql-16", "`postgres@16`"),
            ("percona@8.0", "`mysql@8.0.36-28`"),
            ("percona-server:8.4.7-7", "`mysql@8.4.7-7`"),
            ("mariadb", "--available mariadb`"),
            ("mysql@/usr", "`mysql@dir:/usr`"),
            ("postgres@../pg", "`postgres@dir:../pg`"),
            ("@10.11", "`product@version`"),
            ("postgres@latest", "--available postgres`"),
        ] {
            let hints = parse_system(typed).unwrap_err().hints();
            assert!(hints[0].contains(meant), "{typed}: {hints:?}");
        }
    }

    #[test]
    fn ambiguous_names_get_no_suggestion() {
        for typed in ["oracle@19c", "mariadb@10.11+x", "", "@", "é@1"] {
            let hints = parse_system(typed).unwrap_err().hints();
            assert!(!hints[0].contains("did you mean"), "{typed}: {hints:?}");
        }
    }
}
