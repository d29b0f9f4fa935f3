//! A reader of DER, the encoding of certificates and keys.

const SEQUENCE: u8 = 0x30;
const OBJECT: u8 = 6;

/// The values that were not read yet.
pub(crate) struct Der<'a>(pub(crate) &'a [u8]);

impl<'a> Der<'a> {
    pub(crate) fn sequence(&mut self) -> Option<Self> {
        self.value(SEQUENCE).map(Self)
    }

    /// An object identifier.
    pub(crate) fn object(&mut self) -> Option<&'a [u8]> {
        self.value(OBJECT)
    }

    /// The content of the next value, if it has this tag.
    pub(crate) fn value(&mut self, tag: u8) -> Option<&'a [u8]> {
        let [first, length, rest @ ..] = self.0 else { return None };
        if *first != tag {
            return None;
        }
        // From 0x81 on: the number of bytes that the length has.
        let (length, rest) = match *length {
            length @ 0..=0x7f => (usize::from(length), rest),
            length @ 0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
                (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(content)
    }
}
