//! Distinguishes failures of a version from those of the machine.

const OF_MACHINE: [&str; 7] = [
    "No space left on device",
    "not enough disk space",
    "MB are missing",
    "Cannot allocate memory",
    "virtual memory exhausted",
    "out of memory",
    "Killed",
];

pub(super) fn is_of_machine(why: &str) -> bool {
    OF_MACHINE.iter().any(|words| why.contains(words))
}

/// Why a version cannot be fetched or started, if it is its own fault: another attempt would fail in the same way.
pub fn own_fault(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let of_provision = cause.downcast_ref().filter(|it| cannot_be_had(it));
        let of_server = cause.downcast_ref().filter(|it| does_not_start(it));
        of_provision.map(ToString::to_string).or_else(|| of_server.map(ToString::to_string))
    })
}

fn cannot_be_had(error: &assay_provision::Error) -> bool {
    use assay_provision::Error;
    match error {
        Error::Build { lines, .. } => !lines.iter().any(|line| is_of_machine(line)),
        Error::NoVersion { unread, .. } => unread.is_empty(),
        Error::HostLibraries { .. }
        | Error::Incomplete(_)
        | Error::NotAServer { .. }
        | Error::NotCached { .. }
        | Error::NotPublished { .. }
        | Error::SubmoduleMissing { .. } => true,
        _ => false,
    }
}

fn does_not_start(error: &assay_servers::Error) -> bool {
    use assay_servers::Error;
    match error {
        Error::Initialize { log, .. } | Error::Ended { log, .. } | Error::NoAnswer { log, .. } => {
            !is_of_machine(log)
        }
        Error::UnknownOption { .. } | Error::OptionRefused { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use anyhow::Context as _;

    use super::*;

    fn build(line: &str) -> anyhow::Error {
        anyhow::Error::from(assay_provision::Error::Build {
            place: "../postgres".to_owned(),
            step: "compiling",
            status: "exit status: 2".to_owned(),
            lines: vec![line.to_owned()],
            log: PathBuf::new(),
        })
    }

    #[test]
    fn a_version_is_at_fault_where_another_attempt_would_end_in_the_same_way() {
        let fault = own_fault(&build("error: unknown type name").context("cannot get it"));
        assert!(fault.unwrap().starts_with("compiling `../postgres` failed"));
        assert_eq!(own_fault(&build("cc1plus: fatal: Killed signal terminated program")), None);
        assert_eq!(own_fault(&build("as: No space left on device")), None);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(own_fault(&assay_provision::Error::from(full).into()), None);
        let missing = assay_provision::Error::ToolMissing("bison".to_owned());
        assert_eq!(own_fault(&missing.into()), None);
        let option = assay_servers::Error::UnknownOption {
            server: "postgres 9.6".to_owned(),
            option: "jit".to_owned(),
            nearest: None,
        };
        let started: anyhow::Result<()> = Err(option).context("cannot start `postgres@9.6`");
        assert!(own_fault(&started.unwrap_err()).is_some());
    }
}
