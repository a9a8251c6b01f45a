//! Messages into storage queues (CONTRACT 9.1 and 11).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Response;
use http_body_util::{BodyExt, Full};
use punctual_actions::{Actions, Settings};
use punctual_model::{ActionKind, Outcome, QueueMessage, Secret};

use crate::receiver::{Answer, Receiver, read_head, redirect, status};
use crate::world::{SHORT, assert_failed, build, firing, settings};

const TOKEN: &str = "?sv=2019-02-02&se=2030-01-01T00:00:00Z&sp=a&sig=ab+c/d=";

fn message(text: &str) -> ActionKind {
    ActionKind::StorageQueue(QueueMessage {
        storage_account: "account".into(),
        queue_name: "queue1".into(),
        sas_token: Secret::new(TOKEN),
        message: text.into(),
    })
}

fn actions(endpoint: String) -> Actions {
    build(Settings { storage_queue_endpoint: endpoint, timeout: SHORT * 3, ..settings() }).unwrap()
}

fn error(status: u16, code: &str, message: &str) -> Answer {
    let body = format!(
        "\u{feff}<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    );
    Response::builder().status(status).header("x-ms-error-code", code).body(Full::from(body).boxed()).unwrap()
}

async fn fire_at(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Outcome {
    let receiver = Receiver::start(move |_| answer()).await;
    actions(receiver.url("/{account}")).fire(&firing(message("text"))).await
}

#[tokio::test]
async fn a_message_is_put_into_the_queue() {
    let receiver = Receiver::start(|_| status(201)).await;
    let firing = firing(message("<güneş> & \"moon\""));
    let outcome = actions(receiver.url("/{account}")).fire(&firing).await;
    assert!(outcome.succeeded, "{}", outcome.message);
    assert_eq!(
        outcome.message,
        "StorageQueue Action - The message to storage account 'account' queue 'queue1' succeeded."
    );
    let seen = receiver.only();
    assert_eq!(seen.method, "POST");
    assert_eq!(
        seen.target,
        "/account/queue1/messages?sv=2019-02-02&se=2030-01-01T00%3A00%3A00Z&sp=a&sig=ab%2Bc%2Fd%3D"
    );
    assert_eq!(seen.header("content-type"), Some("application/xml"));
    let text = seen.body.strip_prefix("<QueueMessage><MessageText>").unwrap();
    let text = text.strip_suffix("</MessageText></QueueMessage>").unwrap();
    let xml = String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
    let expected = format!(
        "<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n\
         <StorageQueueMessage xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\r\n\
         \x20 <ExecutionTag>{}</ExecutionTag>\r\n\
         \x20 <ClientRequestId>d7737f7c-0880-4072-8b95-f5db2f8ad572</ClientRequestId>\r\n\
         \x20 <ExpectedExecutionTime>2026-03-04T05:06:07</ExpectedExecutionTime>\r\n\
         \x20 <SchedulerJobId>job</SchedulerJobId>\r\n\
         \x20 <SchedulerJobCollectionId>jobs</SchedulerJobCollectionId>\r\n\
         \x20 <Region>West US</Region>\r\n\
         \x20 <Message>&lt;güneş&gt; &amp; \"moon\"</Message>\r\n\
         </StorageQueueMessage>",
        firing.tag
    );
    assert_eq!(xml, expected);
}

#[tokio::test]
async fn a_missing_queue_is_told() {
    assert_failed(
        &fire_at(|| error(404, "QueueNotFound", "The specified queue does not exist.")).await,
        "StorageQueue Action - The queue 'queue1' does not exist.",
    );
}

#[tokio::test]
async fn a_missing_account_is_told() {
    assert_failed(
        &fire_at(|| error(404, "ResourceNotFound", "The specified resource does not exist.")).await,
        "StorageQueue Action - The storage account 'account' could not be found.",
    );
}

#[tokio::test]
async fn a_bad_token_is_told_and_not_shown() {
    let outcome = fire_at(|| error(403, "AuthenticationFailed", "Signature ab+c/d= did not match.")).await;
    assert_failed(
        &outcome,
        "StorageQueue Action - The message to storage account 'account' queue 'queue1' failed: \
         'Forbidden' AuthenticationFailed The service did not accept the SAS token",
    );
}

#[tokio::test]
async fn other_refusals_and_silence_are_told() {
    let start = "StorageQueue Action - The message to storage account 'account' queue 'queue1' failed: ";
    assert_failed(
        &fire_at(|| {
            error(
                400,
                "InvalidQueryParameterValue",
                "Value for one of the query parameters in &sig=ab%2Bc%2Fd%3D&x is invalid.\nTime:x",
            )
        })
        .await,
        &format!(
            "{start}'BadRequest' InvalidQueryParameterValue Value for one of the query parameters in &sig=***&x is invalid."
        ),
    );
    assert_failed(&fire_at(|| status(503)).await, &format!("{start}'ServiceUnavailable'"));
    let silent = Receiver::hanging().await;
    let outcome = actions(silent.url("/{account}")).fire(&firing(message("text"))).await;
    assert_failed(
        &outcome,
        &format!("{start}Timeout The operation has timed out: no complete answer within 900 ms"),
    );
    let dropping = Receiver::raw(|mut tcp| async move {
        read_head(&mut tcp).await;
    })
    .await;
    let outcome = actions(dropping.url("/{account}")).fire(&firing(message("text"))).await;
    let start = format!("{start}ReceiveFailure The underlying connection was closed: ");
    assert!(!outcome.succeeded && outcome.message.starts_with(&start), "{}", outcome.message);
    let outcome = actions("http://169.254.169.254/{account}".into()).fire(&firing(message("text"))).await;
    assert!(outcome.message.contains("is not allowed by the egress rules"), "{}", outcome.message);
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_signature() {
    let other = Receiver::start(|_| status(201)).await;
    let location = other.url("/");
    let outcome = fire_at(move || redirect(307, &location)).await;
    assert!(!outcome.succeeded && outcome.message.contains("'TemporaryRedirect'"), "{}", outcome.message);
    assert!(other.seen().is_empty());
}
