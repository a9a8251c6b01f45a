//! Paths and the scopes that they name.

use punctual_arm::{collapsed, id, read_scope, split_path};
use punctual_model::{Level, Scope};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let single = collapsed(text);
    assert_eq!(collapsed(&single), single, "{text:?}");
    assert!(!single.contains("//"), "{single:?}");
    if let Some((scope, tail)) = split_path(text) {
        assert!(
            text.trim_end_matches('/').ends_with(tail.trim_end_matches('/')),
            "{text:?} ends with {tail:?}"
        );
        // What a path names is the same in any letter case.
        let upper = text.to_ascii_uppercase();
        if !text.contains('%') && text.is_ascii() {
            assert_eq!(split_path(&upper).map(|(upper, _)| upper), Some(scope.clone()), "{text:?}");
        }
    }
    if let Ok(scope) = read_scope(text) {
        assert_ne!(scope.level(), Level::Job, "{text:?}");
        assert_eq!(read_scope(&id::scope(&scope)), Ok(scope.clone()), "{text:?}");
        // A grant on a scope is one on what is in it, and on nothing else that its name begins with.
        let Some((below, _)) = split_path(&format!("{}/x", id::scope(&scope).trim_end_matches('/'))) else {
            return;
        };
        assert!(scope == Scope::Everything || below.subscription() == scope.subscription(), "{text:?}");
    }
}
