//! Claims-based security: we send a token for an entity to the broker's node `$cbs`, and it answers with a status.
//!
//! There is one link for requests and one for answers. The broker gets credit for one answer of a bounded size per
//! request, so that a hostile one can't fill our memory.

use fe2o3_amqp::link::{
    CreditMode, IllegalLinkStateError, ReceiverAttachError, RecvError, SendError, SenderAttachError,
};
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::{Receiver, Sender};
use fe2o3_amqp_types::messaging::{
    AmqpValue, ApplicationProperties, Body, Message, MessageId, Outcome, Properties,
};
use fe2o3_amqp_types::primitives::{SimpleValue, Timestamp, Value};

use super::token::Token;

const NODE: &str = "$cbs";

/// The largest answer; a usual one is a number and a sentence.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// The links to `$cbs`.
pub(super) struct Cbs {
    requests: Sender,
    answers: Receiver,
    /// The address at which we receive answers.
    reply_to: String,
    request_count: u64,
}

/// Why the links to `$cbs` could not be attached.
#[derive(Debug, thiserror::Error)]
pub(super) enum CbsAttachError {
    #[error("could not attach for requests")]
    Requests(#[from] SenderAttachError),
    #[error("could not attach for answers")]
    Answers(#[from] ReceiverAttachError),
}

/// Why the broker did not accept a token.
#[derive(Debug, thiserror::Error)]
pub(super) enum CbsError {
    #[error("could not send the token")]
    Send(#[from] SendError),
    #[error("the token was not accepted")]
    Outcome(Outcome),
    #[error("could not ask for the answer")]
    Credit(#[from] IllegalLinkStateError),
    #[error("could not receive the answer")]
    Recv(#[from] RecvError),
    #[error("the answer has no status")]
    NoStatus,
    #[error("the answer has the status {code}")]
    Status { code: i64, description: Option<String> },
}

impl Cbs {
    pub(super) async fn attach(
        session: &mut SessionHandle<()>,
        container: &str,
    ) -> Result<Self, CbsAttachError> {
        let reply_to = format!("{container}-cbs");
        let requests =
            Sender::builder().name(format!("{reply_to}-requests")).target(NODE).attach(session).await?;
        let answers = Receiver::builder()
            .name(format!("{reply_to}-answers"))
            .source(NODE)
            .target(reply_to.as_str())
            .max_message_size(ANSWER_BYTES_MAX)
            .credit_mode(CreditMode::Manual)
            .attach(session)
            .await?;
        Ok(Self { requests, answers, reply_to, request_count: 0 })
    }

    /// Puts a token. Not to be called again after an error, since the answer to the failed request may still arrive.
    pub(super) async fn put(&mut self, audience: &str, token: Token) -> Result<(), CbsError> {
        self.request_count += 1;
        let expires_at = Timestamp::from_milliseconds(token.expires_at.as_millisecond());
        let properties = Properties {
            message_id: Some(MessageId::Ulong(self.request_count)),
            reply_to: Some(self.reply_to.clone()),
            ..Properties::default()
        };
        let details = ApplicationProperties::builder()
            .insert("operation", "put-token")
            .insert("type", "servicebus.windows.net:sastoken")
            .insert("name", audience)
            .insert("expiration", SimpleValue::Timestamp(expires_at))
            .build();
        let request = Message::builder()
            .properties(properties)
            .application_properties(details)
            .body(AmqpValue(Value::String(token.text)))
            .build();
        self.answers.set_credit(1).await?;
        match self.requests.send(request).await? {
            Outcome::Accepted(_) => {}
            other => return Err(CbsError::Outcome(other)),
        }
        let answer = self.answers.recv::<Body<Value>>().await?;
        // It does not matter whether the broker learns that we have received the answer.
        let _ = self.answers.accept(&answer).await;
        let details = answer.into_message().application_properties.ok_or(CbsError::NoStatus)?;
        match details.get("status-code").and_then(number).ok_or(CbsError::NoStatus)? {
            200 | 202 => Ok(()),
            code => {
                let description =
                    details.get("status-description").and_then(|description| match description {
                        SimpleValue::String(text) => Some(text.clone()),
                        _ => None,
                    });
                Err(CbsError::Status { code, description })
            }
        }
    }
}

fn number(value: &SimpleValue) -> Option<i64> {
    match *value {
        SimpleValue::Ubyte(number) => Some(number.into()),
        SimpleValue::Ushort(number) => Some(number.into()),
        SimpleValue::Uint(number) => Some(number.into()),
        SimpleValue::Ulong(number) => i64::try_from(number).ok(),
        SimpleValue::Byte(number) => Some(number.into()),
        SimpleValue::Short(number) => Some(number.into()),
        SimpleValue::Int(number) => Some(number.into()),
        SimpleValue::Long(number) => Some(number),
        _ => None,
    }
}
