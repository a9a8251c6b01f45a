//! Queues and exchanges of RabbitMQ over AMQP 1.0 by user name and password, where
//! `PUNCTUAL_TEST_RABBITMQ` names its endpoint, such as `amqp://127.0.0.1:5672`. What arrives is read by an
//! independent client in `tests/queues`.

use futures_util::future::join_all;
use punctual_actions::{Actions, Sasl, Settings};

use crate::bus::{Note, note};
use crate::world::{assert_failed, assert_succeeded, build, settings};

fn actions() -> Option<Actions> {
    let Some(endpoint) = std::env::var_os("PUNCTUAL_TEST_RABBITMQ") else {
        eprintln!("SKIPPED: PUNCTUAL_TEST_RABBITMQ names no endpoint");
        return None;
    };
    let settings = Settings {
        service_bus_amqp_endpoint: endpoint.into_string().unwrap(),
        service_bus_sasl: Sasl::Plain,
        service_bus_topic_address: "/exchange/{entity}".into(),
        ..settings()
    };
    Some(build(settings).unwrap())
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
async fn a_broker_without_claims_based_security_is_told() {
    let Some(endpoint) = std::env::var_os("PUNCTUAL_TEST_RABBITMQ") else { return };
    let endpoint = endpoint.into_string().unwrap();
    let actions = build(Settings { service_bus_amqp_endpoint: endpoint, ..settings() }).unwrap();
    let outcome = guest("punctual-queue").fire(&actions).await;
    let hint = "service_bus_sasl may have to be plain";
    assert!(!outcome.succeeded && outcome.message.contains(hint), "{}", outcome.message);
}
