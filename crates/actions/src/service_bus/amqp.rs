//! Messages over AMQP 1.0: links are kept, one for each entity and key, and replaced when they break. Those
//! of one namespace and key share connections.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use punctual_model::{Firing, ServiceBusMessage};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::link::{Apart, Line, Request, Route};
use super::open::{Opener, Party};
use super::parcel::{Parcel, pack};
use super::trouble::Trouble;
use super::trunk::{Setback, Trunks};
use super::{Credentials, Entity, ServiceBus};
use crate::failure::Failure;
use crate::shelf::Shelf;

/// Links that are kept; the one unused for longest is closed for the next.
const LINKS_MAX: usize = 512;

/// How many links a message is offered to, if each of them turns out to be stale before it is sent.
const OFFERS_MAX: usize = 3;

/// All links.
pub(super) struct Links {
    trunks: Arc<Trunks>,
    idle_timeout: Duration,
    slots: Shelf<[u8; 32], Slot>,
}

impl Links {
    pub(super) fn new(opener: Opener, idle_timeout: Duration) -> Self {
        Self { trunks: Arc::new(Trunks::new(opener)), idle_timeout, slots: Shelf::new(LINKS_MAX) }
    }

    /// Sends a message and waits for what the broker makes of it.
    async fn send(
        &self,
        route: impl Fn() -> Route,
        key: [u8; 32],
        parcel: Parcel,
        trouble: &Trouble,
    ) -> Result<(), Failure> {
        let slot = self.slots.get_or_make(key, Slot::default);
        for _ in 0..OFFERS_MAX {
            let line = slot.line(|| {
                Line::start(Arc::clone(&self.trunks), route(), slot.apart.clone(), self.idle_timeout)
            });
            // Whoever gives up on a link that does not answer leaves it to those who are on it already.
            let mut suspicion = Suspicion { slot: &slot, line: &line, cleared: false };
            let (answer, answered) = oneshot::channel();
            if line.requests.send(Request { parcel: Box::new(parcel.clone()), answer }).await.is_err() {
                continue;
            }
            match answered.await {
                Ok(Ok(delivery)) => {
                    let outcome = delivery.await.map_err(|error| trouble.of_send(&error))?;
                    suspicion.cleared = true;
                    return trouble.of_outcome(&outcome);
                }
                Ok(Err(Setback::Failed(failure))) => {
                    suspicion.cleared = !line.requests.is_closed();
                    return Err(failure);
                }
                Ok(Err(Setback::Stale)) | Err(_) => {}
            }
        }
        Err(Failure::new("MessagingCommunication", "The broker closes every link before a message is sent"))
    }
}

/// The link of one entity and key.
#[derive(Default)]
struct Slot {
    line: Mutex<Option<Line>>,
    apart: Apart,
}

impl Slot {
    fn line(&self, start: impl FnOnce() -> Line) -> Line {
        let mut line = self.line.lock().expect("nothing panics while it holds this lock");
        match &*line {
            Some(line) if !line.requests.is_closed() => line.clone(),
            _ => line.insert(start()).clone(),
        }
    }

    fn retire(&self, retired: &Line) {
        let mut line = self.line.lock().expect("nothing panics while it holds this lock");
        if line.as_ref().is_some_and(|line| line.requests.same_channel(&retired.requests)) {
            *line = None;
        }
    }
}

/// Takes a link out of use when it is dropped, unless it was cleared.
struct Suspicion<'a> {
    slot: &'a Slot,
    line: &'a Line,
    cleared: bool,
}

impl Drop for Suspicion<'_> {
    fn drop(&mut self) {
        if !self.cleared {
            self.slot.retire(self.line);
        }
    }
}

pub(super) async fn send(
    bus: &ServiceBus,
    firing: &Firing,
    entity: Entity,
    message: &ServiceBusMessage,
    credentials: Credentials<'_>,
) -> Result<(), Failure> {
    let host = bus.amqp.host(&message.namespace)?;
    let parcel = pack(firing, message, bus.clock.now())?;
    let address = match entity {
        Entity::Queue => bus.queue_address.of(&message.entity),
        Entity::Topic => bus.topic_address.of(&message.entity),
    };
    let scheme = if host.secure { "amqps" } else { "amqp" };
    let port = host.port.to_string();
    // Two keys never share: a token of one must not stand in for the other's.
    let party = [scheme, &host.name, &port, credentials.key_name, credentials.key.expose()];
    let shared_key = hash(party.into_iter());
    let own_key = hash(party.into_iter().chain([address.as_str()]));
    let route = || Route {
        party: Party {
            host: host.clone(),
            key_name: credentials.key_name.to_owned(),
            key: credentials.key.clone(),
        },
        entity: message.entity.clone(),
        address: address.clone(),
        shared_key,
        own_key,
        tag: firing.client_request_id.clone(),
    };
    let trouble = Trouble::new(credentials.key.expose());
    bus.links.send(route, own_key, parcel, &trouble).await
}

fn hash<'a>(parts: impl Iterator<Item = &'a str>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
