//! Service Bus over REST, and what holds for every transport (CONTRACT 9.1, 12, 17).

use std::time::Duration;

use http::Response;
use http_body_util::{BodyExt, Full};
use punctual_actions::{Actions, Egress, Settings};
use punctual_model::{ServiceBusAuthentication, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::bus::{Double, KEY, KEY_NAME, all_properties, note};
use crate::certificate::{Authority, Clients};
use crate::receiver::{Receiver, redirect, status};
use crate::world::{SHORT, assert_failed, assert_succeeded, build, settings};

fn rest(endpoint: String) -> Actions {
    build(Settings { service_bus_rest_endpoint: endpoint, timeout: SHORT * 3, ..settings() }).unwrap()
}

#[tokio::test]
async fn a_message_over_rest_has_every_property() {
    let receiver = Receiver::start(|_| status(201)).await;
    let actions = rest(receiver.url("/{namespace}"));
    for transport in [None, Some(Transport::NotSpecified), Some(Transport::NetMessaging)] {
        let message = note("orders/eu").transport(transport).brokered(all_properties());
        let message = message.custom("Priority", "hi\"gh").custom("city", "Diyarbakır \u{1f600}");
        assert_succeeded(&message.fire(&actions).await);
    }
    let seen = &receiver.seen()[2];
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/shop/orders/eu/messages"));
    assert_eq!(seen.body, "güneş");
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(
        seen.header("brokerproperties"),
        Some(
            "{\"MessageId\":\"message-1\",\"CorrelationId\":\"correlation\",\
             \"Label\":\"a \\\"label\\\"; \\u015f\",\"PartitionKey\":\"session\",\"ReplyTo\":\"answers\",\
             \"ReplyToSessionId\":\"answer-session\",\"SessionId\":\"session\",\"To\":\"somewhere\",\
             \"ViaPartitionKey\":\"via\",\"ForcePersistence\":true,\
             \"ScheduledEnqueueTimeUtc\":\"Wed, 04 Mar 2026 05:06:07 GMT\",\"TimeToLive\":90}"
        )
    );
    assert_eq!(seen.header("priority"), Some("\"hi\\\"gh\""));
    assert_eq!(seen.header("city"), Some("\"Diyarbak\\u0131r \\ud83d\\ude00\""));
    let authorization = seen.header("authorization").unwrap();
    let resource = format!(
        "SharedAccessSignature sr=http%3A%2F%2F127.0.0.1%3A{}%2Fshop%2Forders%2Feu&sig=",
        receiver.address.port()
    );
    assert!(authorization.starts_with(&resource), "{authorization}");
    assert!(authorization.ends_with(&format!("&skn={KEY_NAME}")), "{authorization}");
}

#[tokio::test]
async fn a_message_without_an_id_has_the_execution_tag() {
    let receiver = Receiver::start(|_| status(201)).await;
    let firing = note("orders").transport(None).for_queue();
    assert_succeeded(&rest(receiver.url("")).fire(&firing).await);
    let seen = receiver.only();
    assert_eq!(
        seen.header("brokerproperties"),
        Some(format!("{{\"MessageId\":\"{}\"}}", firing.tag).as_str())
    );
    assert_eq!(seen.header("content-type"), Some("text/plain; charset=utf-8"));
}

#[tokio::test]
async fn refusals_over_rest_are_told() {
    let check = async |code: u16, body: &'static str, reason: &str| {
        let receiver = Receiver::start(move |_| {
            Response::builder().status(code).body(Full::from(body).boxed()).unwrap()
        })
        .await;
        let outcome = rest(receiver.url("")).fire(&note("news").transport(None).for_topic()).await;
        let start = "ServiceBusTopic Action - Failed: topic 'news' namespace 'shop' ";
        assert_failed(&outcome, &format!("{start}{reason}"));
    };
    check(
        401,
        "<Error><Code>401</Code><Detail>Bad token SharedAccessSignature sr=x</Detail></Error>",
        "UnauthorizedAccess The service answered 'Unauthorized': it did not accept the shared access key",
    )
    .await;
    check(
        404,
        "<Error><Code>404</Code><Detail>The endpoint was not found.</Detail></Error>",
        "MessagingEntityNotFound The service answered 'NotFound': The endpoint was not found.",
    )
    .await;
    check(503, "", "ServerBusy The service answered 'ServiceUnavailable'").await;
    check(500, KEY, "MessagingException The service answered 'InternalServerError': ***").await;
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_token() {
    let other = Receiver::start(|_| status(201)).await;
    let location = other.url("/");
    let receiver = Receiver::start(move |_| redirect(307, &location)).await;
    let outcome = note("orders").transport(None).fire(&rest(receiver.url(""))).await;
    assert!(!outcome.succeeded && outcome.message.contains("'TemporaryRedirect'"), "{}", outcome.message);
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn properties_that_can_not_be_header_fields_are_all_named() {
    let receiver = Receiver::start(|_| status(201)).await;
    let message = note("orders").transport(None).custom("good", "1").custom("not good", "2");
    let message = message.custom("Host", "3").custom("Good", "4");
    let outcome = message.fire(&rest(receiver.url(""))).await;
    assert!(
        !outcome.succeeded && outcome.message.contains(": 'not good', 'Host', 'Good'; use"),
        "{}",
        outcome.message
    );
    assert!(receiver.seen().is_empty());
}

#[tokio::test]
async fn properties_over_rest_keep_their_letter_case() {
    let authority = Authority::new();
    // One that would rather speak HTTP/2, which has no letter case.
    let acceptor = authority.server(Clients::Anonymous, &["h2", "http/1.1"]);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let receiver = Receiver::raw(move |tcp| {
        let (acceptor, tell) = (acceptor.clone(), tell.clone());
        async move {
            let mut tls = acceptor.accept(tcp).await.unwrap();
            loop {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\ng\xc3\xbcne\xc5\x9f") {
                    let Ok(byte) = tls.read_u8().await else { return };
                    head.push(byte);
                }
                tell.send(String::from_utf8(head).unwrap()).unwrap();
                tls.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            }
        }
    })
    .await;
    let settings =
        Settings { service_bus_rest_endpoint: receiver.https(""), timeout: SHORT * 3, ..settings() };
    let actions = build(authority.trusting(settings)).unwrap();
    let mut message = note("orders").transport(None);
    for number in 0..150 {
        message = message.custom(&format!("Property-{number}-ofMany"), "x");
    }
    for message in
        [message, note("orders").transport(None).custom("aB", "1").custom("Ab-C", "2").custom("d", "3")]
    {
        let names: Vec<String> = message.0.custom.iter().map(|(name, _)| format!("\r\n{name}: \"")).collect();
        assert_succeeded(&message.fire(&actions).await);
        let head = told.recv().await.unwrap();
        assert!(names.iter().all(|name| head.contains(name.as_str())), "{head}");
    }
}

#[tokio::test]
async fn what_is_missing_of_the_key_is_named() {
    let actions = build(settings()).unwrap();
    let check = async |authentication: Option<ServiceBusAuthentication>, missing: &str| {
        for transport in [None, Some(Transport::Amqp)] {
            let mut message = note("orders").transport(transport);
            message.0.authentication = authentication.clone();
            assert_failed(
                &message.fire(&actions).await,
                &format!(
                    "ServiceBusQueue Action - Failed: queue 'orders' namespace 'shop' \
                     UnauthorizedAccess The action's authentication lacks {missing}"
                ),
            );
        }
    };
    check(None, "sasKeyName and sasKey").await;
    let named =
        note("orders").0.authentication.map(|given| ServiceBusAuthentication { sas_key: None, ..given });
    check(named, "sasKey").await;
    let keyed = note("orders").0.authentication;
    check(keyed.map(|given| ServiceBusAuthentication { sas_key_name: None, ..given }), "sasKeyName").await;
}

#[tokio::test]
async fn a_broker_that_says_nothing_is_a_timeout() {
    let silent = Receiver::hanging().await;
    let endpoint = |scheme: &str| format!("{scheme}://127.0.0.1:{}", silent.address.port());
    for scheme in ["amqp", "amqps"] {
        let settings = Settings { service_bus_amqp_endpoint: endpoint(scheme), timeout: SHORT, ..settings() };
        let outcome = note("orders").fire(&build(settings).unwrap()).await;
        assert!(outcome.message.contains(" Timeout The operation has timed out: "), "{}", outcome.message);
    }
    let outcome = note("orders").transport(None).fire(&rest(endpoint("http"))).await;
    assert!(outcome.message.contains(" Timeout The operation has timed out: "), "{}", outcome.message);
}

#[tokio::test]
async fn a_frame_without_end_is_not_read() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let receiver = Receiver::raw(move |mut tcp| {
        let tell = tell.clone();
        async move {
            // The SASL header, then a frame of two gigabytes.
            let _ = tcp.write_all(b"AMQP\x03\x01\x00\x00\x7f\xff\xff\xff\x02\x01\x00\x00").await;
            let mut count = 0;
            while let Ok(written) = tcp.write(&[0; 65_536]).await {
                count += written;
            }
            tell.send(count).unwrap();
        }
    })
    .await;
    let endpoint = format!("amqp://127.0.0.1:{}", receiver.address.port());
    let settings = Settings { service_bus_amqp_endpoint: endpoint, timeout: SHORT * 3, ..settings() };
    let outcome = note("orders").fire(&build(settings).unwrap()).await;
    assert!(!outcome.succeeded, "{}", outcome.message);
    let count = tokio::time::timeout(Duration::from_secs(10), told.recv()).await.unwrap().unwrap();
    assert!(count < 32 << 20, "{count} bytes were taken");
}

#[tokio::test]
async fn egress_and_trust_hold_over_tls() {
    let authority = Authority::new();
    let receiver = Receiver::secure(authority.server(Clients::Anonymous, &[]), |_| status(201)).await;
    let endpoint = receiver.https("");
    let settings = Settings { service_bus_rest_endpoint: endpoint.clone(), timeout: SHORT * 3, ..settings() };
    let message = || note("orders").transport(None);
    assert_succeeded(&message().fire(&build(authority.trusting(settings.clone())).unwrap()).await);
    let outcome = message().fire(&build(settings.clone()).unwrap()).await;
    assert!(outcome.message.contains(" TrustFailure "), "{}", outcome.message);
    let amqp = Settings { service_bus_amqp_endpoint: endpoint.replace("https", "amqps"), ..settings.clone() };
    let outcome = note("orders").fire(&build(amqp).unwrap()).await;
    assert!(outcome.message.contains(" TrustFailure "), "{}", outcome.message);
    let egress = Egress::new(&[], &["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
    let outcome = message().fire(&build(Settings { egress, ..settings }).unwrap()).await;
    assert!(outcome.message.contains("is not allowed by the egress rules"), "{}", outcome.message);
}

#[tokio::test]
async fn the_double_takes_messages_over_rest_with_a_good_signature_only() {
    let Some(double) = Double::start().await else { return };
    let actions = build(Settings { timeout: Duration::from_secs(1), ..double.settings() }).unwrap();
    let message = |queue: &str| note(queue).transport(None).brokered(all_properties()).custom("a", "b");
    assert_succeeded(&message("orders").fire(&actions).await);
    let outcome = message("orders").key(KEY_NAME, "wrong").fire(&actions).await;
    assert!(outcome.message.contains(" UnauthorizedAccess "), "{}", outcome.message);
    for (queue, reason) in [
        ("nowhere", " MessagingEntityNotFound "),
        ("drops", " ReceiveFailure "),
        ("never-settles", " Timeout "),
    ] {
        let outcome = message(queue).fire(&actions).await;
        assert!(!outcome.succeeded && outcome.message.contains(reason), "{}", outcome.message);
    }
    assert_eq!(double.counts().await["waiting"]["orders"], 1);
}
