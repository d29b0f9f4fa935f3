//! Programs with another loader.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use object::elf::{ET_EXEC, FileHeader64, PT_INTERP, ProgramHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, U64};

/// Returns a copy of a program with a fixed address that the kernel starts by this loader. `None` if it is
/// position-independent, names no loader, or is no program of this kind of machine. The name of the loader is appended
/// to the file, and its segment header points there.
pub(crate) fn with_loader(program: &[u8], loader: &Path) -> Option<Vec<u8>> {
    const ENDIAN: LittleEndian = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(program).ok()?;
    if header.e_type(ENDIAN) != ET_EXEC {
        return None;
    }
    let segments = header.program_headers(ENDIAN, program).ok()?;
    let at = segments.iter().position(|segment| segment.p_type(ENDIAN) == PT_INTERP)?;
    let mut named = *segments.get(at)?;
    let mut name = loader.as_os_str().as_bytes().to_vec();
    name.push(0);
    let size = U64::new(ENDIAN, name.len() as u64);
    named.p_offset = U64::new(ENDIAN, program.len() as u64);
    (named.p_filesz, named.p_memsz) = (size, size);
    let each = size_of::<ProgramHeader64<LittleEndian>>();
    let place = usize::try_from(header.e_phoff(ENDIAN)).ok()?.checked_add(at.checked_mul(each)?)?;
    let mut changed = program.to_vec();
    changed.get_mut(place..place.checked_add(each)?)?.copy_from_slice(object::bytes_of(&named));
    changed.extend(name);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_stays_as_it_is() {
        assert_eq!(with_loader(b"", Path::new("/l")), None);
        assert_eq!(with_loader(b"#!/bin/sh\n", Path::new("/l")), None);
        // This test's program is position-independent.
        let own = fs_err::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(with_loader(&own, Path::new("/l")), None);
    }
}
