//! Service Bus over AMQP with claims-based security, against the double.

use std::time::Duration;

use futures_util::future::join_all;
use punctual_actions::{Egress, Sasl, Settings};
use tokio::time::{Instant, timeout};

use crate::bus::{Double, KEY_NAME, OTHER, Relay, note};
use crate::world::{assert_failed, assert_succeeded, build};

/// What impatient actions say of a message that nobody settles.
const LATE: &str = "Timeout The operation has timed out: the broker did not accept the message within 3 s";

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
async fn the_entities_of_a_namespace_share_a_connection() {
    let Some(double) = Double::start().await else { return };
    for (sasl, tokens) in [(Sasl::Cbs, 3), (Sasl::Plain, 0)] {
        let before = double.counts().await;
        let actions = build(Settings { service_bus_sasl: sasl, ..double.settings() }).unwrap();
        let outcomes = join_all((0..600).map(|index| {
            let entity = ["orders", "invoices", "news"][index % 3];
            let firing = if entity == "news" { note(entity).for_topic() } else { note(entity).for_queue() };
            let actions = &actions;
            async move { actions.fire(&firing).await }
        }));
        outcomes.await.iter().for_each(assert_succeeded);
        let counts = double.counts().await;
        let grown = |name: &str| counts[name].as_u64().unwrap() - before[name].as_u64().unwrap();
        assert_eq!((grown("connections"), grown("tokens"), grown("transfers")), (1, tokens, 600), "{sasl:?}");
    }
}

#[tokio::test]
async fn a_connection_has_so_many_links_and_then_there_is_another() {
    let Some(double) = Double::start().await else { return };
    let actions = double.actions();
    let queues: Vec<String> = (0..100).map(|number| format!("q{number}")).collect();
    for _ in 0..2 {
        let outcomes = join_all(queues.iter().map(|queue| note(queue).fire(&actions))).await;
        outcomes.iter().for_each(assert_succeeded);
    }
    let counts = double.counts().await;
    assert_eq!((&counts["connections"], &counts["tokens"]), (&4.into(), &100.into()));
    assert!(queues.iter().all(|queue| counts["waiting"][queue] == 2));
}

#[tokio::test]
async fn keys_share_nothing() {
    let Some(double) = Double::start().await else { return };
    for sasl in [Sasl::Cbs, Sasl::Plain] {
        let before = double.counts().await["connections"].as_u64().unwrap();
        let actions = build(Settings { service_bus_sasl: sasl, ..double.settings() }).unwrap();
        assert_succeeded(&note("orders").fire(&actions).await);
        assert_succeeded(&note("orders").key(OTHER[0], OTHER[1]).fire(&actions).await);
        let outcome = note("orders").key(OTHER[0], "wrongwrong").fire(&actions).await;
        assert!(outcome.message.contains(" UnauthorizedAccess "), "{}", outcome.message);
        assert_succeeded(&note("orders").fire(&actions).await);
        // With tokens, a wrong key is refused only after the connection is open.
        let expected = before + if sasl == Sasl::Cbs { 3 } else { 2 };
        assert_eq!(double.counts().await["connections"], expected, "{sasl:?}");
    }
}

#[tokio::test]
async fn what_is_not_accepted_is_not_sent() {
    let Some(double) = Double::start().await else { return };
    for sasl in [Sasl::Cbs, Sasl::Plain] {
        let actions = build(Settings { service_bus_sasl: sasl, ..double.impatience() }).unwrap();
        let check = async |queue: &str, reason: &str| {
            let outcome = note(queue).fire(&actions).await;
            assert_failed(&outcome, &format!("{FAILED} '{queue}' namespace 'shop' {reason}"));
        };
        check("rejects", "QuotaExceeded The broker says amqp:resource-limit-exceeded: The queue is full.")
            .await;
        check(
            "releases",
            "MessagingException The broker gave the message back as one that it could not take",
        )
        .await;
        check(
            "settles-without-state",
            "MessagingException The broker settled the message without accepting it",
        )
        .await;
        check("never-settles", LATE).await;
        check("no-credit", LATE).await;
        check("drops", "MessagingCommunication The connection was lost before the broker answered").await;
        check("detaches", "ServerBusy The broker says com.microsoft:server-busy: Come back later.").await;
        check("ends-session", "MessagingException The broker says amqp:precondition-failed: Not this one.")
            .await;
        check(
            "nowhere",
            "MessagingEntityNotFound The broker says amqp:not-found: The messaging entity 'nowhere' could not be found.",
        )
        .await;
    }
}

#[tokio::test]
async fn a_wrong_key_is_told_and_not_shown() {
    let Some(double) = Double::start().await else { return };
    let expected = format!(
        "{FAILED} 'orders' namespace 'shop' UnauthorizedAccess The broker did not accept the shared access key"
    );
    for sasl in [Sasl::Cbs, Sasl::Plain] {
        let actions = build(Settings { service_bus_sasl: sasl, ..double.settings() }).unwrap();
        assert_failed(&note("orders").key(KEY_NAME, "wrongwrong").fire(&actions).await, &expected);
        assert_failed(&note("orders").key("nobody", "wrongwrong").fire(&actions).await, &expected);
        assert_succeeded(&note("orders").fire(&actions).await);
    }
}

#[tokio::test]
async fn one_entitys_failure_takes_no_other_with_it() {
    let Some(double) = Double::start().await else { return };
    for (round, sasl) in [Sasl::Cbs, Sasl::Plain].into_iter().enumerate() {
        // Long enough for a hundred messages on a busy machine.
        let timeout = Duration::from_secs(8);
        let actions = build(Settings { service_bus_sasl: sasl, timeout, ..double.settings() }).unwrap();
        let queues = [
            "orders",
            "never-settles",
            "rejects",
            "no-credit",
            "orders",
            "detaches",
            "nowhere",
            "ends-session",
            "releases",
            "invoices",
        ];
        let outcomes = join_all((0..100).map(|index| note(queues[index % 10]).fire(&actions))).await;
        for (index, outcome) in outcomes.iter().enumerate() {
            let good = matches!(queues[index % 10], "orders" | "invoices");
            assert_eq!(outcome.succeeded, good, "{sasl:?} {}", outcome.message);
        }
        let counts = double.counts().await;
        assert_eq!(counts["connections"], round + 1, "none of this is the connection's fault");
        let waiting = &counts["waiting"];
        assert_eq!(
            (&waiting["orders"], &waiting["invoices"]),
            (&(20 * (round + 1)).into(), &(10 * (round + 1)).into())
        );
    }
}

#[tokio::test]
async fn an_entity_that_breaks_connections_is_kept_apart() {
    let Some(double) = Double::start().await else { return };
    let actions = double.actions();
    assert_succeeded(&note("orders").fire(&actions).await);
    assert!(!note("drops").fire(&actions).await.succeeded);
    for round in 0..10 {
        let outcomes =
            join_all((0..60).map(|index| note(["orders", "drops", "invoices"][index % 3]).fire(&actions)));
        for (index, outcome) in outcomes.await.iter().enumerate() {
            assert_eq!(outcome.succeeded, index % 3 != 1, "{round}: {}", outcome.message);
        }
    }
    assert_eq!(double.counts().await["waiting"]["orders"], 201);
}

#[tokio::test]
async fn a_connection_that_fell_silent_is_replaced_within_an_attempt() {
    let Some(double) = Double::start().await else { return };
    let relay = Relay::to(double.amqp).await;
    let endpoint = format!("amqp://127.0.0.1:{}", relay.port);
    let settings = Settings { service_bus_amqp_endpoint: endpoint, ..double.impatience() };
    let actions = build(settings).unwrap();
    assert_succeeded(&note("orders").fire(&actions).await);
    relay.freeze();
    // The message was sent, but no outcome arrives.
    let outcome = note("orders").fire(&actions).await;
    assert!(outcome.message.ends_with(LATE), "{}", outcome.message);
    assert_succeeded(&note("invoices").fire(&actions).await);
    assert_succeeded(&note("orders").fire(&actions).await);
    assert_eq!(double.counts().await["connections"], 2);
}

#[tokio::test]
async fn a_broker_that_went_away_is_found_again() {
    let Some(double) = Double::start().await else { return };
    let (port, actions) = (double.amqp, double.impatient());
    assert_succeeded(&note("orders").fire(&actions).await);
    double.stop().await;
    let fire = async || note("orders").fire(&actions).await.message;
    let mut message = fire().await;
    // What is sent before the end of the connection was noticed is lost with it.
    if message.contains("The connection was lost before the broker answered") {
        message = fire().await;
    }
    let start = format!(
        "{FAILED} 'orders' namespace 'shop' ConnectFailure Unable to connect to the remote server: 127.0.0.1:{port} "
    );
    assert!(message.starts_with(&start), "{message}");
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
    let mut count = 0_u64;
    while begun.elapsed() < lifetime * 2 {
        for queue in ["orders", "invoices"] {
            assert_succeeded(&note(queue).fire(&actions).await);
        }
        count += 1;
    }
    let counts = double.counts().await;
    assert_eq!(counts["connections"], 1, "the first connection was good all the time");
    assert!(counts["tokens"].as_u64().unwrap() >= 6, "{counts}");
    assert_eq!(
        (&counts["waiting"]["orders"], &counts["waiting"]["invoices"]),
        (&count.into(), &count.into())
    );
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
async fn a_flood_of_keys_and_entities_is_bounded() {
    let keys = (0..600).map(|number| (format!("key-{number}"), format!("secret-{number}")));
    let keys: Vec<(String, String)> = keys.collect();
    let Some(double) = Double::start_with(0, &keys).await else { return };
    let actions = build(Settings { service_bus_sasl: Sasl::Plain, ..double.settings() }).unwrap();
    for some in keys.chunks(50) {
        let outcomes = join_all(some.iter().map(|(name, key)| note("orders").key(name, key).fire(&actions)));
        outcomes.await.iter().for_each(assert_succeeded);
    }
    let bounded = async { while double.counts().await["open"].as_u64().unwrap() > 512 {} };
    timeout(Duration::from_secs(10), bounded).await.unwrap();
    // An entity that does not exist costs a link, not a connection.
    let before = double.counts().await["connections"].as_u64().unwrap();
    for some in (0..500).collect::<Vec<_>>().chunks(25) {
        let outcomes = join_all(some.iter().map(|number| note(&format!("nowhere-{number}")).fire(&actions)));
        assert!(outcomes.await.iter().all(|outcome| outcome.message.contains(" MessagingEntityNotFound ")));
    }
    let opened = double.counts().await["connections"].as_u64().unwrap() - before;
    assert!(opened < 100, "{opened}");
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
