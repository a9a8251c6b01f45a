//! Service Bus over AMQP with claims-based security, against the double.

use std::time::Duration;

use futures_util::future::join_all;
use punctual_actions::{Egress, Settings};
use tokio::time::{Instant, timeout};

use crate::bus::{Double, KEY_NAME, note};
use crate::world::{assert_failed, assert_succeeded, build};

const FAILED: &str = "ServiceBusQueue Action - Failed: queue";

#[tokio::test]
async fn the_brokers_acceptance_is_success() {
    let Some(double) = Double::start().await else { return };
    let actions = double.actions();
    let outcome = note("orders").fire(&actions).await;
    assert_succeeded(&outcome);
    assert_eq!(outcome.message, "ServiceBusQueue Action - Message sent: queue 'orders' namespace 'shop'.");
    let outcome = actions.fire(&note("news").for_topic()).await;
    assert_eq!(outcome.message, "ServiceBusTopic Action - Message sent: topic 'news' namespace 'shop'.");
    let waiting = &double.counts().await["waiting"];
    assert_eq!(waiting["orders"], 1);
    assert_eq!(waiting["news/Subscriptions/all"], 1);
    assert_eq!(waiting["news/Subscriptions/some"], 1);
}

#[tokio::test]
async fn messages_to_one_entity_share_a_connection_and_a_token() {
    let Some(double) = Double::start().await else { return };
    let actions = double.actions();
    let outcomes = join_all((0..500).map(|_| note("orders").fire(&actions))).await;
    outcomes.iter().for_each(assert_succeeded);
    let counts = double.counts().await;
    assert_eq!((&counts["connections"], &counts["tokens"]), (&1.into(), &1.into()));
    assert_eq!(counts["waiting"]["orders"], 500);
}

#[tokio::test]
async fn what_is_not_accepted_is_not_sent() {
    let Some(double) = Double::start().await else { return };
    let actions = double.impatient();
    let check = async |queue: &str, reason: &str| {
        let outcome = note(queue).fire(&actions).await;
        assert_failed(&outcome, &format!("{FAILED} '{queue}' namespace 'shop' {reason}"));
    };
    check("rejects", "QuotaExceeded The broker says amqp:resource-limit-exceeded: The queue is full.").await;
    check("releases", "MessagingException The broker gave the message back as one that it could not take")
        .await;
    check("settles-without-state", "MessagingException The broker settled the message without accepting it")
        .await;
    check("never-settles", "Timeout The operation has timed out").await;
    check("no-credit", "Timeout The operation has timed out").await;
    check("drops", "MessagingCommunication The connection was lost before the broker answered").await;
    check("detaches", "ServerBusy The broker says com.microsoft:server-busy: Come back later.").await;
    check(
        "nowhere",
        "MessagingEntityNotFound The broker says amqp:not-found: The messaging entity 'nowhere' could not be found.",
    )
    .await;
}

#[tokio::test]
async fn a_wrong_key_is_told_and_not_shown() {
    let Some(double) = Double::start().await else { return };
    let actions = double.actions();
    let expected = format!(
        "{FAILED} 'orders' namespace 'shop' UnauthorizedAccess The broker did not accept the shared access key"
    );
    assert_failed(&note("orders").key(KEY_NAME, "wrongwrong").fire(&actions).await, &expected);
    assert_failed(&note("orders").key("nobody", "wrongwrong").fire(&actions).await, &expected);
    assert_succeeded(&note("orders").fire(&actions).await);
}

#[tokio::test]
async fn one_messages_failure_takes_no_other_with_it() {
    let Some(double) = Double::start().await else { return };
    let actions = double.impatient();
    let queues = ["orders", "never-settles", "rejects", "orders", "no-credit", "drops", "invoices"];
    let outcomes = join_all((0..70).map(|index| note(queues[index % 7]).fire(&actions))).await;
    for (index, outcome) in outcomes.iter().enumerate() {
        let good = matches!(queues[index % 7], "orders" | "invoices");
        assert_eq!(outcome.succeeded, good, "{}", outcome.message);
    }
    let waiting = &double.counts().await["waiting"];
    assert_eq!((&waiting["orders"], &waiting["invoices"]), (&20.into(), &10.into()));
}

#[tokio::test]
async fn a_broker_that_went_away_is_found_again() {
    let Some(double) = Double::start().await else { return };
    let (port, actions) = (double.amqp, double.impatient());
    assert_succeeded(&note("orders").fire(&actions).await);
    double.stop().await;
    let outcome = note("orders").fire(&actions).await;
    assert_failed(
        &outcome,
        &format!("{FAILED} 'orders' namespace 'shop' ConnectFailure Unable to connect to the remote server"),
    );
    let double = Double::start_at(port).await.unwrap();
    assert_succeeded(&note("orders").fire(&actions).await);
    assert_eq!(double.counts().await["waiting"]["orders"], 1);
}

#[tokio::test]
async fn a_broker_that_restarted_while_the_link_was_idle_costs_no_attempt() {
    let Some(double) = Double::start().await else { return };
    let (port, actions) = (double.amqp, double.actions());
    assert_succeeded(&note("orders").fire(&actions).await);
    double.stop().await;
    let double = Double::start_at(port).await.unwrap();
    assert_succeeded(&note("orders").fire(&actions).await);
    assert_eq!(double.counts().await["waiting"]["orders"], 1);
}

#[tokio::test]
async fn tokens_are_renewed_before_they_expire() {
    let Some(double) = Double::start().await else { return };
    let lifetime = Duration::from_secs(2);
    let actions = build(Settings { service_bus_token_lifetime: lifetime, ..double.settings() }).unwrap();
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < lifetime * 2 {
        assert_succeeded(&note("orders").fire(&actions).await);
        count += 1;
    }
    let counts = double.counts().await;
    assert_eq!(counts["connections"], 1, "the first connection was good all the time");
    assert!(counts["tokens"].as_u64().unwrap() >= 3, "{counts}");
    assert_eq!(counts["waiting"]["orders"], count);
}

#[tokio::test]
async fn an_idle_link_is_closed() {
    let Some(double) = Double::start().await else { return };
    let idle = Duration::from_millis(100);
    let actions = build(Settings { service_bus_idle_timeout: idle, ..double.settings() }).unwrap();
    assert_succeeded(&note("orders").fire(&actions).await);
    let closed = async { while double.counts().await["open"] != 0 {} };
    timeout(Duration::from_secs(10), closed).await.unwrap();
    assert_succeeded(&note("orders").fire(&actions).await);
    assert_eq!(double.counts().await["connections"], 2);
}

#[tokio::test]
async fn connections_that_fail_leave_nothing_behind() {
    let Some(double) = Double::start().await else { return };
    let actions = double.impatient();
    for queue in ["drops", "detaches", "nowhere", "never-settles", "no-credit"] {
        let outcome = note(queue).fire(&actions).await;
        assert!(!outcome.succeeded);
    }
    let closed = async { while double.counts().await["open"] != 0 {} };
    timeout(Duration::from_secs(10), closed).await.unwrap();
}

#[tokio::test]
async fn the_egress_rules_hold() {
    let Some(double) = Double::start().await else { return };
    let egress = Egress::new(&[], &["127.0.0.0/8".parse().unwrap()]);
    let actions = build(Settings { egress, ..double.settings() }).unwrap();
    let outcome = note("orders").fire(&actions).await;
    assert!(outcome.message.contains("is not allowed by the egress rules"), "{}", outcome.message);
    assert_eq!(double.counts().await["connections"], 0);
}
