//! Stored documents: whatever they were changed to, they are read or refused, and what is read is written as it was.
//!
//! The first byte says what the others are: a definition (`s`), a collection (`c`), an entry of the audit log (`a`), grants
//! (`g`) or a key file (`k`).

use std::sync::OnceLock;

use punctual_model::{CollectionKey, JobId, JobSpec, RandomSource};
use punctual_store::codec;
use punctual_store::{KeyRing, Vault};

struct Zero;

impl RandomSource for Zero {
    fn random(&self) -> u128 {
        0
    }
}

fn vault() -> &'static Vault {
    static VAULT: OnceLock<Vault> = OnceLock::new();
    VAULT.get_or_init(|| Vault::new(&KeyRing::generate(&Zero)))
}

/// A definition is stored and read back as it was, by its own job only.
pub(crate) fn check_spec(spec: &JobSpec) {
    let stored = codec::encode_spec(spec, JobId(1), vault(), &Zero);
    let read = codec::decode_spec(&stored.document, stored.sealed.as_deref(), JobId(1), vault());
    assert_eq!(read.ok().as_ref(), Some(spec));
    if stored.sealed.is_some() {
        let moved = codec::decode_spec(&stored.document, stored.sealed.as_deref(), JobId(2), vault());
        assert!(moved.is_err(), "secrets open for another job: {spec:?}");
    }
}

pub(crate) fn run(bytes: &[u8]) {
    let Some((kind, document)) = bytes.split_first() else { return };
    match kind {
        b's' => {
            if let Ok(spec) = codec::decode_spec(document, None, JobId(1), vault()) {
                check_spec(&spec);
            }
        }
        b'c' => {
            let key = CollectionKey::new("s", "g", "c");
            if let Ok(read) = codec::decode_collection(document, key.clone(), 1) {
                let again = codec::decode_collection(&codec::encode_collection(&read), key, 1);
                assert_eq!(again.ok(), Some(read));
            }
        }
        b'a' => {
            if let Ok(entry) = codec::decode_audit(document) {
                assert_eq!(codec::decode_audit(&codec::encode_audit(&entry)).ok(), Some(entry));
            }
        }
        b'g' => {
            if let Ok(grants) = codec::decode_grants(document) {
                assert_eq!(codec::decode_grants(&codec::encode_grants(&grants)).ok(), Some(grants));
            }
        }
        b'k' => {
            let Ok(text) = std::str::from_utf8(document) else { return };
            for ring in [KeyRing::parse(text), KeyRing::parse_inline(text)].into_iter().flatten() {
                let rendered = ring.render();
                let again = KeyRing::parse(rendered.expose()).map(|again| again.render());
                assert_eq!(again.ok(), Some(rendered));
            }
        }
        _ => {}
    }
}
