//! Secrets are nowhere in the data directory.

use std::path::Path;
use std::sync::Arc;

use punctual_model::{
    Action, ActionKind, Authentication, Certificate, HttpAction, QueueMessage, Secret,
    ServiceBusAuthentication, ServiceBusMessage,
};
use punctual_store::conformance::world::{World, a_job, at};
use punctual_store_sqlite::SqliteStore;

use crate::world::{open, options, ring};

const MARK: &str = "marked-secret";

fn shows_mark(dir: &Path) -> bool {
    let contains = |bytes: &[u8]| bytes.windows(MARK.len()).any(|window| window == MARK.as_bytes());
    std::fs::read_dir(dir).unwrap().any(|file| contains(&std::fs::read(file.unwrap().path()).unwrap()))
}

fn chain() -> Action {
    let secret = |number: u32| Secret::new(format!("{MARK}-{number}"));
    let with = |authentication| {
        ActionKind::Http(HttpAction {
            declared_https: false,
            uri: "https://example.com/".to_owned(),
            user_info: None,
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: None,
            authentication: Some(authentication),
        })
    };
    let certificate =
        Certificate { thumbprint: "AB".to_owned(), subject: "CN=x".to_owned(), expires_at: at(0) };
    let kinds = [
        with(Authentication::Basic { username: "user".to_owned(), password: secret(1) }),
        with(Authentication::ClientCertificate { pfx: secret(2), password: secret(3), certificate }),
        with(Authentication::ActiveDirectoryOAuth {
            secret: secret(4),
            tenant: "t".to_owned(),
            audience: "a".to_owned(),
            client_id: "c".to_owned(),
        }),
        ActionKind::StorageQueue(QueueMessage {
            storage_account: "account".to_owned(),
            queue_name: "queue".to_owned(),
            sas_token: secret(5),
            message: String::new(),
        }),
        ActionKind::ServiceBusTopic(ServiceBusMessage {
            entity: "e".to_owned(),
            namespace: "n".to_owned(),
            transport: None,
            authentication: Some(ServiceBusAuthentication {
                shared_access_key: None,
                sas_key_name: None,
                sas_key: Some(secret(6)),
            }),
            message: String::new(),
            brokered: None,
            custom: Vec::new(),
        }),
    ];
    let plain = |kind| Action { kind, retry: None, error_action: None };
    let mut actions: Vec<Action> = kinds.into_iter().map(plain).collect();
    let last = actions.pop().unwrap();
    actions.into_iter().rev().fold(last, |behind, mut action| {
        action.error_action = Some(Box::new(behind));
        action
    })
}

#[tokio::test]
async fn no_file_of_the_directory_shows_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let mut job = a_job(collection.key.job("j"), Some(at(0)));
    std::sync::Arc::make_mut(&mut job.spec).action = chain();
    let mut job = world.put_job(job, &collection).await.unwrap();
    for _ in 0..20 {
        job = world.put_job(job, &collection).await.unwrap();
    }
    let claim = world.begun(at(0)).await;
    assert_eq!(claim.job.spec.action, chain(), "they come out for firing");
    world.run(&claim, punctual_model::RecordStatus::Completed, Some(at(1))).await;
    assert!(!shows_mark(dir.path()), "while it is open, with its log");
    drop(world);
    assert!(!shows_mark(dir.path()), "after it was closed");
    std::fs::write(dir.path().join("control"), MARK).unwrap();
    assert!(shows_mark(dir.path()), "the test would have seen one");
}

#[tokio::test]
async fn new_keys_take_the_place_of_others_only_if_nothing_was_sealed_with_those() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let mut job = world.put_job(a_job(collection.key.job("j"), Some(at(0))), &collection).await.unwrap();
    drop(world);
    let other = |number: usize| {
        let random = crate::world::Counting::default();
        (0..number).for_each(|_| {
            punctual_model::RandomSource::random(&random);
        });
        let mut options = options(dir.path(), &punctual_store::KeyRing::generate(&random));
        options.new_keys = true;
        options
    };
    let world = World::new(Arc::new(SqliteStore::open(other(1)).unwrap()));
    std::sync::Arc::make_mut(&mut job.spec).action = chain();
    world.put_job(job, &collection).await.unwrap();
    drop(world);
    let error = SqliteStore::open(other(2)).unwrap_err();
    assert!(matches!(error, punctual_store_sqlite::OpenError::WrongKey(_)), "{error}");
    SqliteStore::open(other(1)).unwrap();
}

#[tokio::test]
async fn secrets_open_after_the_key_was_rotated() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let collection = world.collection("c").await;
    let mut job = a_job(collection.key.job("j"), Some(at(0)));
    std::sync::Arc::make_mut(&mut job.spec).action = chain();
    let job = world.put_job(job, &collection).await.unwrap();
    drop(world);

    let rotated = ring().rotated(&crate::world::Counting::default());
    let world = World::new(Arc::new(SqliteStore::open(options(dir.path(), &rotated)).unwrap()));
    assert_eq!(world.read(&job.key).await, job);
    world.put_job(job.clone(), &collection).await.unwrap();
    drop(world);
    let error = SqliteStore::open(options(dir.path(), &ring())).unwrap_err();
    let needs_it = error.to_string();
    assert!(
        needs_it.starts_with("key 2 is missing, and sealed with it: 1 job and 2 secrets of the server"),
        "{needs_it}"
    );
}
