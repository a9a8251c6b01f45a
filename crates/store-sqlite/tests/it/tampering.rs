//! Whoever changes the file behind the server's back is found out.

use punctual_model::Scope;
use punctual_model::access::Caller;
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};
use punctual_store::AuditLog;
use punctual_store::conformance::world::at;

use crate::world::open;

fn entry(who: &str) -> AuditEntry {
    let caller = Caller { name: who.into(), ..Caller::anonymous() };
    Author::of(caller, at(0)).entry(Scope::Everything, AuditOutcome::Done)
}

/// Three pieces of three entries each, one change behind the server's back, and what is then found.
async fn found(change: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for piece in 0..3 {
        store.append_audit(vec![entry("alice"), entry("bob"), entry("carol")]).await.unwrap();
        assert_eq!(store.seal_audit(at(piece), 100).await.unwrap(), 3);
    }
    drop(store);
    let file = rusqlite::Connection::open(dir.path().join("punctual.db")).unwrap();
    assert!(change.is_empty() || file.execute(change, []).unwrap() > 0, "{change}");
    drop(file);
    let found = open(dir.path()).verify_audit(None, 100).await.unwrap();
    found.problems.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn what_was_changed_put_in_or_taken_away_is_named() {
    let check = async |change: &str, expected: &[&str]| assert_eq!(found(change).await, expected, "{change}");
    check("", &[]).await;
    let flipped =
        "UPDATE audit SET entry = CAST(replace(CAST(entry AS TEXT), 'bob', 'bab') AS BLOB) WHERE number = 5";
    check(flipped, &["entry 5 was changed after it was sealed"]).await;
    check("DELETE FROM audit WHERE number = 4", &["entry 4 is missing"]).await;
    check("DELETE FROM audit WHERE number = 9", &["entry 9 is missing"]).await;
    let behind = "piece 3 of the chain was changed, or does not follow the one before it";
    let resealed = "UPDATE audit_pieces SET sealed_at = sealed_at + 1 WHERE number = 3";
    check(resealed, &[behind]).await;
    check("DELETE FROM audit_pieces WHERE number = 2", &["piece 2 of the chain is missing"]).await;
    check("DELETE FROM audit_pieces WHERE number = 3", &["piece 3 of the chain is missing"]).await;
    let forged = "UPDATE audit_pieces SET code = x'00000000000000000000000000000000' WHERE number = 2";
    let second = "piece 2 of the chain was changed, or does not follow the one before it";
    check(forged, &[second, behind]).await;
}

#[tokio::test]
async fn the_key_outlives_restarts_and_is_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let key = store.audit_key().bytes().to_vec();
    drop(store);
    assert_eq!(open(dir.path()).audit_key().bytes(), key);
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(key.len()).any(|part| part == key));
    }
}
