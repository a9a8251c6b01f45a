//! What a target or a broker sends us: an attempt ends, and what is told of it is short and shows no secret.
//!
//! The peer is a real connection that sends its bytes in parts, each after it has heard something, and then ends.

use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_actions::{Actions, Egress, Sasl, Settings};
use punctual_model::{
    Action, ActionKind, Authentication, Cause, Clock, CollectionKey, ExecutionTag, Firing, HeaderText,
    HttpAction, JobId, JobSpec, Outcome, Secret, ServiceBusAuthentication, ServiceBusMessage, Transport,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::time::timeout;

/// No attempt takes longer: the peer ends the connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The longest text about an attempt: 2 KiB of an answer, and what we say ourselves.
const MESSAGE_BYTES_MAX: usize = 8 * 1024;

/// What stands between two parts of what a peer sends.
const PAUSE: &[u8] = b"|>|";

/// How long a peer waits for us to say something before it goes on.
const PATIENCE: Duration = Duration::from_millis(20);

const SECRET: &str = "c4n4ryw0rd9-secret";

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// A peer.
struct Peer {
    listener: StdListener,
    port: u16,
}

impl Peer {
    fn start() -> Self {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        listener.set_nonblocking(true).expect("a listener can be asked without waiting");
        let port = listener.local_addr().expect("it is bound").port();
        Self { listener, port }
    }

    /// Actions that reach nobody else. Each attempt has its own, so that none uses the connection of another, and all
    /// connections and links have the same names.
    fn actions(&self, service_bus_sasl: Sasl) -> Actions {
        let all = ["0.0.0.0/0", "::/0"].map(|network| network.parse().expect("it is a network"));
        let here = ["127.0.0.1/32"].map(|network| network.parse().expect("it is a network"));
        let settings = Settings {
            egress: Egress::new(&here, &all),
            timeout: TIMEOUT,
            service_bus_amqp_endpoint: format!("amqp://127.0.0.1:{}", self.port),
            service_bus_sasl,
            ..Settings::default()
        };
        Actions::new(settings, Arc::new(Standing)).expect("the settings are good")
    }

    /// Makes an attempt with a peer that sends these bytes, before it hears anything or after a request.
    fn fire(&self, actions: &Actions, kind: ActionKind, bytes: &[u8], after_request: bool) -> Outcome {
        // A runtime of its own takes everything with it that an attempt leaves behind.
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let outcome = runtime.block_on(async {
            let listener =
                self.listener.try_clone().and_then(TcpListener::from_std).expect("a listener is shared");
            let bytes = bytes.to_vec();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    // Whoever is gone hears nothing more.
                    let _ = converse(stream, &bytes, after_request).await;
                }
            });
            actions.fire(&firing(kind)).await
        });
        let told = &outcome.message;
        assert!(told.len() <= MESSAGE_BYTES_MAX, "{} bytes are told", told.len());
        assert!(!told.contains(SECRET), "{told}");
        outcome
    }
}

async fn converse(mut stream: TcpStream, bytes: &[u8], after_request: bool) -> std::io::Result<()> {
    let mut heard = [0; 4096];
    let mut rest = bytes;
    if after_request && stream.read(&mut heard).await? == 0 {
        return Ok(());
    }
    loop {
        let pause = rest.windows(PAUSE.len()).position(|part| part == PAUSE);
        stream.write_all(&rest[..pause.unwrap_or(rest.len())]).await?;
        let Some(pause) = pause else { break };
        rest = &rest[pause + PAUSE.len()..];
        if let Ok(0) = timeout(PATIENCE, stream.read(&mut heard)).await.unwrap_or(Ok(1)) {
            return Ok(());
        }
    }
    // What was said last is to be read before the end shows.
    stream.shutdown().await?;
    while stream.read(&mut heard).await? > 0 {}
    Ok(())
}

thread_local! {
    static PEER: Peer = Peer::start();
}

fn firing(kind: ActionKind) -> Firing {
    let nominal_at = Timestamp::UNIX_EPOCH;
    Firing {
        job: CollectionKey::new("s", "g", "c").job("j"),
        region: "West US".into(),
        spec: Arc::new(JobSpec::once(Action { kind, retry: None, error_action: None })),
        step: 0,
        attempt: 0,
        nominal_at,
        tag: ExecutionTag::of(JobId(1), Cause::Schedule, nominal_at, 0),
        client_request_id: "00000000-0000-0000-0000-000000000000".into(),
    }
}

/// Frames of a broker. The first byte says how we show who we are.
pub(crate) fn amqp(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    PEER.with(|peer| {
        let message = ServiceBusMessage {
            entity: "orders".into(),
            namespace: "shop".into(),
            transport: Some(Transport::Amqp),
            authentication: Some(ServiceBusAuthentication {
                shared_access_key: Some(true),
                sas_key_name: Some("key".into()),
                sas_key: Some(Secret::new(SECRET)),
            }),
            message: "hello".into(),
            brokered: None,
            custom: vec![],
        };
        let actions = peer.actions(if first % 2 == 0 { Sasl::Plain } else { Sasl::Cbs });
        peer.fire(&actions, ActionKind::ServiceBusQueue(message), bytes, false);
    });
}

/// The answer of a target.
pub(crate) fn http_answer(bytes: &[u8]) {
    // A redirect to a name would ask a name server.
    let leads_away = |line: &[u8]| {
        let line = line.to_ascii_lowercase();
        line.windows(8).any(|part| part == b"location") && !line.ends_with(b": /here\r")
    };
    if bytes.split(|byte| *byte == b'\n').any(leads_away) {
        return;
    }
    PEER.with(|peer| {
        let action = HttpAction {
            declared_https: false,
            uri: format!("http://127.0.0.1:{}/", peer.port),
            user_info: None,
            method: "GET".into(),
            headers: vec![("X-Api-Key".into(), HeaderText::Credential(Secret::new(SECRET)))],
            body: None,
            authentication: Some(Authentication::Basic {
                username: "u".into(),
                password: Secret::new(SECRET),
            }),
        };
        let outcome = peer.fire(&peer.actions(Sasl::Plain), ActionKind::Http(action), bytes, true);
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        // Interim answers come before the one that counts.
        let status = line.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
        if status
            .is_some_and(|status| matches!(status[0], b'4' | b'5') && status.iter().all(u8::is_ascii_digit))
        {
            assert!(!outcome.succeeded, "{}", outcome.message);
        }
    });
}
