//! Queues and exchanges of RabbitMQ over AMQP 1.0 by user name and password, where
//! `PUNCTUAL_TEST_RABBITMQ` names its endpoint, such as `amqp://127.0.0.1:5672`, and
//! `PUNCTUAL_TEST_RABBITMQ_TLS` the one over TLS, with the authority that is `ca.pem` in the directory
//! `PUNCTUAL_TEST_CERTIFICATE`. What arrives is read by an independent client in `tests/queues`.

use futures_util::future::join_all;
use punctual_actions::{Actions, Sasl, Settings};

use crate::bus::{Note, note};
use crate::world::{assert_failed, assert_succeeded, build, settings};

fn by_password(variable: &str) -> Option<Settings> {
    let Some(endpoint) = std::env::var_os(variable) else {
        eprintln!("SKIPPED: {variable} names no endpoint");
        return None;
    };
    Some(Settings {
        service_bus_amqp_endpoint: endpoint.into_string().unwrap(),
        service_bus_sasl: Sasl::Plain,
        service_bus_topic_address: "/exchange/{entity}".into(),
        ..settings()
    })
}

fn actions() -> Option<Actions> {
    Some(build(by_password("PUNCTUAL_TEST_RABBITMQ")?).unwrap())
}

fn guest(entity: &str) -> Note {
    note(entity).key("guest", "guest")
}

#[tokio::test]
async fn rabbitmq_takes_messages_by_user_name_and_password() {
    let Some(actions) = actions() else { return };
    let outcomes = join_all((0..200).map(|_| guest("punctual-queue").fire(&actions))).await;
    outcomes.iter().for_each(assert_succeeded);
    assert_succeeded(&actions.fire(&guest("amq.fanout").for_topic()).await);
}

#[tokio::test]
async fn rabbitmq_refuses_a_wrong_password_and_an_unknown_exchange() {
    let Some(actions) = actions() else { return };
    assert_failed(
        &note("punctual-queue").key("guest", "wrong").fire(&actions).await,
        "ServiceBusQueue Action - Failed: queue 'punctual-queue' namespace 'shop' \
         UnauthorizedAccess The broker did not accept the shared access key",
    );
    let outcome = actions.fire(&guest("nowhere").for_topic()).await;
    let start = "ServiceBusTopic Action - Failed: topic 'nowhere' namespace 'shop' MessagingEntityNotFound ";
    assert!(!outcome.succeeded && outcome.message.starts_with(start), "{}", outcome.message);
}

#[tokio::test]
async fn rabbitmq_takes_messages_over_tls_from_who_trusts_it() {
    let Some(settings) = by_password("PUNCTUAL_TEST_RABBITMQ_TLS") else { return };
    let directory = std::env::var_os("PUNCTUAL_TEST_CERTIFICATE").unwrap();
    let authorities_pem = std::fs::read(std::path::Path::new(&directory).join("ca.pem")).unwrap();
    let trusting = build(Settings { authorities_pem, ..settings.clone() }).unwrap();
    let outcomes = join_all((0..200).map(|_| guest("punctual-queue").fire(&trusting))).await;
    outcomes.iter().for_each(assert_succeeded);
    let wrong = note("punctual-queue").key("guest", "wrong").fire(&trusting).await;
    assert!(wrong.message.contains(" UnauthorizedAccess "), "{}", wrong.message);
    let outcome = guest("punctual-queue").fire(&build(settings).unwrap()).await;
    assert!(!outcome.succeeded && outcome.message.contains(" TrustFailure "), "{}", outcome.message);
}

/// It ends the whole session where a link is refused.
#[tokio::test]
async fn what_rabbitmq_refuses_takes_no_other_with_it() {
    let Some(actions) = actions() else { return };
    assert_succeeded(&guest("punctual-queue").fire(&actions).await);
    for _ in 0..5 {
        let outcomes = join_all((0..60).map(|index| {
            let firing = match index % 3 {
                0 => guest("nowhere").for_topic(),
                1 => guest("punctual-queue").for_queue(),
                _ => guest("amq.fanout").for_topic(),
            };
            let actions = &actions;
            async move { actions.fire(&firing).await }
        }));
        for (index, outcome) in outcomes.await.iter().enumerate() {
            assert_eq!(outcome.succeeded, index % 3 != 0, "{}", outcome.message);
        }
    }
}

#[tokio::test]
async fn a_broker_without_claims_based_security_is_told() {
    let Some(endpoint) = std::env::var_os("PUNCTUAL_TEST_RABBITMQ") else { return };
    let endpoint = endpoint.into_string().unwrap();
    let actions = build(Settings { service_bus_amqp_endpoint: endpoint, ..settings() }).unwrap();
    let outcome = guest("punctual-queue").fire(&actions).await;
    let hint = "service_bus_sasl may have to be plain";
    assert!(!outcome.succeeded && outcome.message.contains(hint), "{}", outcome.message);
}
