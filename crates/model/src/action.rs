//! What a job does when it fires.

use jiff::{SignedDuration, Timestamp};

use crate::{HeaderText, PlanLimits, Secret};

/// The longest chain of error actions.
pub const ERROR_ACTION_DEPTH_MAX: usize = 5;

/// What to do, how often to try, and what to do when all attempts have failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What to do.
    pub kind: ActionKind,
    /// How often to try, as written; see [`Action::retries`].
    pub retry: Option<RetryPolicy>,
    /// Runs when this one has used up its attempts.
    pub error_action: Option<Box<Action>>,
}

impl Action {
    /// The action of a step: 0 is this action, 1 its error action, 2 the error action of that, and so on.
    pub fn step(&self, step: u8) -> Option<&Action> {
        (0..step).try_fold(self, |action, _| action.error_action.as_deref())
    }

    /// The retries of a step: its own policy, else that of the main action, else the default of the plan.
    pub fn retries(&self, step: u8, plan: &PlanLimits) -> Retries {
        let own = self.step(step).and_then(|action| action.retry.as_ref());
        own.or(self.retry.as_ref()).map_or_else(|| plan.default_retries(), |policy| policy.retries(plan))
    }

    /// This action and the error actions after it.
    pub fn steps(&self) -> impl Iterator<Item = &Action> {
        std::iter::successors(Some(self), |action| action.error_action.as_deref())
    }
}

/// The kinds of action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// An HTTP request.
    Http(HttpAction),
    /// A message into an Azure Storage queue.
    StorageQueue(QueueMessage),
    /// A message into a Service Bus queue.
    ServiceBusQueue(ServiceBusMessage),
    /// A message to a Service Bus topic.
    ServiceBusTopic(ServiceBusMessage),
}

/// The name of a kind of action, without what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionType {
    /// An HTTP request.
    Http,
    /// A message into an Azure Storage queue.
    StorageQueue,
    /// A message into a Service Bus queue.
    ServiceBusQueue,
    /// A message to a Service Bus topic.
    ServiceBusTopic,
}

impl ActionType {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Http, Self::StorageQueue, Self::ServiceBusQueue, Self::ServiceBusTopic];
}

/// Whom an action calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// The host and port of this URI.
    Uri(&'a str),
    /// A named part of a service, in any letter case.
    Named {
        /// The service.
        service: &'static str,
        /// An account or namespace of it.
        name: &'a str,
    },
}

impl ActionKind {
    /// Which kind it is.
    pub fn action_type(&self) -> ActionType {
        match self {
            Self::Http(_) => ActionType::Http,
            Self::StorageQueue(_) => ActionType::StorageQueue,
            Self::ServiceBusQueue(_) => ActionType::ServiceBusQueue,
            Self::ServiceBusTopic(_) => ActionType::ServiceBusTopic,
        }
    }

    /// How it authenticates with its target, if plans may forbid that.
    pub fn authentication(&self) -> Option<&Authentication> {
        match self {
            Self::Http(http) => http.authentication.as_ref(),
            Self::StorageQueue(_) | Self::ServiceBusQueue(_) | Self::ServiceBusTopic(_) => None,
        }
    }

    /// Whom it calls. Slots are counted per target.
    pub fn target(&self) -> Target<'_> {
        match self {
            Self::Http(http) => Target::Uri(&http.uri),
            Self::StorageQueue(queue) => Target::Named { service: "queue", name: &queue.storage_account },
            Self::ServiceBusQueue(message) | Self::ServiceBusTopic(message) => {
                Target::Named { service: "bus", name: &message.namespace }
            }
        }
    }
}

/// An HTTP request, and the name of the type it was declared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAction {
    /// Declared as `Https` instead of `Http`. Only shown again: the scheme of the URI decides how to connect.
    pub declared_https: bool,
    /// The absolute URI, as written but for its user information.
    pub uri: String,
    /// The user information of the URI: a user name, perhaps with a colon and a password, as written.
    pub user_info: Option<Secret>,
    /// The method, as written.
    pub method: String,
    /// In the order they were given, names as written.
    pub headers: Vec<(String, HeaderText)>,
    /// The body.
    pub body: Option<String>,
    /// How to authenticate with the server that is called.
    pub authentication: Option<Authentication>,
}

/// How an HTTP action authenticates with the server that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// A user name and a password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A client certificate.
    ClientCertificate {
        /// The PKCS#12 file in base64, without white space.
        pfx: Secret,
        /// The file's password; may be empty.
        password: Secret,
        /// What was read from the file when the job was written.
        certificate: Certificate,
    },
    /// A token from Azure Active Directory by client credentials.
    ActiveDirectoryOAuth {
        /// The client's secret.
        secret: Secret,
        /// A domain or a GUID.
        tenant: String,
        /// The resource that the token is for.
        audience: String,
        /// The application that asks for the token.
        client_id: String,
    },
}

/// The public facts of a client certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// SHA-1, upper-case hex.
    pub thumbprint: String,
    /// In the form of .NET, most specific part first: `CN=x, O=y, S=z, C=US`.
    pub subject: String,
    /// The end of its validity.
    pub expires_at: Timestamp,
}

/// A message for an Azure Storage queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueMessage {
    /// The storage account's name.
    pub storage_account: String,
    /// The queue's name.
    pub queue_name: String,
    /// A shared access signature, with or without a leading question mark.
    pub sas_token: Secret,
    /// The user's text; may be empty.
    pub message: String,
}

/// A message for a Service Bus queue or topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceBusMessage {
    /// The queue's name or the topic's path.
    pub entity: String,
    /// The namespace's short name.
    pub namespace: String,
    /// The protocol that was asked for.
    pub transport: Option<Transport>,
    /// Some documented samples have none. Firing such a job fails and says what is missing.
    pub authentication: Option<ServiceBusAuthentication>,
    /// The user's text.
    pub message: String,
    /// The broker's own properties.
    pub brokered: Option<BrokeredProperties>,
    /// The user's properties, in the order they were given.
    pub custom: Vec<(String, String)>,
}

/// The protocol that is used with a Service Bus namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The choice is left to the scheduler, which uses HTTPS.
    NotSpecified,
    /// The retired .NET protocol; the scheduler uses HTTPS instead.
    NetMessaging,
    /// AMQP 1.0 over TLS.
    Amqp,
}

/// A shared access key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceBusAuthentication {
    /// Whether the declared type was `SharedAccessKey` (else it was `NotSpecified`, or absent).
    pub shared_access_key: Option<bool>,
    /// The key's name.
    pub sas_key_name: Option<String>,
    /// The key.
    pub sas_key: Option<Secret>,
}

/// The broker's own properties of a message. Only those that were given are sent and shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the broker's names")]
pub struct BrokeredProperties {
    pub content_type: Option<String>,
    pub correlation_id: Option<String>,
    pub force_persistence: Option<bool>,
    pub label: Option<String>,
    pub message_id: Option<String>,
    pub partition_key: Option<String>,
    pub reply_to: Option<String>,
    pub reply_to_session_id: Option<String>,
    pub scheduled_enqueue_at: Option<Timestamp>,
    pub session_id: Option<String>,
    pub time_to_live: Option<SignedDuration>,
    pub to: Option<String>,
    pub via_partition_key: Option<String>,
}

/// The retry policy of an action, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// `fixed`; otherwise `none`.
    pub fixed: bool,
    /// The pause between the end of an attempt and the start of the next.
    pub interval: Option<SignedDuration>,
    /// The number of attempts after the first.
    pub count: Option<u32>,
}

impl RetryPolicy {
    /// The retries of this policy, with defaults for what it leaves out.
    pub fn retries(&self, plan: &PlanLimits) -> Retries {
        let default = plan.default_retries();
        if !self.fixed {
            return Retries { interval: default.interval, count: 0 };
        }
        Retries {
            interval: self.interval.unwrap_or(default.interval),
            count: self.count.unwrap_or(default.count),
        }
    }
}

/// How often to try again, with all defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The pause between the end of an attempt and the start of the next.
    pub interval: SignedDuration,
    /// The number of attempts after the first.
    pub count: u32,
}
