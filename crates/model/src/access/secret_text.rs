//! The text of a secret: a prefix of four characters, 43 letters and digits with 256 random bits, and six check digits.

use sha2::{Digest, Sha256};

use crate::{RandomSource, Secret};

/// 62^43 is the first power of 62 above 2^256.
const RANDOM_DIGITS: usize = 43;

/// The check digits have 32 bits.
const CHECK_DIGITS: usize = 6;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new secret.
pub(super) fn generate(prefix: &str, random: &dyn RandomSource) -> Secret {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&random.random().to_be_bytes());
    bytes[16..].copy_from_slice(&random.random().to_be_bytes());
    let mut text = String::with_capacity(prefix.len() + RANDOM_DIGITS + CHECK_DIGITS);
    text.push_str(prefix);
    push_digits(&bytes, RANDOM_DIGITS, &mut text);
    let check = check_digits(&text);
    text.push_str(&check);
    Secret::new(text)
}

/// A secret that somebody sent. None if it can't be one with this prefix.
pub(super) fn parse(prefix: &str, text: &str) -> Option<Secret> {
    let length = prefix.len() + RANDOM_DIGITS + CHECK_DIGITS;
    if text.len() != length || !text.is_ascii() || !text.starts_with(prefix) {
        return None;
    }
    let (random, check) = text.split_at(length - CHECK_DIGITS);
    (check_digits(random) == check).then(|| Secret::new(text))
}

fn check_digits(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let mut digits = String::with_capacity(CHECK_DIGITS);
    push_digits(&hash[..4], CHECK_DIGITS, &mut digits);
    digits
}

/// Appends a number, given as big-endian bytes, in base 62 with `count` digits.
fn push_digits(bytes: &[u8], count: usize, text: &mut String) {
    let mut number = bytes.to_vec();
    let mut digits = vec![0; count];
    for digit in digits.iter_mut().rev() {
        let mut remainder = 0_u32;
        for byte in &mut number {
            let value = remainder << 8 | u32::from(*byte);
            *byte = u8::try_from(value / 62).expect("the quotient of less than 62 * 256 by 62 is a byte");
            remainder = value % 62;
        }
        *digit = DIGITS[remainder as usize];
    }
    text.extend(digits.into_iter().map(char::from));
}
