//! Bodies of collections, groups and tokens.

use jiff::Timestamp;
use punctual_arm::{ApiVersion, CollectionContext, Locations, collection, provider, token};
use punctual_model::access::Role;
use punctual_model::{CollectionKey, Limits};
use punctual_store::codec;

fn now() -> Timestamp {
    Timestamp::from_second(1_794_744_000).expect("it is a time")
}

pub(crate) fn run(bytes: &[u8]) {
    let locations = Locations::default();
    let key = CollectionKey::new("s", "Rg", "Jc");
    for version in ApiVersion::ALL {
        let _ = collection::ignored(bytes, version);
        let context =
            CollectionContext { version, locations: &locations, limits: Limits::default(), now: now() };
        let Ok(made) = collection::read_put(bytes, &key, None, &context) else { continue };
        let shown = collection::answer(&made, version).to_bytes();
        let text =
            || format!("{} is shown as {}", String::from_utf8_lossy(bytes), String::from_utf8_lossy(&shown));
        let again = collection::read_patch(&shown, &made, &context);
        assert_eq!(again.as_ref().ok(), Some(&made), "{}", text());
        let stored = codec::encode_collection(&made);
        let read = codec::decode_collection(&stored, key.clone(), made.revision);
        assert_eq!(read.ok().as_ref(), Some(&made), "{}", text());
        if let Ok(patched) = collection::read_patch(bytes, &made, &context) {
            assert_eq!(patched, made, "{}: the same as a PATCH", text());
        }
    }
    let _ = provider::read_group(bytes, None, &locations);
    if let Ok(new) = token::read_create(bytes, now()) {
        assert!(!new.grants.is_empty() && new.expires_at.is_none_or(|at| at > now()), "{new:?}");
        assert!(new.grants.iter().all(|grant| Role::ALL.contains(&grant.role)));
        let grants = codec::encode_grants(&new.grants);
        assert_eq!(codec::decode_grants(&grants).ok(), Some(new.grants));
    }
    let _ = token::read_rotate(bytes, now());
}
