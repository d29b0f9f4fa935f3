//! Writes the binary part of the corpus: `cargo run -p assay-fuzz --example corpus [ledgers]`.
//!
//! Packets come from real servers. Packages and archives are small, one for every compression. The ledger holds the
//! generated study of the ledger's tests. After a change of the schema, `ledgers` writes only ledgers and packs,
//! without a server.

#![expect(clippy::unwrap_used, reason = "a tool for the developer: it fails where it stands")]

#[path = "../../assay-ledger/tests/common/mod.rs"]
mod common;

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use assay_ledger::Ledger;
use assay_testkit::{mariadb, postgres};
use assay_wire::mysql::codec;
use assay_wire::{Address, ConnectOptions, Connection, Param, ParamType, Protocol};
use fs_err as fs;

assay_testkit::supervisor_entry!();

/// The last message of a client of each protocol.
const GOODBYES: [&[u8]; 2] = [b"\x01\0\0\0\x01", b"X\0\0\0\x04"];

fn main() {
    if std::env::args().any(|word| word == assay_testkit::AS_SUPERVISOR) {
        return assay_testkit::supervise_if_asked();
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, _) in assay_fuzz::TARGETS {
        fs::create_dir_all(corpus.join(target)).unwrap();
    }
    ledger(&corpus);
    pack(&corpus);
    if std::env::args().nth(1).is_some_and(|part| part == "ledgers") {
        return;
    }
    archives(&corpus);
    packets(&corpus);
    postgres_packets(&corpus);
}

fn archives(corpus: &Path) {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in [("./usr/bin/run", "#!"), ("./usr/share/data", "data")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        builder.append_data(&mut header, path, content.as_bytes()).unwrap();
    }
    for kind in [tar::EntryType::Symlink, tar::EntryType::Link] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        let target = if kind.is_symlink() { "/usr/bin/run" } else { "./usr/bin/run" };
        builder.append_link(&mut header, format!("./usr/{}", kind.as_byte()), target).unwrap();
    }
    let long = format!("./{}", "long/".repeat(30));
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    builder.append_data(&mut header, long + "name", [].as_slice()).unwrap();
    let data = builder.into_inner().unwrap();
    fs::write(corpus.join("tar/ordinary"), &data).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&data).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
    xz.write_all(&data).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(data.as_slice(), level);
    let all = [
        ("", data),
        (".gz", gzip.finish().unwrap()),
        (".xz", xz.finish().unwrap()),
        (".zst", zstd),
    ];
    for (compression, content) in all {
        let file = fs::File::create(corpus.join(format!("deb/data.tar{compression}"))).unwrap();
        let mut archive = ar::Builder::new(file);
        let member = format!("data.tar{compression}");
        for (name, content) in [("debian-binary", b"2.0\n".as_slice()), (&member, &content)] {
            archive.append(&ar::Header::new(name.into(), content.len() as u64), content).unwrap();
        }
    }
}

fn ledger(corpus: &Path) {
    let path = corpus.join("ledger_file/small");
    let _ = fs::remove_file(&path);
    let mut record = common::sample();
    record.slices.truncate(3);
    // The statistics of many blocks take longer than a fuzzer should wait.
    record.study.blocks = 4;
    // Only writes have a number of events.
    record.study.cells.iter_mut().for_each(|cell| cell.events = None);
    record.slices.iter_mut().zip(0..).for_each(|(slice, block)| slice.block = block);
    let mut ledger = Ledger::open(&path).unwrap();
    common::write(&mut ledger, &record);
    drop(ledger);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let small = "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM;";
    connection.execute_batch(small).unwrap();
}

/// Its reports are short.
fn pack(corpus: &Path) {
    let small = corpus.join("ledger_file/small");
    let rows = Ledger::open_read_only(&small).unwrap().rows("sample").unwrap();
    let contents = assay_pack::MEMBERS.map(|name| match name {
        assay_pack::LEDGER => Ledger::bytes_of(std::slice::from_ref(&rows)).unwrap(),
        _ => name.as_bytes().to_vec(),
    });
    let pack = assay_pack::Pack::new("sample", "0.1.0", contents).unwrap();
    fs::write(corpus.join("pack/small"), pack.bytes()).unwrap();
}

/// Records the packets that a server sends over one connection, one recording for each read of the client.
fn packets(corpus: &Path) {
    let server = mariadb();
    let control = record(&server.connect_options(), |options| {
        let mut control = Connection::connect(options).unwrap();
        control.query("SELECT 1, 'two', NULL").unwrap();
        control.query("DO 1").unwrap();
        control.query("no statement").unwrap_err();
    });
    let hot = record(&server.connect_options(), |options| {
        let mut hot = Connection::connect(options).unwrap();
        let sql = "SELECT seq, 'x' FROM seq_1_to_5 WHERE seq >= ?";
        let statement = hot.prepare(sql, &[ParamType::Int]).unwrap();
        hot.execute(statement, &[Param::Int(2)]).unwrap();
    });
    for (name, packets) in [("control", control), ("hot", hot)] {
        fs::write(corpus.join("packets").join(name), packets.concat()).unwrap();
        // The greeting and the packet that follows it.
        let login = packets.iter().take(2).flatten().copied().collect::<Vec<_>>();
        fs::write(corpus.join("login").join(name), login).unwrap();
        for (number, reply) in packets.iter().enumerate().skip(2) {
            let bytes = [&[7], reply.as_slice()].concat();
            fs::write(corpus.join("reply").join(format!("{name}-{number}")), bytes).unwrap();
        }
    }
    let caching = b"\x0a8.4.0\0\x01\0\0\0abcdefgh\0\xff\xff\xff\x02\0\xff\xdf\x15\
        \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0";
    let mut login = Vec::new();
    codec::frame(caching, 0, &mut login);
    codec::frame(b"\xfemysql_native_password\0abcdefghijklmnopqrst\0", 2, &mut login);
    codec::frame(b"\x01\x03", 4, &mut login);
    fs::write(corpus.join("login/caching"), login).unwrap();
}

fn postgres_packets(corpus: &Path) {
    let server = postgres();
    server.connect().query("CREATE USER known PASSWORD 'secret'").unwrap();
    let control = record(&server.connect_options(), |options| {
        let mut control = Connection::connect(options).unwrap();
        control
            .query("SELECT 1, 'two', NULL; UPDATE pg_class SET relname = 'x' WHERE false")
            .unwrap();
        control.query("DROP TABLE IF EXISTS nothing").unwrap();
        control.query("no statement").unwrap_err();
    });
    let hot = record(&server.connect_options(), |options| {
        let mut hot = Connection::connect(options).unwrap();
        let sql = "SELECT n, 'x' FROM generate_series(1, 5) n WHERE n >= $1";
        let statement = hot.prepare(sql, &[ParamType::Int]).unwrap();
        hot.execute(statement, &[Param::Int(2)]).unwrap();
    });
    for (name, replies) in [("control", control), ("hot", hot)] {
        fs::write(corpus.join("postgres_packets").join(name), replies.concat()).unwrap();
        for (number, reply) in replies.iter().enumerate().skip(1) {
            let bytes = [&[7], reply.as_slice()].concat();
            fs::write(corpus.join("postgres_reply").join(format!("{name}-{number}")), bytes)
                .unwrap();
        }
    }
    let step = |body: &[u8]| {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [b"R", length.as_slice(), body].concat()
    };
    let scram = [
        step(b"\0\0\0\x0aSCRAM-SHA-256\0\0"),
        step(b"\0\0\0\x0br=nonce,s=c2FsdHNhbHQ=,i=4096"),
        step(b"\0\0\0\x0cv=c2ln"),
    ];
    fs::write(corpus.join("postgres_login/scram"), scram.concat()).unwrap();
    let md5 = [step(b"\0\0\0\x05salt"), step(b"\0\0\0\0")];
    fs::write(corpus.join("postgres_login/md5"), md5.concat()).unwrap();
}

/// Relays everything between a client and the server. Returns the server's bytes, one item per reply.
fn record(options: &ConnectOptions, drive: impl FnOnce(&ConnectOptions)) -> Vec<Vec<u8>> {
    let Address::Unix(real) = options.address.clone() else { panic!("a unix socket") };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let protocol = options.protocol;
    let proxy = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = UnixStream::connect(real).unwrap();
        let mut replies = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        if protocol == Protocol::Postgres {
            let length = client.read(&mut buffer).unwrap();
            server.write_all(&buffer[..length]).unwrap();
        }
        loop {
            let length = server.read(&mut buffer).unwrap();
            replies.push(buffer[..length].to_vec());
            client.write_all(&buffer[..length]).unwrap();
            let length = client.read(&mut buffer).unwrap();
            server.write_all(&buffer[..length]).unwrap();
            // The client said good-bye, or left.
            if length == 0 || GOODBYES.iter().any(|it| buffer[..length].ends_with(it)) {
                return replies;
            }
        }
    });
    drive(&ConnectOptions { address: Address::Unix(path), ..options.clone() });
    proxy.join().unwrap()
}
