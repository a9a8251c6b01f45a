//! Sessions.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use punctual_model::Scope;
use punctual_model::access::{Caller, Session, SessionHolder, SessionId, TokenHash, TokenId};
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};

use super::world::at;
use crate::{AuditAsk, AuditLog, Refusal, SESSIONS_MAX, SESSIONS_PER_CALLER_MAX, Sessions, WriteError};

fn a_session(number: u32, caller: &str) -> Session {
    let mut hash = [0; 32];
    hash[..4].copy_from_slice(&number.to_be_bytes());
    let id = TokenId(caller.to_owned());
    Session {
        id: SessionId(format!("00000000-0000-4000-8000-{number:012}")),
        hash: TokenHash(hash),
        holder: SessionHolder::Token { id, secret_fingerprint: "f".to_owned() },
        created_at: at(0),
        last_used_at: at(i64::from(number)),
        expires_at: at(86_400),
    }
}

fn of_issuer(number: u32, subject: &str) -> Session {
    let holder = SessionHolder::OpenId {
        issuer: "https://login.example.com".to_owned(),
        subject: subject.to_owned(),
        name: "Zoë".to_owned(),
        claims: vec![("groups".to_owned(), "ops".to_owned())],
    };
    Session { holder, ..a_session(number, "") }
}

fn note(who: &str) -> Option<AuditEntry> {
    let caller = Caller { name: who.into(), ..Caller::anonymous() };
    Some(Author::of(caller, at(0)).entry(Scope::Everything, AuditOutcome::SignedIn))
}

async fn ids(store: &dyn Sessions) -> Vec<SessionId> {
    store.sessions(None, SESSIONS_MAX).await.unwrap().into_iter().map(|session| session.id).collect()
}

pub async fn a_session_is_found_by_the_hash_of_its_secret(store: Arc<dyn Sessions>) {
    let (one, other) = (a_session(1, "a"), of_issuer(2, "a"));
    store.create_session(&one, None).await.unwrap();
    store.create_session(&other, None).await.unwrap();
    assert_eq!(store.session(&one.hash).await.unwrap(), Some(one));
    assert_eq!(store.session(&other.hash).await.unwrap(), Some(other));
    assert_eq!(store.session(&TokenHash([9; 32])).await.unwrap(), None);
}

pub async fn sessions_are_listed_by_id_in_pages(store: Arc<dyn Sessions>) {
    let sessions: Vec<Session> = (1..=5).map(|number| a_session(number, &format!("c{number}"))).collect();
    for session in sessions.iter().rev() {
        store.create_session(session, None).await.unwrap();
    }
    let first = store.sessions(None, 3).await.unwrap();
    assert_eq!(first, sessions[..3]);
    assert_eq!(store.sessions(Some(&first[2].id), 3).await.unwrap(), sessions[3..]);
    assert_eq!(store.sessions(Some(&sessions[4].id), 3).await.unwrap(), []);
}

pub async fn a_session_that_has_ended_is_unknown(store: Arc<dyn Sessions>) {
    let session = a_session(1, "a");
    store.create_session(&session, None).await.unwrap();
    assert!(store.end_session(&session.id, None).await.unwrap());
    assert!(!store.end_session(&session.id, None).await.unwrap());
    assert_eq!(store.session(&session.hash).await.unwrap(), None);
}

pub async fn all_sessions_of_a_caller_end_at_once(store: Arc<dyn Sessions>) {
    for session in [a_session(1, "a"), a_session(2, "b"), of_issuer(3, "a"), a_session(4, "a")] {
        store.create_session(&session, None).await.unwrap();
    }
    assert_eq!(store.end_sessions_of("a", None).await.unwrap(), 3);
    assert_eq!(store.end_sessions_of("a", None).await.unwrap(), 0);
    assert_eq!(ids(&*store).await, [a_session(2, "b").id]);
}

pub async fn of_too_many_sessions_of_a_caller_the_one_used_longest_ago_ends(store: Arc<dyn Sessions>) {
    let max = u32::try_from(SESSIONS_PER_CALLER_MAX).unwrap();
    for number in 1..=max {
        store.create_session(&a_session(number, "a"), None).await.unwrap();
    }
    // Another caller, and one whom an issuer calls the same.
    store.create_session(&a_session(100, "b"), None).await.unwrap();
    store.create_session(&of_issuer(101, "a"), None).await.unwrap();
    store.note_session_uses(&[(a_session(1, "a").hash, at(1_000))]).await.unwrap();
    store.create_session(&a_session(max + 1, "a"), None).await.unwrap();
    let expected: Vec<SessionId> = std::iter::once(1)
        .chain(3..=max + 1)
        .chain([100, 101])
        .map(|number| a_session(number, "").id)
        .collect();
    assert_eq!(ids(&*store).await, expected);
}

pub async fn uses_of_sessions_are_noted_and_never_go_back(store: Arc<dyn Sessions>) {
    let (used, unused) = (a_session(1, "a"), a_session(2, "b"));
    store.create_session(&used, None).await.unwrap();
    store.create_session(&unused, None).await.unwrap();
    store.note_session_uses(&[(used.hash, at(30)), (TokenHash([9; 32]), at(30))]).await.unwrap();
    store.note_session_uses(&[(used.hash, at(20))]).await.unwrap();
    let sessions = store.sessions(None, 9).await.unwrap();
    assert_eq!(sessions, [Session { last_used_at: at(30), ..used }, unused]);
}

pub async fn what_expired_or_was_not_used_is_removed_in_bounded_steps(store: Arc<dyn Sessions>) {
    let expired = |number| Session { expires_at: at(50), ..a_session(number, &number.to_string()) };
    let unused = |number| Session { last_used_at: at(5), ..a_session(number, &number.to_string()) };
    let alive = |number| Session { last_used_at: at(40), ..a_session(number, &number.to_string()) };
    for session in [expired(1), expired(2), unused(3), alive(4), unused(5)] {
        store.create_session(&session, None).await.unwrap();
    }
    assert_eq!(store.prune_sessions(at(49), at(0), 10).await.unwrap(), 0);
    assert_eq!(store.prune_sessions(at(50), at(5), 3).await.unwrap(), 3);
    assert_eq!(store.prune_sessions(at(50), at(5), 3).await.unwrap(), 1);
    assert_eq!(store.prune_sessions(at(50), at(5), 3).await.unwrap(), 0);
    assert_eq!(ids(&*store).await, [alive(4).id]);
}

pub async fn the_beginning_and_the_end_of_a_session_are_noted_with_it<S: Sessions + AuditLog + 'static>(
    store: Arc<S>,
) {
    let (one, other) = (a_session(1, "a"), a_session(2, "a"));
    store.create_session(&one, note("begins")).await.unwrap();
    assert!(store.end_session(&one.id, note("ends")).await.unwrap());
    assert!(!store.end_session(&one.id, note("has ended")).await.unwrap());
    assert_eq!(store.end_sessions_of("a", note("nothing")).await.unwrap(), 0);
    store.create_session(&other, None).await.unwrap();
    assert_eq!(store.end_sessions_of("a", note("all end")).await.unwrap(), 1);
    let page = store.audit(&AuditAsk { limit: 100, ..AuditAsk::default() }).await.unwrap();
    let told: Vec<&str> = page.entries.iter().map(|stored| &*stored.entry.caller_name).collect();
    assert_eq!(told, ["all end", "ends", "begins"]);
}

/// How many are created at once.
const AT_ONCE: usize = 256;

pub async fn there_are_only_so_many_sessions(store: Arc<dyn Sessions>) {
    let max = u32::try_from(SESSIONS_MAX).unwrap();
    let caller = |number: u32| format!("caller {}", number / 15);
    // Many at once, so that a store on a disk can gather them, and few enough that none waits for long.
    let mut creations = tokio::task::JoinSet::<Result<(), WriteError>>::new();
    for number in 0..max {
        if creations.len() >= AT_ONCE {
            creations.join_next().await.unwrap().unwrap().unwrap();
        }
        let store = Arc::clone(&store);
        let session = a_session(number, &caller(number));
        creations.spawn(async move { store.create_session(&session, None).await });
    }
    while let Some(created) = creations.join_next().await {
        created.unwrap().unwrap();
    }
    let one_more = store.create_session(&a_session(max, "one more"), None).await;
    let Err(WriteError::Refused(refusal)) = one_more else { panic!("expected a refusal, not {one_more:?}") };
    assert_eq!(refusal, Refusal::TooManySessions { max: SESSIONS_MAX });
    assert_eq!(store.session(&a_session(max, "").hash).await.unwrap(), None);
}
