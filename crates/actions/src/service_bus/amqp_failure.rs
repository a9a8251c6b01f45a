//! Translates errors of AMQP into failures.
//!
//! The words are those of the .NET client's exceptions. Explanations of the broker are included, bounded in length and
//! without the key.

use fe2o3_amqp::connection::{ConnectionStopReason, OpenError};
use fe2o3_amqp::link::{
    DetachError, LinkStateError, ReceiverAttachError, RecvError, SendError, SenderAttachError,
    SessionStopReason,
};
use fe2o3_amqp::session::BeginError;
use fe2o3_amqp_types::definitions::{self, AmqpError, ErrorCondition, LinkError};
use fe2o3_amqp_types::messaging::Outcome;
use fe2o3_amqp_types::primitives::Symbol;
use fe2o3_amqp_types::sasl::SaslCode;

use super::cbs::{CbsAttachError, CbsError};
use crate::explanation;
use crate::failure::Failure;
use crate::first_bytes::DetectedProtocol;
use crate::peer::Peer;
use crate::redact::Redactor;

/// Translates the errors of one key's connections.
pub(super) struct AmqpFailures {
    redactor: Redactor,
}

impl AmqpFailures {
    /// `key` is redacted from every text, even if the broker repeats it.
    pub(super) fn new(key: &str) -> Self {
        let mut redactor = Redactor::default();
        redactor.add(key);
        Self { redactor }
    }

    /// The connection could not be opened.
    pub(super) fn of_open(&self, error: &OpenError, peer: &Peer) -> Failure {
        let address = peer.address;
        let communication = |text: String| Failure::new("MessagingCommunication", text);
        if let Some(advice) = peer.tls_advice() {
            return communication(format!("{address} {advice}"));
        }
        match error {
            OpenError::SaslError { code: SaslCode::Auth, .. } => unauthorized(),
            OpenError::SaslError { .. } => {
                Failure::new("MessagingCommunication", "The broker could not check who we are")
            }
            OpenError::RemoteClosedWithError(error) => self.of_broker(error),
            _ if peer.detected() == DetectedProtocol::Http => {
                communication(format!("{address} speaks HTTP and not AMQP 1.0; the port may be wrong"))
            }
            OpenError::NotImplemented(_) | OpenError::DecodeError(_) => communication(
                "The broker does not offer the SASL mechanism that is configured; see service_bus_sasl"
                    .to_owned(),
            ),
            OpenError::ProtocolHeaderMismatch(_) if peer.detected() == DetectedProtocol::Amqp => {
                communication(format!(
                    "The broker at {address} speaks another version of AMQP than 1.0, or wants another SASL mechanism"
                ))
            }
            OpenError::ProtocolHeaderMismatch(_) => {
                communication(format!("{address} does not speak AMQP 1.0; the port may be wrong"))
            }
            _ if peer.detected() == DetectedProtocol::None && !peer.secure => communication(format!(
                "{address} closed the connection without an answer; if that port speaks TLS, the address must begin \
                 with {}",
                peer.protocol.scheme(true)
            )),
            _ => communication(format!("{address} closed the connection before it was open")),
        }
    }

    /// A session could not be begun.
    pub(super) fn of_begin(&self, error: &BeginError) -> Failure {
        match error {
            BeginError::RemoteEndedWithError(error)
            | BeginError::ConnectionStopped(ConnectionStopReason::RemoteClosedWithError(error)) => {
                self.of_broker(error)
            }
            _ => Failure::new("MessagingCommunication", "The connection was closed before a session began"),
        }
    }

    /// The link to the entity could not be attached.
    pub(super) fn of_attach(&self, error: &SenderAttachError) -> Failure {
        match error {
            SenderAttachError::RemoteClosedWithError(error) => self.of_broker(error),
            SenderAttachError::SessionStopped(reason) => self.of_stop(reason, "attached"),
            SenderAttachError::SndSettleModeNotSupported => {
                Failure::new("MessagingException", "The broker does not say whether it has a message")
            }
            _ => Failure::new("MessagingException", "The broker did not open a link to the entity"),
        }
    }

    /// The links to `$cbs` could not be attached.
    pub(super) fn of_cbs(&self, error: &CbsAttachError) -> Failure {
        let broker_error = match error {
            CbsAttachError::Requests(SenderAttachError::RemoteClosedWithError(error))
            | CbsAttachError::Answers(ReceiverAttachError::RemoteClosedWithError(error)) => Some(error),
            CbsAttachError::Requests(SenderAttachError::SessionStopped(reason))
            | CbsAttachError::Answers(ReceiverAttachError::SessionStopped(reason)) => broker_error_of(reason),
            _ => None,
        };
        let mut text = "The broker takes no tokens at $cbs; service_bus_sasl may have to be plain".to_owned();
        if let Some(error) = broker_error {
            text.push_str(": ");
            text.push_str(&self.explanation(error));
        }
        Failure::new("MessagingCommunication", text)
    }

    /// The broker did not accept a token.
    pub(super) fn of_token(&self, error: &CbsError) -> Failure {
        match error {
            CbsError::Status { code: 401 | 403, .. } => unauthorized(),
            CbsError::Status { code, description } => {
                let word = if *code == 404 { "MessagingEntityNotFound" } else { "MessagingException" };
                let mut text = format!("The broker did not take the token: {code}");
                if let Some(description) = description {
                    text.push(' ');
                    text.push_str(&self.sanitized(description));
                }
                Failure::new(word, text)
            }
            CbsError::Send(error) => self.of_send(error),
            CbsError::Recv(RecvError::LinkStateError(error)) => self.of_link(error, "took the token"),
            CbsError::Outcome(_) | CbsError::Credit(_) | CbsError::Recv(_) | CbsError::NoStatus => {
                Failure::new(
                    "MessagingCommunication",
                    "The broker gave no answer to the token that can be read; service_bus_sasl may have to be plain",
                )
            }
        }
    }

    /// A message was not sent, or not settled.
    pub(super) fn of_send(&self, error: &SendError) -> Failure {
        match error {
            SendError::LinkStateError(error) => self.of_link(error, "answered"),
            SendError::Detached(
                DetachError::RemoteClosedWithError(error) | DetachError::RemoteDetachedWithError(error),
            ) => self.of_broker(error),
            SendError::Detached(DetachError::SessionStopped(reason)) => self.of_stop(reason, "answered"),
            SendError::Detached(_) => {
                Failure::new("MessagingCommunication", "The broker closed the link before it answered")
            }
            SendError::MessageSizeExceeded(error) => Failure::new(
                "MessageSizeExceeded",
                format!("The message has {} bytes, and the broker takes {}", error.size, error.max_size),
            ),
            SendError::MessageEncodeError => Failure::unusable("The message can't be encoded"),
            SendError::NonTerminalDeliveryState | SendError::IllegalDeliveryState => {
                Failure::new("MessagingException", "The broker settled the message without accepting it")
            }
        }
    }

    /// The broker has settled a message: accepted is success, everything else a failure.
    pub(super) fn of_outcome(&self, outcome: &Outcome) -> Result<(), Failure> {
        match outcome {
            Outcome::Accepted(_) => Ok(()),
            Outcome::Rejected(rejected) => Err(rejected.error.as_ref().map_or_else(
                || Failure::new("MessagingException", "The broker rejected the message"),
                |error| self.of_broker(error),
            )),
            Outcome::Released(_) => {
                Err(Failure::new("MessagingException", "The broker released the message without taking it"))
            }
            Outcome::Modified(_) => Err(Failure::new(
                "MessagingException",
                "The broker gave the message back as one that it could not take",
            )),
        }
    }

    fn of_link(&self, error: &LinkStateError, until: &str) -> Failure {
        match error {
            LinkStateError::RemoteClosedWithError(error) | LinkStateError::RemoteDetachedWithError(error) => {
                self.of_broker(error)
            }
            LinkStateError::SessionStopped(reason) => self.of_stop(reason, until),
            _ => Failure::new(
                "MessagingCommunication",
                format!("The broker closed the link before it {until}"),
            ),
        }
    }

    fn of_stop(&self, reason: &SessionStopReason, until: &str) -> Failure {
        broker_error_of(reason).map_or_else(
            || {
                Failure::new(
                    "MessagingCommunication",
                    format!("The connection was lost before the broker {until}"),
                )
            },
            |error| self.of_broker(error),
        )
    }

    /// The broker sent an error.
    fn of_broker(&self, error: &definitions::Error) -> Failure {
        let word = match &error.condition {
            ErrorCondition::AmqpError(AmqpError::NotFound | AmqpError::ResourceDeleted) => {
                "MessagingEntityNotFound"
            }
            ErrorCondition::AmqpError(AmqpError::UnauthorizedAccess) => "UnauthorizedAccess",
            ErrorCondition::AmqpError(AmqpError::ResourceLimitExceeded) => "QuotaExceeded",
            ErrorCondition::LinkError(LinkError::MessageSizeExceeded) => "MessageSizeExceeded",
            ErrorCondition::ConnectionError(_) => "MessagingCommunication",
            ErrorCondition::Custom(name) if name.0 == "com.microsoft:server-busy" => "ServerBusy",
            ErrorCondition::Custom(name) if name.0 == "com.microsoft:timeout" => "Timeout",
            ErrorCondition::Custom(name) if name.0 == "com.microsoft:entity-disabled" => {
                "MessagingEntityDisabled"
            }
            ErrorCondition::AmqpError(_)
            | ErrorCondition::SessionError(_)
            | ErrorCondition::LinkError(_)
            | ErrorCondition::Custom(_) => "MessagingException",
        };
        Failure::new(word, format!("The broker says {}", self.explanation(error)))
    }

    fn explanation(&self, error: &definitions::Error) -> String {
        let condition = match &error.condition {
            ErrorCondition::AmqpError(condition) => Symbol::from(condition),
            ErrorCondition::ConnectionError(condition) => Symbol::from(condition),
            ErrorCondition::SessionError(condition) => Symbol::from(condition),
            ErrorCondition::LinkError(condition) => Symbol::from(condition),
            ErrorCondition::Custom(condition) => condition.clone(),
        };
        let condition = self.sanitized(&condition.0);
        match error.description.as_deref() {
            Some(description) if !description.is_empty() => {
                format!("{condition}: {}", self.sanitized(description))
            }
            _ => condition,
        }
    }

    fn sanitized(&self, text: &str) -> String {
        explanation::sanitized(text, &self.redactor)
    }
}

fn unauthorized() -> Failure {
    Failure::new("UnauthorizedAccess", "The broker did not accept the shared access key")
}

fn broker_error_of(reason: &SessionStopReason) -> Option<&definitions::Error> {
    match reason {
        SessionStopReason::RemoteEndedWithError(error)
        | SessionStopReason::ConnectionStopped(ConnectionStopReason::RemoteClosedWithError(error)) => {
            Some(error)
        }
        _ => None,
    }
}
