//! A mirror of Ubuntu: the archive and the machine as its releases set them up.

use std::path::{Path, PathBuf};

use fs_err as fs;

use super::{CONTENT, Mirror, Suite, configure_with, libraries, package, record};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ubuntu {
    /// 22.04: one-line sources, keys that apt trusts for everything.
    Jammy,
    /// 24.04: deb822 sources that name their keys.
    Noble,
}

impl Ubuntu {
    fn name(self) -> &'static str {
        match self {
            Self::Jammy => "jammy",
            Self::Noble => "noble",
        }
    }

    /// Servers with their programs and components: by package, by version in the release and in its updates.
    fn servers(self) -> [(&'static str, &'static str, &'static str, [&'static str; 2]); 2] {
        let mariadb = match self {
            Self::Jammy => {
                ("mariadb-server-core-10.6", ["1:10.6.7-2ubuntu1", "1:10.6.22-0ubuntu0.22.04.1"])
            }
            Self::Noble => {
                ("mariadb-server-core", ["1:10.11.7-2ubuntu2", "1:10.11.13-0ubuntu0.24.04.1"])
            }
        };
        let mysql = match self {
            Self::Jammy => ["8.0.28-0ubuntu4", "8.0.44-0ubuntu0.22.04.1"],
            Self::Noble => ["8.0.36-2ubuntu3", "8.0.44-0ubuntu0.24.04.1"],
        };
        [
            ("mysql-server-core-8.0", "usr/sbin/mysqld", "main", mysql),
            (mariadb.0, "usr/sbin/mariadbd", "universe", mariadb.1),
        ]
    }

    /// Writes the three suites. Updates are in the suite of updates, those of the server in `main` in that of security.
    fn fill(self, root: &Path) -> Vec<PathBuf> {
        let pool = root.join("pool");
        fs::create_dir_all(&pool).unwrap();
        let pockets =
            [("", 0, None), ("-updates", 1, Some("universe")), ("-security", 1, Some("main"))];
        let write = |(pocket, nth, only): (&str, usize, Option<&str>)| {
            let index = |component: &'static str| {
                let mut index = String::new();
                for (name, program, of, versions) in self.servers() {
                    if of == component && only.is_none_or(|only| only == component) {
                        let file = format!("{name}{pocket}.deb");
                        let package = package(program, "data.tar.zst", CONTENT);
                        fs::write(pool.join(&file), &package).unwrap();
                        index += &record(name, versions[nth], &file, &package);
                    }
                }
                if pocket.is_empty() && component == "main" {
                    let package = package("usr/lib/library", "data.tar.zst", CONTENT);
                    fs::write(pool.join("library.deb"), &package).unwrap();
                    let all = libraries();
                    index.extend(all.iter().map(|name| record(name, "1", "library.deb", &package)));
                }
                (component, index)
            };
            let name = format!("{}{pocket}", self.name());
            let suite = Suite { origin: "Ubuntu", name: &name, valid_hours: 24 };
            suite.write(root, &[index("main"), index("universe")])
        };
        pockets.map(write).to_vec()
    }

    /// Writes the sources as the installer does, after those of a vendor and of the ports.
    fn configure(self, home: &Path, port: u16, keyring: &Path) {
        let (name, at) = (self.name(), format!("http://127.0.0.1:{port}/"));
        match self {
            Self::Jammy => {
                let trusted = home.join("etc/trusted.gpg.d");
                fs::create_dir_all(&trusted).unwrap();
                fs::copy(keyring, trusted.join("ubuntu-keyring-2018-archive.gpg")).unwrap();
                let lines = format!(
                    "deb http://127.0.0.1:9/repo/10.11/ubuntu {name} main\n\
                     deb [arch=arm64] http://127.0.0.1:9/ubuntu-ports {name} main universe\n\
                     # deb-src {at} {name} main restricted\n\
                     deb {at} {name} main restricted\ndeb {at} {name}-updates main restricted\n\
                     deb {at} {name} universe\ndeb {at} {name}-updates universe\n\
                     deb {at} {name}-security main restricted\ndeb {at} {name}-security universe\n"
                );
                configure_with(home, "sources.list", &lines);
            }
            Self::Noble => {
                let keys = home.join("ubuntu-archive-keyring.gpg");
                fs::copy(keyring, &keys).unwrap();
                let keys = keys.display();
                let stanzas = format!(
                    "Types: deb\nURIs: http://127.0.0.1:9/ubuntu-ports/\nSuites: {name}\n\
                     Components: main universe\nArchitectures: arm64\nSigned-By: {keys}\n\n\
                     Types: deb\nURIs: {at}\nSuites: {name} {name}-updates {name}-backports\n\
                     Components: main universe restricted multiverse\nSigned-By: {keys}\n\n\
                     Types: deb\nURIs: {at}\nSuites: {name}-security\n\
                     Components: main universe restricted multiverse\nSigned-By: {keys}\n"
                );
                configure_with(home, "sources.list.d/ubuntu.sources", &stanzas);
            }
        }
    }
}

impl Mirror {
    pub(crate) fn ubuntu(machine: Ubuntu) -> Self {
        let fill = |root: &Path| [Ubuntu::Jammy, Ubuntu::Noble].map(|it| it.fill(root)).concat();
        Self::start(fill, |home, port, keyring| machine.configure(home, port, keyring))
    }
}
