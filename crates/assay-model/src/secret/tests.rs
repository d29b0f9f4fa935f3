//! Addresses and settings as people write them, mistakes included.

use super::*;

#[test]
fn passwords_and_tokens_are_removed_from_addresses() {
    for (text, clean) in [
        ("https://u:p@x.example/a@b", "https://x.example/a@b"),
        ("https://u:p@q@x.example", "https://x.example"),
        ("https://token@x.example/a", "https://x.example/a"),
        ("https://x.example:8080/a@b", "https://x.example:8080/a@b"),
        ("http://localhost:8080/a@b", "http://localhost:8080/a@b"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("mysql://u:p@h:1/db, postgres://u@h/db", "mysql://u@h:1/db, postgres://u@h/db"),
        ("ssh://git@h/x", "ssh://git@h/x"),
        ("from (`http://a:b@c/d`) and a@b", "from (`http://c/d`) and a@b"),
        ("unable to access 'https://u:b@h/x/': no", "unable to access 'https://h/x/': no"),
        ("it listens on http://h and a@b may use it", "it listens on http://h and a@b may use it"),
        ("mysql@git:https://u:p@h/x.git#v1+a=b", "mysql@git:https://h/x.git#v1+a=b"),
        ("git@host:x/y.git", "git@host:x/y.git"),
        ("file:///a:b@c", "file:///a:b@c"),
        ("/usr/lib/mysql/a:b@c", "/usr/lib/mysql/a:b@c"),
        ("é://é:é@é", "é://é@é"),
        ("://@://", "://@://"),
        ("", ""),
    ] {
        assert_eq!(without_logins(text), clean);
        assert_eq!(without_logins(clean), clean);
    }
}

#[test]
fn a_word_that_is_an_address_may_have_blanks_and_quotes() {
    for password in ["a(C", "a)C", "a'C", "a\"C", "a C", "a<C", "a`C", "a@C"] {
        for scheme in ["https", "HTTPS", "http"] {
            let word = format!("mysql@git:{scheme}://u:{password}@h/x.git#v1");
            assert_eq!(address_without_login(&word), format!("mysql@git:{scheme}://h/x.git#v1"));
            let address = format!("{scheme}://u:{password}@h/x.git");
            assert_eq!(login(&address).unwrap().password.reveal(), password);
        }
    }
    for (word, clean) in [
        ("HTTPS://token@h/x", "HTTPS://h/x"),
        ("mysql@git:https://h/x.git#v@1+a=b@c", "mysql@git:https://h/x.git#v@1+a=b@c"),
        ("mysql@git:git@h:x.git#v@1", "mysql@git:git@h:x.git#v@1"),
    ] {
        assert_eq!(address_without_login(word), clean);
    }
}

#[test]
fn a_message_shows_no_value_of_an_option_that_may_be_secret() {
    for (text, clean) in [
        ("cannot start `mysql@8.0+x-pwd=a b+c=1`: no", "cannot start `mysql@8.0+x-pwd=***`: no"),
        ("--LDAP_PWD=\"x y\" --port=1", "--LDAP_PWD=\"***\" --port=1"),
        ("(using password: YES), rows=3", "(using password: YES), rows=3"),
    ] {
        assert_eq!(without_secrets(text), clean);
        assert_eq!(without_secrets(clean), clean);
    }
}

#[test]
fn a_login_is_separated_and_hidden() {
    let found = login("https://me:secret@h/x.git").unwrap();
    assert_eq!((found.user.reveal(), found.password.reveal()), ("me", "secret"));
    assert_eq!(found.address, "https://h/x.git");
    assert_eq!(format!("{} {:?}", found.user, found.password), "*** ***");
    assert_eq!(login("https://token@h/x").unwrap().user.reveal(), "token");
    assert_eq!(login("ssh://git@h/x"), None);
    assert_eq!(login("/a/b@c"), None);
}

#[test]
fn secret_names_are_recognised_in_all_spellings() {
    for name in [
        "loose-authentication_ldap_simple_bind_root_pwd",
        "MASTER_PASSWORD",
        "report-password",
        "dbpass",
        "x.user_pass",
        "API-KEY",
        "aws_access_key_id",
        "keyring_file_data",
        "primary_conninfo",
        "archive_command",
    ] {
        assert!(may_be_secret(name), "{name}");
    }
    for name in [
        "bypass",
        "compass_x",
        "validate_password.policy",
        "loose-validate_password_length",
        "default_password_lifetime",
        "password_encryption",
        "innodb_ft_min_token_size",
        "ngram_token_size",
        "log_replication_commands",
        "sync_binlog",
        "key_buffer_size",
    ] {
        assert!(!may_be_secret(name), "{name}");
    }
}

#[test]
fn masking_keeps_positions_and_removes_secrets() {
    for line in [
        r#"compare = ["mysql://root:CANARY@127.0.0.1:1/db", 3]"#,
        r#"compare = ["jdbc:mysql://h/db?user=root&password=CANARY"]"#,
        r#"compare = ["host=h password=CANARY"]"#,
        r#"compare = ["mysql@git:https://CANARY@h/x.git#v1", 3]"#,
        r#"compare = ["mysql@8.0+x_pwd=a\"CANARY", 3]"#,
        r#"options = { "x-api-key" = "CANARY", a = 1 }"#,
        "password = CANARY",
        "é = 'é' # https://u:éCANARY@é",
    ] {
        let shown = masked(line);
        assert!(!shown.contains("CANARY"), "{shown}");
        assert_eq!(shown.len(), line.len());
    }
    for line in [
        r#"compare = ["mariadb@10.11+a=b", "mysql@git:https://h/x.git#v1"] # a@b"#,
        r#"compare = ["mysql://u@127.0.0.1:3306/db", "mysql://u@/db?socket=/s"]"#,
        "budget = \"10m",
    ] {
        assert_eq!(masked(line), line);
    }
    assert_eq!(masked("at = 'mysql://u:ab@h/d' ]"), "at = 'mysql://u***@h/d' ]");
    assert_eq!(masked("x_pwd = 'ab'\nc = 1"), "x_pwd = '***\nc = 1");
}
