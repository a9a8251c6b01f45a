//! Tokens.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use punctual_model::access::{Grant, Role, Token, TokenHash, TokenId};
use punctual_model::{CollectionKey, Scope, Secret};

use super::world::at;
use crate::{Callers, Refusal, TOKENS_MAX, WriteError};

fn a_token(number: u32, name: &str) -> Token {
    let mut hash = [0; 32];
    hash[..4].copy_from_slice(&number.to_be_bytes());
    Token {
        id: TokenId(format!("00000000-0000-4000-8000-{number:012}")),
        name: name.to_owned(),
        hash: TokenHash(hash),
        grants: vec![
            Grant { role: Role::Reader, scope: Scope::Everything },
            Grant { role: Role::Operator, scope: Scope::Subscription("Sub".into()) },
            Grant {
                role: Role::Contributor,
                scope: Scope::Collection(CollectionKey::new("Sub", "Group", "a")),
            },
            Grant { role: Role::Owner, scope: Scope::Group(CollectionKey::new("Sub", "Group", "a").group) },
        ],
        created_at: at(0),
        expires_at: Some(at(60)),
        last_used_at: None,
    }
}

fn refusal(written: Result<(), WriteError>) -> Refusal {
    match written {
        Err(WriteError::Refused(refusal)) => refusal,
        other => panic!("expected a refusal, not {other:?}"),
    }
}

pub async fn a_token_reads_back(store: Arc<dyn Callers>) {
    let token = a_token(1, "CI");
    let plain = Token { grants: Vec::new(), expires_at: None, ..a_token(2, "later") };
    store.create_token(&token, None).await.unwrap();
    store.create_token(&plain, None).await.unwrap();
    assert_eq!(store.tokens().await.unwrap(), [token, plain]);
}

pub async fn tokens_are_listed_by_name(store: Arc<dyn Callers>) {
    for (number, name) in [(1, "b"), (2, "C"), (3, "a")] {
        store.create_token(&a_token(number, name), None).await.unwrap();
    }
    let names: Vec<String> = store.tokens().await.unwrap().into_iter().map(|token| token.name).collect();
    assert_eq!(names, ["a", "b", "C"]);
}

pub async fn a_name_is_given_once_in_any_case(store: Arc<dyn Callers>) {
    store.create_token(&a_token(1, "deploy"), None).await.unwrap();
    assert_eq!(refusal(store.create_token(&a_token(2, "Deploy"), None).await), Refusal::TokenExists);
    assert_eq!(store.tokens().await.unwrap().len(), 1);
}

pub async fn a_secret_is_given_once(store: Arc<dyn Callers>) {
    let token = a_token(1, "a");
    store.create_token(&token, None).await.unwrap();
    let same_secret = Token { hash: token.hash, ..a_token(2, "b") };
    assert_eq!(refusal(store.create_token(&same_secret, None).await), Refusal::TokenExists);
    let same_id = Token { id: token.id.clone(), ..a_token(3, "c") };
    assert_eq!(refusal(store.create_token(&same_id, None).await), Refusal::TokenExists);
    assert_eq!(store.tokens().await.unwrap(), [token]);
}

pub async fn a_replaced_token_keeps_its_name(store: Arc<dyn Callers>) {
    let token = a_token(1, "a");
    store.create_token(&token, None).await.unwrap();
    let hash = TokenHash([7; 32]);
    let rotated = Token { hash, name: "other".to_owned(), created_at: at(9), ..token.clone() };
    assert!(store.replace_token(&rotated, None).await.unwrap());
    assert_eq!(store.tokens().await.unwrap(), [Token { hash, ..token }]);
    assert!(!store.replace_token(&a_token(2, "b"), None).await.unwrap(), "there is none to replace");
    assert_eq!(store.tokens().await.unwrap().len(), 1);
}

pub async fn a_deleted_token_is_gone(store: Arc<dyn Callers>) {
    let token = a_token(1, "a");
    store.create_token(&token, None).await.unwrap();
    assert!(store.delete_token(&token.id, None).await.unwrap());
    assert!(!store.delete_token(&token.id, None).await.unwrap());
    assert_eq!(store.tokens().await.unwrap(), []);
    store.create_token(&token, None).await.unwrap();
}

pub async fn uses_are_noted_and_never_go_back(store: Arc<dyn Callers>) {
    let (used, unused) = (a_token(1, "a"), a_token(2, "b"));
    store.create_token(&used, None).await.unwrap();
    store.create_token(&unused, None).await.unwrap();
    let gone = TokenId("gone".to_owned());
    store.note_token_uses(&[(used.id.clone(), at(30)), (gone, at(30))]).await.unwrap();
    store.note_token_uses(&[(used.id.clone(), at(20))]).await.unwrap();
    let tokens = store.tokens().await.unwrap();
    assert_eq!(tokens, [Token { last_used_at: Some(at(30)), ..used }, unused]);
}

pub async fn changes_of_tokens_are_told(store: Arc<dyn Callers>) {
    let mut changes = store.token_changes();
    let token = a_token(1, "a");
    let mut told = || {
        let told = changes.has_changed().unwrap();
        changes.mark_unchanged();
        told
    };
    assert!(!told());
    store.create_token(&token, None).await.unwrap();
    assert!(told(), "of a new token");
    store.replace_token(&Token { expires_at: Some(at(5)), ..token.clone() }, None).await.unwrap();
    assert!(told(), "of a replaced one");
    store.note_token_uses(&[(token.id.clone(), at(1))]).await.unwrap();
    assert!(!told(), "a use is no change");
    store.delete_token(&token.id, None).await.unwrap();
    assert!(told(), "of a deleted one");
}

pub async fn of_two_server_secrets_the_first_is_kept(store: Arc<dyn Callers>) {
    let (one, other) = (Secret::new("one"), Secret::new("other"));
    assert_eq!(store.server_secret("a key").await.unwrap(), None);
    assert_eq!(store.keep_server_secret("a key", &one).await.unwrap(), one);
    assert_eq!(store.keep_server_secret("a key", &other).await.unwrap(), one);
    assert_eq!(store.server_secret("a key").await.unwrap(), Some(one));
    assert_eq!(store.server_secret("another key").await.unwrap(), None);
    assert_eq!(store.keep_server_secret("another key", &other).await.unwrap(), other);
}

/// How many are created at once.
const AT_ONCE: usize = 256;

pub async fn there_are_only_so_many_tokens(store: Arc<dyn Callers>) {
    let max = u32::try_from(TOKENS_MAX).unwrap();
    // Many at once, so that a store on a disk can gather them, and few enough that none waits for long.
    let mut creations = tokio::task::JoinSet::<Result<(), WriteError>>::new();
    for number in 0..max {
        if creations.len() >= AT_ONCE {
            creations.join_next().await.unwrap().unwrap().unwrap();
        }
        let store = Arc::clone(&store);
        creations.spawn(async move {
            store.create_token(&a_token(number, &format!("token {number}")), None).await
        });
    }
    while let Some(created) = creations.join_next().await {
        created.unwrap().unwrap();
    }
    let one_more = store.create_token(&a_token(max, "one more"), None).await;
    assert_eq!(refusal(one_more), Refusal::TooManyTokens { max: TOKENS_MAX });
}
