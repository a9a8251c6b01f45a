//! Certificate files: their cost is known before they are opened, and bounded.

use punctual_pfx::{ROUNDS_MAX, decode, open, rounds};

/// Files that ask for more are not opened here: it is allowed, and takes too long to do it often.
const ROUNDS_FUZZED_MAX: u64 = 20_000;

const PASSWORD: &str = "not a secret";

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(file) = decode(text)
    {
        assert!(!file.is_empty());
    }
    let rounds = match rounds(bytes) {
        Ok(rounds) => rounds,
        Err(error) => {
            assert_eq!(open(bytes, PASSWORD).err(), Some(error), "what is too costly is not opened");
            return;
        }
    };
    assert!(rounds <= ROUNDS_MAX);
    if rounds > ROUNDS_FUZZED_MAX {
        return;
    }
    if let Ok(pfx) = open(bytes, PASSWORD) {
        assert!(!pfx.key_der.is_empty() && (1..=16).contains(&pfx.chain_der.len()));
        assert!(format!("{pfx:?}").contains("***"), "the key is not shown");
    }
}
