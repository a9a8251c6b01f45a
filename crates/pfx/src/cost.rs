//! How much work a file asks for, computed before any of it is done.
//!
//! A PKCS#12 file names the number of key derivation rounds of each of its encrypted parts, so a small
//! file can ask for minutes of work. This walks the parts that are in the clear and adds the rounds up.
//! The walk takes every algorithm it finds at face value, wherever it is, which errs on the safe side.

use x509_parser::asn1_rs::{Any, FromDer, Tag};

use crate::OpenError;

/// All rounds of a file together. OpenSSL writes 2,048 for each of its three parts, Windows 2,000 and
/// Java 10,000; the strictest advice of today is some 600,000 for each.
pub const ROUNDS_MAX: u64 = 2_000_000;

/// How deep a file may be nested; a real one needs about twelve levels.
const DEPTH_MAX: usize = 24;

/// Memory-hard derivation: rare in these files, and a way to ask for a gigabyte.
const SCRYPT: &str = "1.3.6.1.4.1.11591.4.11";

/// The rounds that a file asks for; an error if they are more than are allowed.
pub(crate) fn rounds(file: &[u8]) -> Result<u64, OpenError> {
    let (_, whole) = Any::from_der(file).map_err(|_| OpenError::NotPkcs12)?;
    if whole.tag() != Tag::Sequence {
        return Err(OpenError::NotPkcs12);
    }
    let mut rounds = 0;
    walk(whole.data, 0, &mut rounds)?;
    if rounds > ROUNDS_MAX { Err(OpenError::TooCostly) } else { Ok(rounds) }
}

/// Walks the elements of a constructed value. A salt followed by a small integer is how every scheme
/// (PBES1, PBKDF2, the MAC) writes its rounds.
fn walk(mut bytes: &[u8], depth: usize, rounds: &mut u64) -> Result<(), OpenError> {
    if depth > DEPTH_MAX {
        return Err(OpenError::TooCostly);
    }
    let mut salt_before = false;
    while !bytes.is_empty() {
        // What is not DER is the content of an octet string that happened to look like it.
        let Ok((rest, element)) = Any::from_der(bytes) else { return Ok(()) };
        let is_salt = element.tag() == Tag::OctetString;
        match element.tag() {
            Tag::Integer if salt_before => *rounds = rounds.saturating_add(number(element.data)),
            Tag::Oid if element.clone().oid().is_ok_and(|oid| oid.to_id_string() == SCRYPT) => {
                return Err(OpenError::Unsupported);
            }
            Tag::OctetString => {
                if let Some(inside) = document_in(element.data) {
                    walk(inside, depth + 1, rounds)?;
                }
            }
            _ if element.header.is_constructed() => walk(element.data, depth + 1, rounds)?,
            _ => {}
        }
        salt_before = is_salt;
        bytes = rest;
    }
    Ok(())
}

/// The content of an octet string that holds exactly one sequence, as those with parts of the file do. Salts
/// and encrypted data look like that about once in 2^24.
fn document_in(bytes: &[u8]) -> Option<&[u8]> {
    match Any::from_der(bytes) {
        Ok((rest, whole)) if rest.is_empty() && whole.tag() == Tag::Sequence => Some(whole.data),
        _ => None,
    }
}

/// An unsigned number of up to eight bytes; a longer one counts as the largest.
fn number(bytes: &[u8]) -> u64 {
    let significant: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    if significant.len() > 8 {
        return u64::MAX;
    }
    significant.into_iter().fold(0, |number, byte| number << 8 | u64::from(byte))
}
