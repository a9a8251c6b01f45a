//! Messages over AMQP 1.0.
//!
//! There is one link for each entity and key. It is kept open, and replaced when it breaks. The links of one
//! namespace and key share connections.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use punctual_model::{Firing, ServiceBusMessage};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::amqp_failure::AmqpFailures;
use super::connection::{ConnectionPool, LinkError};
use super::link::{Isolation, LinkConfig, LinkHandle, Request};
use super::message::{self, AmqpMessage};
use super::open::{BrokerLogin, ConnectionOpener};
use super::{Credentials, Entity, ServiceBus};
use crate::cache::Cache;
use crate::failure::Failure;
use crate::permit::Permit;

/// Links that are kept open. The least recently used one is closed when another is needed.
const LINKS_MAX: usize = 512;

/// On how many links one after another a message is tried, if each turns out to be stale before it is sent.
const TRIES_MAX: usize = 3;

/// All links.
pub(super) struct LinkPool {
    connections: Arc<ConnectionPool>,
    idle_timeout: Duration,
    links: Cache<[u8; 32], Link>,
}

impl LinkPool {
    pub(super) fn new(opener: ConnectionOpener, idle_timeout: Duration) -> Self {
        let connections = Arc::new(ConnectionPool::new(opener));
        Self { connections, idle_timeout, links: Cache::new(LINKS_MAX) }
    }

    /// Sends a message and waits for the broker's outcome.
    async fn send(
        &self,
        config: impl Fn() -> LinkConfig,
        key: [u8; 32],
        message: AmqpMessage,
        permit: &Permit,
        failures: &AmqpFailures,
    ) -> Result<(), Failure> {
        let link = self.links.get_or_insert_with(key, Link::default);
        for _ in 0..TRIES_MAX {
            let handle = link.handle(|| {
                let (connections, isolation) = (Arc::clone(&self.connections), link.isolation.clone());
                LinkHandle::start(connections, config(), isolation, self.idle_timeout)
            });
            // An attempt that gives up here takes the link out of use for later attempts. Those that already wait
            // on it keep it.
            let mut retire = RetireOnDrop { link: &link, handle: &handle, cancelled: false };
            let (answer, answered) = oneshot::channel();
            let request = Request { message: Box::new(message.clone()), permit: permit.clone(), answer };
            if handle.requests.send(request).await.is_err() {
                continue;
            }
            match answered.await {
                Ok(Ok(delivery)) => {
                    let outcome = delivery.await.map_err(|error| failures.of_send(&error))?;
                    retire.cancelled = true;
                    return failures.of_outcome(&outcome);
                }
                Ok(Err(LinkError::Failed(failure))) => {
                    retire.cancelled = !handle.requests.is_closed();
                    return Err(failure);
                }
                Ok(Err(LinkError::Stale)) | Err(_) => {}
            }
        }
        Err(Failure::new("MessagingCommunication", "The broker closes every link before a message is sent"))
    }
}

/// The link of one entity and key.
#[derive(Default)]
struct Link {
    /// `None` before the first message, and after the link was taken out of use.
    handle: Mutex<Option<LinkHandle>>,
    isolation: Isolation,
}

impl Link {
    /// Returns the handle to the link's task. If there is none, or the task has ended, `start` starts a new one.
    fn handle(&self, start: impl FnOnce() -> LinkHandle) -> LinkHandle {
        let mut handle = self.handle.lock().expect("nothing panics while it holds this lock");
        match &*handle {
            Some(handle) if !handle.requests.is_closed() => handle.clone(),
            _ => handle.insert(start()).clone(),
        }
    }

    /// Takes a handle out of use, if it still is the one in use.
    fn retire(&self, retired: &LinkHandle) {
        let mut handle = self.handle.lock().expect("nothing panics while it holds this lock");
        if handle.as_ref().is_some_and(|handle| handle.requests.same_channel(&retired.requests)) {
            *handle = None;
        }
    }
}

/// Takes a link out of use when it is dropped, unless `cancelled`.
struct RetireOnDrop<'a> {
    link: &'a Link,
    handle: &'a LinkHandle,
    cancelled: bool,
}

impl Drop for RetireOnDrop<'_> {
    fn drop(&mut self) {
        if !self.cancelled {
            self.link.retire(self.handle);
        }
    }
}

pub(super) async fn send(
    bus: &ServiceBus,
    firing: &Firing,
    entity: Entity,
    message: &ServiceBusMessage,
    credentials: Credentials<'_>,
    permit: &Permit,
) -> Result<(), Failure> {
    let broker = bus.amqp.broker(&message.namespace)?;
    let encoded = message::encode(firing, message, bus.clock.now())?;
    let address = match entity {
        Entity::Queue => bus.queue_address.of(&message.entity),
        Entity::Topic => bus.topic_address.of(&message.entity),
    };
    let scheme = if broker.secure { "amqps" } else { "amqp" };
    let port = broker.port.to_string();
    // Two keys never share a connection: the token of one must not authorize the other's messages.
    let login = [scheme, &broker.host, &port, credentials.key_name, credentials.key.expose()];
    let shared_key = hash(login.into_iter());
    let own_key = hash(login.into_iter().chain([address.as_str()]));
    let config = || LinkConfig {
        login: BrokerLogin {
            broker: broker.clone(),
            key_name: credentials.key_name.to_owned(),
            key: credentials.key.clone(),
        },
        entity: message.entity.clone(),
        address: address.clone(),
        shared_key,
        own_key,
        tag: firing.client_request_id.clone(),
    };
    let failures = AmqpFailures::new(credentials.key.expose());
    bus.links.send(config, own_key, encoded, permit, &failures).await
}

fn hash<'a>(parts: impl Iterator<Item = &'a str>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
