//! RabbitMQ, by AMQP 1.0 with user name and password.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context, bail};
use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::{Connection, Receiver, Sender, Session};
use fe2o3_amqp_types::messaging::{Body, Data, Header, Message};
use fe2o3_amqp_types::primitives::{Binary, Value};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::{AT_ONCE, Peer, TEXT};
use crate::clock;

/// The number of messages of the bare client.
const BARE: usize = 10_000;
/// When nothing comes for this long, the queue is empty.
const SILENCE: Duration = Duration::from_secs(3);

pub(super) struct RabbitMq {
    endpoint: String,
    queue: String,
}

impl RabbitMq {
    pub(super) fn new(endpoint: &str) -> Self {
        Self { endpoint: endpoint.to_owned(), queue: format!("fired-{}", clock::wall_nanos()) }
    }

    async fn connect(&self) -> anyhow::Result<(ConnectionHandle<()>, SessionHandle<()>)> {
        let guest = SaslProfile::Plain { username: "guest".to_owned(), password: "guest".to_owned() };
        let connection =
            Connection::builder().container_id("bench").sasl_profile(guest).open(&*self.endpoint);
        let mut connection = connection.await.context("could not connect to RabbitMQ")?;
        let session = Session::begin(&mut connection).await.context("RabbitMQ begins no session")?;
        Ok((connection, session))
    }
}

impl Peer for RabbitMq {
    const NAME: &str = "RabbitMQ";
    const JOBS: usize = 20_000;

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PUNCTUAL_ACTIONS__SERVICE_BUS_AMQP_ENDPOINT", self.endpoint.clone()),
            ("PUNCTUAL_ACTIONS__SERVICE_BUS_SASL", "plain".to_owned()),
        ]
    }

    fn action(&self) -> String {
        format!(
            r#"{{"type":"ServiceBusQueue","serviceBusQueueMessage":{{"namespace":"bench","queueName":"{}","transportType":"AMQP","message":"{TEXT}","authentication":{{"type":"sharedAccessKey","sasKeyName":"guest","sasKey":"guest"}}}},"retryPolicy":{{"retryType":"None"}}}}"#,
            self.queue
        )
    }

    fn bare(&self) -> anyhow::Result<f64> {
        runtime()?.block_on(async {
            let (_connection, mut session) = self.connect().await?;
            let queue = format!("bare-{}", self.queue);
            let sender = Sender::attach(&mut session, "bench", queue.as_str()).await;
            let mut sender = sender.context("RabbitMQ opens no link")?;
            let since = clock::now();
            let mut deliveries = FuturesUnordered::new();
            for number in 0..BARE + AT_ONCE {
                if number < BARE {
                    let message = Message::builder()
                        .header(Header { durable: true, ..Header::default() })
                        .data(Data(Binary::from(TEXT.as_bytes())))
                        .build();
                    deliveries.push(sender.send_batchable(message).await.context("a message was not sent")?);
                }
                if number >= AT_ONCE - 1
                    && let Some(outcome) = deliveries.next().await
                    && !outcome.context("a message was lost")?.is_accepted()
                {
                    bail!("RabbitMQ did not accept a message");
                }
            }
            Ok(BARE as f64 / since.elapsed().as_secs_f64())
        })
    }

    /// Reads them all; each has an id of its own.
    fn arrived(&self) -> anyhow::Result<(usize, usize)> {
        runtime()?.block_on(async {
            let (_connection, mut session) = self.connect().await?;
            let receiver = Receiver::attach(&mut session, "bench", self.queue.as_str()).await;
            let mut receiver = receiver.context("RabbitMQ opens no link")?;
            let (mut count, mut ids) = (0, HashSet::new());
            while let Ok(received) = tokio::time::timeout(SILENCE, receiver.recv::<Body<Value>>()).await {
                let delivery = received.context("could not receive from RabbitMQ")?;
                receiver.accept(&delivery).await.context("could not take a message")?;
                count += 1;
                let id = delivery.into_message().properties.and_then(|properties| properties.message_id);
                ids.insert(format!("{id:?}"));
            }
            Ok((count, count - ids.len()))
        })
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("could not start a runtime")
}
