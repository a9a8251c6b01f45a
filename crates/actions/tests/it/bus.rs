//! Messages for Service Bus, and a double of it to send them to.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use punctual_actions::{Actions, Settings};
use punctual_model::{
    ActionKind, BrokeredProperties, Firing, Outcome, Secret, ServiceBusAuthentication, ServiceBusMessage,
    Transport,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::world::{build, firing, get, settings};

pub(crate) const KEY_NAME: &str = "RootManageSharedAccessKey";
pub(crate) const KEY: &str = "c2VjcmV0+/c2VjcmV0=";

/// Another key that the double knows.
pub(crate) const OTHER: [&str; 2] = ["Other", "b3RoZXI=b3RoZXI="];

/// A message in the making.
#[derive(Clone)]
pub(crate) struct Note(pub(crate) ServiceBusMessage);

pub(crate) fn note(entity: &str) -> Note {
    Note(ServiceBusMessage {
        entity: entity.into(),
        namespace: "shop".into(),
        transport: Some(Transport::Amqp),
        authentication: Some(ServiceBusAuthentication {
            shared_access_key: Some(true),
            sas_key_name: Some(KEY_NAME.into()),
            sas_key: Some(Secret::new(KEY)),
        }),
        message: "güneş".into(),
        brokered: None,
        custom: vec![],
    })
}

impl Note {
    pub(crate) fn transport(mut self, transport: Option<Transport>) -> Self {
        self.0.transport = transport;
        self
    }

    pub(crate) fn key(mut self, name: &str, key: &str) -> Self {
        let authentication = self.0.authentication.as_mut().unwrap();
        authentication.sas_key_name = Some(name.into());
        authentication.sas_key = Some(Secret::new(key));
        self
    }

    pub(crate) fn custom(mut self, name: &str, value: &str) -> Self {
        self.0.custom.push((name.into(), value.into()));
        self
    }

    pub(crate) fn brokered(mut self, brokered: BrokeredProperties) -> Self {
        self.0.brokered = Some(brokered);
        self
    }

    pub(crate) fn for_queue(self) -> Firing {
        firing(ActionKind::ServiceBusQueue(self.0))
    }

    pub(crate) fn for_topic(self) -> Firing {
        firing(ActionKind::ServiceBusTopic(self.0))
    }

    pub(crate) async fn fire(self, actions: &Actions) -> Outcome {
        actions.fire(&self.for_queue()).await
    }
}

/// Every property that there is.
pub(crate) fn all_properties() -> BrokeredProperties {
    BrokeredProperties {
        content_type: Some("application/json".into()),
        correlation_id: Some("correlation".into()),
        force_persistence: Some(true),
        label: Some("a \"label\"; ş".into()),
        message_id: Some("message-1".into()),
        partition_key: Some("session".into()),
        reply_to: Some("answers".into()),
        reply_to_session_id: Some("answer-session".into()),
        scheduled_enqueue_at: Some("2026-03-04T05:06:07Z".parse().unwrap()),
        session_id: Some("session".into()),
        time_to_live: Some(jiff::SignedDuration::from_secs(90)),
        to: Some("somewhere".into()),
        via_partition_key: Some("via".into()),
    }
}

/// A double of Service Bus in a process of its own.
pub(crate) struct Double {
    process: Child,
    pub(crate) amqp: u64,
    pub(crate) rest: u64,
}

impl Double {
    /// Returns `None`, with a note on standard error, if `PUNCTUAL_TEST_BUS_DOUBLE` does not name its `main.js`.
    pub(crate) async fn start() -> Option<Self> {
        Self::start_at(0).await
    }

    pub(crate) async fn start_at(port: u64) -> Option<Self> {
        Self::start_with(port, &[]).await
    }

    /// With more keys, by name.
    pub(crate) async fn start_with(port: u64, more_keys: &[(String, String)]) -> Option<Self> {
        let Some(script) = std::env::var_os("PUNCTUAL_TEST_BUS_DOUBLE") else {
            eprintln!("SKIPPED: PUNCTUAL_TEST_BUS_DOUBLE names no double of Service Bus");
            return None;
        };
        let queues = [
            "orders",
            "invoices",
            "never-settles",
            "drops",
            "rejects",
            "releases",
            "settles-without-state",
            "no-credit",
            "detaches",
        ];
        let many = (0..100).map(|number| format!("q{number}"));
        let queues: Vec<String> = queues.map(str::to_owned).into_iter().chain(many).collect();
        let known = [(KEY_NAME, KEY), (OTHER[0], OTHER[1])].into_iter();
        let more = more_keys.iter().map(|(name, key)| (name.as_str(), key.as_str()));
        let keys: HashMap<&str, &str> = known.chain(more).collect();
        let options = json!({
            "amqp": port,
            "queues": queues,
            "topics": {"news": ["all", "some"]},
            "keys": keys,
        });
        let mut command = Command::new("node");
        command.arg(script).arg(options.to_string()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let ports: Value = serde_json::from_str(&line).unwrap();
        Some(Self { process, amqp: ports["amqp"].as_u64().unwrap(), rest: ports["rest"].as_u64().unwrap() })
    }

    pub(crate) async fn stop(mut self) {
        self.process.kill().await.unwrap();
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            service_bus_amqp_endpoint: format!("amqp://127.0.0.1:{}", self.amqp),
            service_bus_rest_endpoint: format!("http://127.0.0.1:{}", self.rest),
            ..settings()
        }
    }

    pub(crate) fn actions(&self) -> Arc<Actions> {
        Arc::new(build(self.settings()).unwrap())
    }

    pub(crate) fn impatience(&self) -> Settings {
        Settings { timeout: Duration::from_secs(3), ..self.settings() }
    }

    pub(crate) fn impatient(&self) -> Arc<Actions> {
        Arc::new(build(self.impatience()).unwrap())
    }

    /// What it has counted.
    pub(crate) async fn counts(&self) -> Value {
        let outcome =
            get(format!("http://127.0.0.1:{}/counts", self.rest)).fire(&crate::world::actions()).await;
        serde_json::from_str(outcome.message.split_once(" Body: ").unwrap().1).unwrap()
    }
}

/// A TCP proxy that can freeze its connections: nothing is forwarded any more, and neither side is closed.
pub(crate) struct Relay {
    pub(crate) port: u16,
    frozen: watch::Sender<bool>,
}

impl Relay {
    pub(crate) async fn to(port: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (frozen, _) = watch::channel(false);
        let relay = Self { port: listener.local_addr().unwrap().port(), frozen: frozen.clone() };
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut frozen = frozen.subscribe();
                frozen.mark_unchanged();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
                    let over = tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => true,
                        _ = frozen.changed() => false,
                    };
                    if !over {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        relay
    }

    pub(crate) fn freeze(&self) {
        self.frozen.send_replace(true);
    }
}
