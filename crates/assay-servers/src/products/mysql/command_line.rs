//! Common parts of the command lines of MySQL and MariaDB.

use std::ffi::OsString;
use std::path::Path;

use assay_model::Prefix;

use crate::server_paths::with_path;
use crate::supervise::RunAs;

/// The start of every command line. Options for paths come last, where nothing can override them.
pub(super) fn program(prefix: &Prefix, run_as: RunAs) -> Vec<OsString> {
    let layout = &prefix.layout;
    let mut argv = Vec::new();
    if let Some(loader) = &layout.loader {
        let mut library_path = OsString::new();
        for (at, directory) in layout.library_path.iter().enumerate() {
            library_path.push(if at == 0 { "" } else { ":" });
            library_path.push(directory);
        }
        argv.extend([loader.into(), "--library-path".into(), library_path]);
    }
    argv.extend([layout.server.clone().into_os_string(), "--no-defaults".into()]);
    if run_as == RunAs::Caller && rustix::process::geteuid().is_root() {
        argv.push("--user=root".into());
    }
    argv
}

pub(super) fn directories(prefix: &Prefix, data_dir: &Path, tmp_dir: &Path) -> [OsString; 7] {
    let layout = &prefix.layout;
    [
        ("--basedir=", layout.basedir.as_path()),
        ("--datadir=", data_dir),
        ("--tmpdir=", tmp_dir),
        ("--lc-messages-dir=", &layout.share_dir),
        ("--character-sets-dir=", &layout.charsets_dir),
        ("--plugin-dir=", &layout.plugin_dir),
        // No statement may read or write files elsewhere. The default of some builds is a directory that does not
        // exist.
        ("--secure-file-priv=", tmp_dir),
    ]
    .map(|(option, path)| with_path(option, path))
}
