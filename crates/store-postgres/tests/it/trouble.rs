//! Servers that go away, keys that don't fit, certificates that are checked or not.

use std::sync::Arc;

use punctual_model::RecordStatus;
use punctual_store::conformance::world::{World, at};
use punctual_store::{Roster, Store, Vault};
use punctual_store_postgres::{OpenError, PostgresStore, ServerUrl};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::server::{Database, Server};
use crate::world::{Counting, open, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_of_the_server_the_store_goes_on_with_its_lease() {
    let Some(server) = Server::start("", &[]) else { return };
    let database = Database::on(&server).await;
    let store = Arc::new(open(&database).await);
    let world = World::new(Arc::clone(&store) as Arc<dyn Store>);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    let lease = store.standing().borrow().lease;
    server.restart("immediate");
    world.run(&claim, RecordStatus::Completed, Some(at(60))).await;
    assert_eq!(world.read(&job.key).await.counters.execution, 1);
    world.job(&collection, "k", at(0)).await;
    let mut standing = store.standing();
    assert_eq!(standing.wait_for(|standing| standing.may_fire).await.unwrap().lease, lease);
    assert!(server.dir.exists());
    assert!(!server.log().contains("deadlock"));
}

#[tokio::test]
async fn wrong_keys_are_refused() {
    let Some(database) = Database::new().await else { return };
    drop(open(&database).await);
    let mut other = options(&database.url);
    other.vault = Arc::new(Vault::new(&punctual_store::KeyRing::generate(&Counting)));
    let refused = PostgresStore::open(other).await.unwrap_err();
    assert!(matches!(refused, OpenError::WrongKey(_)), "{refused}");
}

#[tokio::test]
async fn a_node_that_knows_too_little_is_refused() {
    let Some(database) = Database::new().await else { return };
    let store = open(&database).await;
    let client = database.client().await;
    client.batch_execute("UPDATE schema_version SET version = 98").await.unwrap();
    drop(open(&database).await);
    client.batch_execute("UPDATE schema_version SET version = 99, min_version = 99").await.unwrap();
    let refused = PostgresStore::open(options(&database.url)).await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 99, least: 99, .. }), "{refused}");
    let mut standing = store.standing();
    standing.wait_for(|standing| !standing.may_fire).await.unwrap();
}

#[tokio::test]
async fn options_of_the_url_do_not_overrule_what_must_hold() {
    let Some(database) = Database::new().await else { return };
    let url = database.url.replace("search_path", "statement_timeout%3D0%20-c%20search_path");
    drop(PostgresStore::open(options(&url)).await.unwrap());
}

#[tokio::test]
async fn where_nobody_answers_is_said_without_the_password() {
    let mut options = options("postgres://u@127.0.0.1:1/x");
    options.url = ServerUrl::parse("postgres://u:hush@127.0.0.1:1/x").unwrap();
    let refused = PostgresStore::open(options).await.unwrap_err();
    assert_eq!(refused.to_string(), "could not connect to the database postgres://127.0.0.1:1/x");
}

#[tokio::test]
async fn certificates_are_checked_as_the_url_says() {
    let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, ca_key).unwrap();
    let named = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = named.signed_by(&key, &ca).unwrap();
    let files = [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let settings = "ssl = on\nssl_cert_file = '../server.crt'\nssl_key_file = '../server.key'";
    let Some(server) = Server::start(settings, &files) else { return };
    let database = Database::on(&server).await;
    let (_, search_path) = database.url.split_once('?').unwrap();
    let check = async |host: &str, mode: &str, trusted: bool, works: bool| {
        let url = format!("postgres://punctual@{host}:{}/postgres?sslmode={mode}&{search_path}", server.port);
        let mut options = options(&url);
        options.authorities = trusted.then(|| ca.der().clone()).into_iter().collect();
        match PostgresStore::open(options).await {
            Ok(store) => {
                assert!(works, "{host} {mode} {trusted}");
                let client = database.client().await;
                let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                                 WHERE application_name = 'punctual'";
                let encrypted: Option<bool> = client.query_one(encrypted, &[]).await.unwrap().get(0);
                assert_eq!(encrypted, Some(mode != "disable"), "{host} {mode}");
                store.leave().await.unwrap();
            }
            Err(error) => assert!(!works, "{host} {mode} {trusted}: {error:?}"),
        }
    };
    check("127.0.0.1", "disable", false, true).await;
    check("127.0.0.1", "prefer", false, true).await;
    check("127.0.0.1", "require", false, true).await;
    check("127.0.0.1", "verify-ca", false, false).await;
    check("127.0.0.1", "verify-ca", true, true).await;
    check("127.0.0.1", "verify-full", true, false).await;
    check("localhost", "verify-full", true, true).await;
    check("localhost", "verify-full", false, false).await;
}
