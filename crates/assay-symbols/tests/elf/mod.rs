//! Writes small ELF files.

/// Name, type, flags, address, offset, size, link and the size of an entry.
fn section(fields: [u64; 8]) -> Vec<u8> {
    let [name, kind, flags, address, offset, size, link, entry] = fields;
    let mut bytes = Vec::new();
    for word in [name, kind] {
        bytes.extend((word as u32).to_le_bytes());
    }
    for long in [flags, address, offset, size] {
        bytes.extend(long.to_le_bytes());
    }
    bytes.extend((link as u32).to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(entry.to_le_bytes());
    bytes
}

pub(crate) fn elf(name: &str, count: u64) -> Vec<u8> {
    const HEADER: u64 = 64;
    const FUNCTION: u8 = 2;
    let names = [b"\0", name.as_bytes(), b"\0"].concat();
    let of_sections = b"\0.text\0.symtab\0.strtab\0";
    let mut symbols = vec![0; 24];
    for at in 0..count {
        symbols.extend(1_u32.to_le_bytes());
        symbols.extend([FUNCTION, 0, 1, 0]);
        symbols.extend((0x1000 + 16 * at).to_le_bytes());
        symbols.extend(16_u64.to_le_bytes());
    }
    let (of_symbols, of_names) = (symbols.len() as u64, names.len() as u64);
    let names_at = HEADER + of_symbols;
    let (words_at, of_words) = (names_at + of_names, of_sections.len() as u64);
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    for long in [0, 0, words_at + of_words] {
        file.extend(u64::to_le_bytes(long));
    }
    for short in [0, 0, 64, 56, 0, 64, 5, 4] {
        file.extend(u16::to_le_bytes(short));
    }
    file.resize(HEADER as usize, 0);
    file.extend([symbols, names, of_sections.to_vec()].concat());
    for fields in [
        [0; 8],
        [1, 8, 6, 0x1000, 0, 16 * count, 0, 0],
        [7, 2, 0, 0, HEADER, of_symbols, 3, 24],
        [15, 3, 0, 0, names_at, of_names, 0, 0],
        [15, 3, 0, 0, words_at, of_words, 0, 0],
    ] {
        file.extend(section(fields));
    }
    file
}
