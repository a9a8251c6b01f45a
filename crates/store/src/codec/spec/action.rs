//! An action as it is stored, version 1. A secret is represented by its number.
//!
//! Credentials in headers and URIs were stored in the clear once. What is read in this form is a secret from then on,
//! and sealed when it is written next.

use std::borrow::Cow;

use punctual_model::{
    Action, ActionKind, Authentication, BrokeredProperties, Certificate, HeaderText, HttpAction,
    QueueMessage, RetryPolicy, Secret, ServiceBusAuthentication, ServiceBusMessage, Transport,
    split_user_info,
};
use serde::{Deserialize, Serialize};

use super::{Instant1, Pairs1, Span1, owned, owned_pairs, pairs, shared};
use crate::codec::seal::{Incoming, Outgoing};
use crate::codec::{CodecError, Number};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Action1<'a> {
    kind: Kind1<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry: Option<Retry1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_action: Option<Box<Action1<'a>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind1<'a> {
    Http(Http1<'a>),
    StorageQueue(Queue1<'a>),
    ServiceBusQueue(Bus1<'a>),
    ServiceBusTopic(Bus1<'a>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Http1<'a> {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    declared_https: bool,
    uri: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_info: Option<usize>,
    method: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(Cow<'a, str>, Header1<'a>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authentication: Option<Authentication1<'a>>,
}

/// The value of a header: its text, or the number of a secret.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Header1<'a> {
    Plain(Cow<'a, str>),
    Credential(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Authentication1<'a> {
    Basic {
        username: Cow<'a, str>,
        password: usize,
    },
    ClientCertificate {
        pfx: usize,
        password: usize,
        thumbprint: Cow<'a, str>,
        subject: Cow<'a, str>,
        expires_at: Instant1,
    },
    ActiveDirectoryOAuth {
        secret: usize,
        tenant: Cow<'a, str>,
        audience: Cow<'a, str>,
        client_id: Cow<'a, str>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Queue1<'a> {
    storage_account: Cow<'a, str>,
    queue_name: Cow<'a, str>,
    sas_token: usize,
    message: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bus1<'a> {
    entity: Cow<'a, str>,
    namespace: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transport: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authentication: Option<BusAuthentication1<'a>>,
    message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    brokered: Option<Brokered1<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    custom: Pairs1<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BusAuthentication1<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared_access_key: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sas_key_name: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sas_key: Option<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Brokered1<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correlation_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    force_persistence: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition_key: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply_to: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply_to_session_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scheduled_enqueue_at: Option<Instant1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_to_live: Option<Span1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    via_partition_key: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Retry1 {
    fixed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<Span1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
}

impl<'a> Action1<'a> {
    pub(super) fn of(action: &'a Action, secrets: &mut Outgoing<'a>) -> Self {
        let Action { kind, retry, error_action } = action;
        Self {
            kind: match kind {
                ActionKind::Http(http) => Kind1::Http(Http1::of(http, secrets)),
                ActionKind::StorageQueue(queue) => Kind1::StorageQueue(Queue1::of(queue, secrets)),
                ActionKind::ServiceBusQueue(bus) => Kind1::ServiceBusQueue(Bus1::of(bus, secrets)),
                ActionKind::ServiceBusTopic(bus) => Kind1::ServiceBusTopic(Bus1::of(bus, secrets)),
            },
            retry: retry.as_ref().map(Retry1::of),
            error_action: error_action.as_deref().map(|action| Box::new(Self::of(action, secrets))),
        }
    }

    pub(super) fn into_model(self, secrets: &mut Incoming<'_>) -> Result<Action, CodecError> {
        let error_action = self.error_action.map(|action| action.into_model(secrets)).transpose()?;
        Ok(Action {
            kind: match self.kind {
                Kind1::Http(http) => ActionKind::Http(http.into_model(secrets)?),
                Kind1::StorageQueue(queue) => ActionKind::StorageQueue(queue.into_model(secrets)?),
                Kind1::ServiceBusQueue(bus) => ActionKind::ServiceBusQueue(bus.into_model(secrets)?),
                Kind1::ServiceBusTopic(bus) => ActionKind::ServiceBusTopic(bus.into_model(secrets)?),
            },
            retry: self.retry.map(Retry1::into_model).transpose()?,
            error_action: error_action.map(Box::new),
        })
    }
}

impl<'a> Http1<'a> {
    fn of(http: &'a HttpAction, secrets: &mut Outgoing<'a>) -> Self {
        let HttpAction { declared_https, uri, user_info, method, headers, body, authentication } = http;
        Self {
            declared_https: *declared_https,
            uri: uri.into(),
            user_info: user_info.as_ref().map(|secret| secrets.take(secret)),
            method: method.into(),
            headers: headers.iter().map(|(name, text)| (name.into(), Header1::of(text, secrets))).collect(),
            body: shared(body.as_ref()),
            authentication: authentication.as_ref().map(|one| Authentication1::of(one, secrets)),
        }
    }

    fn into_model(self, secrets: &mut Incoming<'_>) -> Result<HttpAction, CodecError> {
        let (uri, user_info) = match self.user_info {
            Some(number) => (self.uri.into_owned(), Some(secrets.give(number)?)),
            None => {
                let (uri, user_info) = split_user_info(&self.uri);
                (uri, user_info.map(Secret::new))
            }
        };
        let header = |(name, text): (Cow<'_, str>, Header1<'_>)| {
            let text = text.into_model(&name, secrets)?;
            Ok((name.into_owned(), text))
        };
        Ok(HttpAction {
            declared_https: self.declared_https,
            uri,
            user_info,
            method: self.method.into_owned(),
            headers: self.headers.into_iter().map(header).collect::<Result<_, CodecError>>()?,
            body: owned(self.body),
            authentication: self.authentication.map(|one| one.into_model(secrets)).transpose()?,
        })
    }
}

impl<'a> Header1<'a> {
    fn of(text: &'a HeaderText, secrets: &mut Outgoing<'a>) -> Self {
        match text {
            HeaderText::Plain(text) => Self::Plain(text.into()),
            HeaderText::Credential(secret) => Self::Credential(secrets.take(secret)),
        }
    }

    fn into_model(self, name: &str, secrets: &mut Incoming<'_>) -> Result<HeaderText, CodecError> {
        Ok(match self {
            Self::Plain(text) if secrets.is_credential(name) => {
                HeaderText::Credential(Secret::new(text.into_owned()))
            }
            Self::Plain(text) => HeaderText::Plain(text.into_owned()),
            Self::Credential(number) => HeaderText::Credential(secrets.give(number)?),
        })
    }
}

impl<'a> Authentication1<'a> {
    fn of(authentication: &'a Authentication, secrets: &mut Outgoing<'a>) -> Self {
        match authentication {
            Authentication::Basic { username, password } => {
                Self::Basic { username: username.into(), password: secrets.take(password) }
            }
            Authentication::ClientCertificate { pfx, password, certificate } => {
                let Certificate { thumbprint, subject, expires_at } = certificate;
                Self::ClientCertificate {
                    pfx: secrets.take(pfx),
                    password: secrets.take(password),
                    thumbprint: thumbprint.into(),
                    subject: subject.into(),
                    expires_at: Instant1::of(*expires_at),
                }
            }
            Authentication::ActiveDirectoryOAuth { secret, tenant, audience, client_id } => {
                Self::ActiveDirectoryOAuth {
                    secret: secrets.take(secret),
                    tenant: tenant.into(),
                    audience: audience.into(),
                    client_id: client_id.into(),
                }
            }
        }
    }

    fn into_model(self, secrets: &mut Incoming<'_>) -> Result<Authentication, CodecError> {
        Ok(match self {
            Self::Basic { username, password } => {
                Authentication::Basic { username: username.into_owned(), password: secrets.give(password)? }
            }
            Self::ClientCertificate { pfx, password, thumbprint, subject, expires_at } => {
                Authentication::ClientCertificate {
                    pfx: secrets.give(pfx)?,
                    password: secrets.give(password)?,
                    certificate: Certificate {
                        thumbprint: thumbprint.into_owned(),
                        subject: subject.into_owned(),
                        expires_at: expires_at.into_model()?,
                    },
                }
            }
            Self::ActiveDirectoryOAuth { secret, tenant, audience, client_id } => {
                Authentication::ActiveDirectoryOAuth {
                    secret: secrets.give(secret)?,
                    tenant: tenant.into_owned(),
                    audience: audience.into_owned(),
                    client_id: client_id.into_owned(),
                }
            }
        })
    }
}

impl<'a> Queue1<'a> {
    fn of(queue: &'a QueueMessage, secrets: &mut Outgoing<'a>) -> Self {
        let QueueMessage { storage_account, queue_name, sas_token, message } = queue;
        Self {
            storage_account: storage_account.into(),
            queue_name: queue_name.into(),
            sas_token: secrets.take(sas_token),
            message: message.into(),
        }
    }

    fn into_model(self, secrets: &mut Incoming<'_>) -> Result<QueueMessage, CodecError> {
        Ok(QueueMessage {
            storage_account: self.storage_account.into_owned(),
            queue_name: self.queue_name.into_owned(),
            sas_token: secrets.give(self.sas_token)?,
            message: self.message.into_owned(),
        })
    }
}

impl<'a> Bus1<'a> {
    fn of(bus: &'a ServiceBusMessage, secrets: &mut Outgoing<'a>) -> Self {
        let ServiceBusMessage { entity, namespace, transport, authentication, message, brokered, custom } =
            bus;
        Self {
            entity: entity.into(),
            namespace: namespace.into(),
            transport: transport.map(Number::number),
            authentication: authentication.as_ref().map(|one| BusAuthentication1::of(one, secrets)),
            message: message.into(),
            brokered: brokered.as_ref().map(Brokered1::of),
            custom: pairs(custom),
        }
    }

    fn into_model(self, secrets: &mut Incoming<'_>) -> Result<ServiceBusMessage, CodecError> {
        let transport = |number: u8| {
            Transport::from_number(number.into()).ok_or(CodecError::Invalid { what: "transport" })
        };
        Ok(ServiceBusMessage {
            entity: self.entity.into_owned(),
            namespace: self.namespace.into_owned(),
            transport: self.transport.map(transport).transpose()?,
            authentication: self.authentication.map(|one| one.into_model(secrets)).transpose()?,
            message: self.message.into_owned(),
            brokered: self.brokered.map(Brokered1::into_model).transpose()?,
            custom: owned_pairs(self.custom),
        })
    }
}

impl<'a> BusAuthentication1<'a> {
    fn of(authentication: &'a ServiceBusAuthentication, secrets: &mut Outgoing<'a>) -> Self {
        let ServiceBusAuthentication { shared_access_key, sas_key_name, sas_key } = authentication;
        Self {
            shared_access_key: *shared_access_key,
            sas_key_name: shared(sas_key_name.as_ref()),
            sas_key: sas_key.as_ref().map(|secret| secrets.take(secret)),
        }
    }

    fn into_model(self, secrets: &mut Incoming<'_>) -> Result<ServiceBusAuthentication, CodecError> {
        Ok(ServiceBusAuthentication {
            shared_access_key: self.shared_access_key,
            sas_key_name: owned(self.sas_key_name),
            sas_key: self.sas_key.map(|number| secrets.give(number)).transpose()?,
        })
    }
}

impl<'a> Brokered1<'a> {
    fn of(brokered: &'a BrokeredProperties) -> Self {
        Self {
            content_type: shared(brokered.content_type.as_ref()),
            correlation_id: shared(brokered.correlation_id.as_ref()),
            force_persistence: brokered.force_persistence,
            label: shared(brokered.label.as_ref()),
            message_id: shared(brokered.message_id.as_ref()),
            partition_key: shared(brokered.partition_key.as_ref()),
            reply_to: shared(brokered.reply_to.as_ref()),
            reply_to_session_id: shared(brokered.reply_to_session_id.as_ref()),
            scheduled_enqueue_at: brokered.scheduled_enqueue_at.map(Instant1::of),
            session_id: shared(brokered.session_id.as_ref()),
            time_to_live: brokered.time_to_live.map(Span1::of),
            to: shared(brokered.to.as_ref()),
            via_partition_key: shared(brokered.via_partition_key.as_ref()),
        }
    }

    fn into_model(self) -> Result<BrokeredProperties, CodecError> {
        Ok(BrokeredProperties {
            content_type: owned(self.content_type),
            correlation_id: owned(self.correlation_id),
            force_persistence: self.force_persistence,
            label: owned(self.label),
            message_id: owned(self.message_id),
            partition_key: owned(self.partition_key),
            reply_to: owned(self.reply_to),
            reply_to_session_id: owned(self.reply_to_session_id),
            scheduled_enqueue_at: self.scheduled_enqueue_at.map(Instant1::into_model).transpose()?,
            session_id: owned(self.session_id),
            time_to_live: self.time_to_live.map(Span1::into_model).transpose()?,
            to: owned(self.to),
            via_partition_key: owned(self.via_partition_key),
        })
    }
}

impl Retry1 {
    fn of(retry: &RetryPolicy) -> Self {
        let RetryPolicy { fixed, interval, count } = *retry;
        Self { fixed, interval: interval.map(Span1::of), count }
    }

    fn into_model(self) -> Result<RetryPolicy, CodecError> {
        let interval = self.interval.map(Span1::into_model).transpose()?;
        Ok(RetryPolicy { fixed: self.fixed, interval, count: self.count })
    }
}
