//! TLS with scripted peers, for certificates and attacks, and with real servers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use assay_model::Product;
use assay_servers::Listen;
use assay_testkit::{TestServer, start_listening};
use assay_wire::{
    Address, ChannelBindingMode, ConnectOptions, Connection, Protocol, Reply, TlsClient, TlsMode,
    TlsOptions, TlsProblem, TrustedRoots, WireError, WireResult,
};
use fs_err as fs;
use rustls::version::{TLS12, TLS13};

use crate::common::{
    EOF, OK, Peer, file, greeting, packet, read_packet, reply, server_config, tls, tls_greeting,
};

fn problem(connected: WireResult<Connection>) -> TlsProblem {
    match connected {
        Err(WireError::Tls { problem, .. }) => *problem,
        other => panic!("no problem of TLS: {other:?}"),
    }
}

#[test]
fn certificates_are_checked_as_the_mode_says() {
    let elsewhere = TlsProblem::WrongName(vec!["db.example".to_owned()]);
    let (identity, authority) = (TlsMode::VerifyIdentity, TlsMode::VerifyCa);
    for version in [&TLS12, &TLS13] {
        for (certificate, trusted, mode, expected) in [
            ("server.pem", "authority.pem", identity, None),
            ("server.pem", "stranger.pem", authority, Some(TlsProblem::UnknownAuthority)),
            ("server.pem", "stranger.pem", TlsMode::Required, None),
            ("server.pem", "stranger.pem", TlsMode::Preferred, None),
            ("expired.pem", "authority.pem", authority, Some(TlsProblem::Expired)),
            ("elsewhere.pem", "authority.pem", identity, Some(elsewhere.clone())),
            ("elsewhere.pem", "authority.pem", authority, None),
        ] {
            let mut peer = Peer::over_tls(server_config(certificate, version), |mut stream| {
                read_packet(&mut stream);
            });
            peer.options.tls = tls(mode, trusted);
            let connected = Connection::connect(&peer.options);
            match expected {
                Some(expected) => assert_eq!(problem(connected), expected, "{certificate}"),
                None => assert!(connected.unwrap().cipher().unwrap().starts_with("TLSv1.")),
            }
            peer.join();
        }
    }
}

/// Longer than a record, and longer than the buffers.
const LENGTHS: [usize; 4] = [1, 16_384, 16_385, 300_000];

#[test]
fn messages_of_any_length_pass_in_records() {
    for version in [&TLS12, &TLS13] {
        let peer = Peer::over_tls(server_config("server.pem", version), |mut stream| {
            for length in LENGTHS {
                assert_eq!(read_packet(&mut stream).unwrap().len(), 1 + length);
                let bytes = (length as u32).to_le_bytes();
                let row = [&[0xfd][..], &bytes[..3], &vec![b'x'; length]].concat();
                stream.write_all(&reply(&[&[1], b"column", EOF, &row, EOF])).unwrap();
            }
            // Notifies the client of the end, which then knows that nobody cut the connection.
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        });
        let mut hot = Connection::connect(&peer.options).unwrap();
        for length in LENGTHS {
            let answer = hot.execute_text(&vec![b'x'; length]).unwrap();
            assert_eq!(answer, Reply { result_set: true, rows: 1, affected: 0 });
        }
        assert!(matches!(hot.execute_text(b"x"), Err(WireError::Io { .. })));
        peer.join();
    }
}

#[test]
fn a_server_without_tls_is_refused_where_the_mode_asks_for_it() {
    for mode in [TlsMode::Required, TlsMode::VerifyIdentity] {
        let mut peer = Peer::raw(|mut stream| {
            stream.write_all(&packet(&greeting(), 0)).unwrap();
            assert_eq!(read_packet(&mut stream), None, "nothing is sent without TLS");
        });
        peer.options.tls = tls(mode, "authority.pem");
        assert_eq!(problem(Connection::connect(&peer.options)), TlsProblem::NotOffered);
        peer.join();
    }
    let mut peer = Peer::new(|mut stream| drop(read_packet(&mut stream)));
    peer.options.tls = tls(TlsMode::Preferred, "authority.pem");
    assert_eq!(Connection::connect(&peer.options).unwrap().cipher(), None);
    peer.join();
}

/// Connects to a server of Postgres that answers the request for TLS with these bytes.
fn answered(bytes: &'static [u8], mode: TlsMode) -> WireResult<Connection> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 8];
        stream.read_exact(&mut request).unwrap();
        stream.write_all(bytes).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        rest
    });
    let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let options = ConnectOptions {
        protocol: Protocol::Postgres,
        password: Some("secret".to_owned()),
        tls: tls(mode, "authority.pem"),
        ..ConnectOptions::new(address, "user")
    };
    let connected = Connection::connect(&options);
    assert_eq!(server.join().unwrap(), b"", "nothing is sent without TLS");
    connected
}

#[test]
fn whoever_removes_or_precedes_tls_is_refused() {
    for mode in [TlsMode::Required, TlsMode::VerifyCa] {
        assert_eq!(problem(answered(b"N", mode)), TlsProblem::NotOffered);
    }
    let early = answered(b"S\x16", TlsMode::Required);
    assert!(matches!(early, Err(WireError::Protocol(_))), "{early:?}");
    let mut peer = Peer::raw(|mut stream| {
        let early = [packet(&tls_greeting(), 0), packet(OK, 3)].concat();
        stream.write_all(&early).unwrap();
        while read_packet(&mut stream).is_some() {}
    });
    peer.options.tls = tls(TlsMode::Required, "authority.pem");
    let early = Connection::connect(&peer.options);
    assert!(matches!(early, Err(WireError::Protocol(_))), "{early:?}");
    peer.join();
}

/// A server on a port that has the certificate, and takes no connection by TCP without TLS.
fn start_with_tls(
    product: Product,
    version: &str,
    directory: &Path,
    options: &[String],
) -> (TestServer, ConnectOptions) {
    // Postgres refuses keys that others can read.
    let key = directory.join("server.key");
    fs::copy(file("server.key"), &key).unwrap();
    fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let server = start_listening(product, version, &options, Listen::Loopback(port));
    let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let tls = tls(TlsMode::VerifyIdentity, "authority.pem");
    let password = Some("secret".to_owned());
    let user = "wire_tls".to_owned();
    let options = ConnectOptions { address, user, password, tls, ..server.connect_options() };
    (server, options)
}

fn with_mode(options: &ConnectOptions, mode: TlsMode) -> ConnectOptions {
    ConnectOptions { tls: tls(mode, "authority.pem"), ..options.clone() }
}

#[test]
fn mariadb_and_mysql_are_reached_where_they_require_tls() {
    for (product, version, methods) in [
        (Product::MariaDb, "11.8", &["mysql_native_password", "ed25519", "parsec"][..]),
        (Product::MySql, "8.0", &["sha256_password", "caching_sha2_password"][..]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("server.key");
        let certificate = file("server.pem");
        let mut options = vec![
            format!("--ssl-cert={}", certificate.display()),
            format!("--ssl-key={}", key.display()),
            "--require-secure-transport=ON".to_owned(),
        ];
        if product == Product::MariaDb {
            options.push("--ssl=1".to_owned());
            options.push("--plugin-load-add=auth_ed25519".to_owned());
            options.push("--plugin-load-add=auth_parsec".to_owned());
        } else {
            options.push("--tls-version=TLSv1.2,TLSv1.3".to_owned());
        }
        let (server, options) = start_with_tls(product, version, directory.path(), &options);
        let mut control = server.connect();
        for method in methods {
            let plugin = format!(
                "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = '{method}'"
            );
            // Not every package of MariaDB has all plugins.
            if control.query(&plugin).unwrap().first_string().as_deref() == Some("0") {
                eprintln!("{method} is not tested: the server of {product}@{version} lacks it");
                continue;
            }
            control.query("DROP USER IF EXISTS wire_tls").unwrap();
            let user = if product == Product::MariaDb {
                format!("CREATE USER wire_tls IDENTIFIED VIA {method} USING PASSWORD('secret')")
            } else {
                format!("CREATE USER wire_tls IDENTIFIED WITH {method} BY 'secret'")
            };
            control.query(&user).unwrap();
            control.query("GRANT ALL ON test.* TO wire_tls").unwrap();
            let mut hot = Connection::connect(&options).unwrap();
            let status = hot.query("SHOW STATUS LIKE 'Ssl_cipher'").unwrap();
            assert!(hot.cipher().unwrap().contains("AES"), "{:?}", hot.cipher());
            assert_ne!(status.text(0, 1), Some(""), "{method}");
            assert_eq!(hot.execute_text(b"SELECT 1").unwrap().rows, 1);
            let wrong = ConnectOptions { password: Some("wrong".to_owned()), ..options.clone() };
            assert_eq!(Connection::connect(&wrong).unwrap_err().server_code(), Some(1045));
        }
        let plain = Connection::connect(&with_mode(&options, TlsMode::Disabled)).unwrap_err();
        assert!(plain.server_code().is_some(), "{plain}");
        assert!(Connection::connect(&with_mode(&options, TlsMode::Preferred)).is_ok());
    }
}

#[test]
fn postgres_is_reached_where_it_takes_only_tls() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let rules = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
    fs::write(at("hba"), rules).unwrap();
    let options = [
        "--ssl=on".to_owned(),
        format!("--ssl_cert_file={}", file("server.pem").display()),
        format!("--ssl_key_file={}", at("server.key").display()),
        format!("--hba_file={}", at("hba").display()),
    ];
    let (server, options) = start_with_tls(Product::Postgres, "17", directory.path(), &options);
    let mut control = server.connect();
    control.query("SET password_encryption = 'scram-sha-256'").unwrap();
    control.query("CREATE USER wire_tls PASSWORD 'secret'").unwrap();
    let mut hot = Connection::connect(&options).unwrap();
    assert_eq!(hot.auth_method(), "scram-sha-256-plus");
    assert_eq!(hot.execute_text(b"SELECT 1").unwrap().rows, 1);
    let seen = hot.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").unwrap();
    assert_eq!(seen.first_string().as_deref(), Some("t"));
    let plain = Connection::connect(&with_mode(&options, TlsMode::Disabled)).unwrap_err();
    assert!(matches!(&plain, WireError::Server { state, .. } if state == "28000"), "{plain}");
    for channel_binding in [ChannelBindingMode::Disabled, ChannelBindingMode::Required] {
        let tls = TlsClient::new(TlsOptions {
            mode: TlsMode::VerifyIdentity,
            roots: Some(TrustedRoots::File(file("authority.pem"))),
            is_direct: true,
            channel_binding,
            ..TlsOptions::default()
        });
        let direct = Connection::connect(&ConnectOptions { tls, ..options.clone() }).unwrap();
        let is_bound = channel_binding == ChannelBindingMode::Required;
        assert_eq!(direct.auth_method().ends_with("-plus"), is_bound);
    }
}
