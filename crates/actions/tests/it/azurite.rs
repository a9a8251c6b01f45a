//! Storage queues of Azurite, a public stand-in for the real service; where `PUNCTUAL_TEST_AZURITE` names
//! its queue endpoint, such as `http://127.0.0.1:10001`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_actions::{Actions, Settings};
use punctual_model::{ActionKind, Outcome, QueueMessage, Secret};
use sha2::Sha256;

use crate::world::{assert_failed, assert_succeeded, build, firing, get, send, settings};

/// The account that Azurite is born with, and its public key.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const VERSION: &str = "2019-02-02";
const UNTIL: &str = "2099-01-01T00:00:00Z";

/// A signature for everything in the account's queues, as it is, not encoded.
fn signature() -> String {
    let mut hmac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(KEY).unwrap()).unwrap();
    hmac.update(format!("{ACCOUNT}\nrwdlacup\nq\nsco\n\n{UNTIL}\n\n\n{VERSION}\n").as_bytes());
    STANDARD.encode(hmac.finalize().into_bytes())
}

fn token(encode: impl Fn(&str) -> String) -> String {
    format!("sv={VERSION}&ss=q&srt=sco&sp=rwdlacup&se={}&sig={}", encode(UNTIL), encode(&signature()))
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

async fn put(actions: &Actions, account: &str, queue: &str, token: &str) -> Outcome {
    let message = QueueMessage {
        storage_account: account.into(),
        queue_name: queue.into(),
        sas_token: Secret::new(token),
        message: "<güneş> & moon".into(),
    };
    actions.fire(&firing(ActionKind::StorageQueue(message))).await
}

#[tokio::test]
async fn azurite_takes_messages_with_a_token_in_every_spelling() {
    let Some(endpoint) = std::env::var_os("PUNCTUAL_TEST_AZURITE") else {
        eprintln!("SKIPPED: PUNCTUAL_TEST_AZURITE names no queue endpoint");
        return;
    };
    let endpoint = endpoint.into_string().unwrap();
    let template = format!("{endpoint}/{{account}}");
    let actions = build(Settings { storage_queue_endpoint: template, ..settings() }).unwrap();
    let queue = format!("queue-{}", std::process::id());
    let resource = format!("{endpoint}/{ACCOUNT}/{queue}?{}", token(encoded));
    assert_succeeded(&send("PUT", resource.as_str()).fire(&actions).await);

    let spellings = [
        token(encoded),
        token(str::to_owned),
        token(|text| encoded(&encoded(text))),
        format!("?{}", token(encoded)),
        format!("??{}", token(str::to_owned)),
        format!("s?{} ", token(encoded)),
    ];
    for spelling in &spellings {
        assert_succeeded(&put(&actions, ACCOUNT, &queue, spelling).await);
    }
    let metadata = get(format!("{resource}&comp=metadata")).fire(&actions).await;
    assert!(metadata.message.contains("x-ms-approximate-messages-count: 6\r\n"), "{}", metadata.message);

    assert_failed(
        &put(&actions, ACCOUNT, "no-such-queue", &spellings[0]).await,
        "StorageQueue Action - The queue 'no-such-queue' does not exist.",
    );
    assert_failed(
        &put(&actions, "nosuchaccount", &queue, &spellings[0]).await,
        "StorageQueue Action - The storage account 'nosuchaccount' could not be found.",
    );
    assert_failed(
        &put(&actions, ACCOUNT, &queue, "ThIsiSmYtOkeNdoyOusEe").await,
        &format!(
            "StorageQueue Action - The message to storage account '{ACCOUNT}' queue '{queue}' failed: \
             'Forbidden' AuthenticationFailed The service did not accept the SAS token"
        ),
    );
    let forged = spellings[0].replace("sp=rwdlacup", "sp=rwdlacu");
    assert_failed(
        &put(&actions, ACCOUNT, &queue, &forged).await,
        &format!(
            "StorageQueue Action - The message to storage account '{ACCOUNT}' queue '{queue}' failed: \
             'Forbidden' AuthenticationFailed The service did not accept the SAS token"
        ),
    );
}
