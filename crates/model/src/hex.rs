//! Hexadecimal digits. Some are written for every firing, and a table is several times faster than formatting.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends the two digits of a byte.
pub(crate) fn push(byte: u8, text: &mut String) {
    for digit in [byte >> 4, byte & 15] {
        text.push(char::from(DIGITS[usize::from(digit)]));
    }
}
