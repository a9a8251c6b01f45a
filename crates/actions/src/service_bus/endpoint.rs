//! The addresses of namespaces and their entities.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_model::ServiceBusMessage;
use url::Url;

use crate::failure::Failure;

/// Characters that are not percent-encoded in any part of a URI.
pub(super) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The AMQP endpoint of a namespace: a URL in which `{namespace}` stands for the name.
pub(crate) struct AmqpEndpoint(String);

/// The address of a broker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BrokerAddress {
    pub(super) secure: bool,
    /// In lower case; IPv6 in brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl AmqpEndpoint {
    pub(crate) fn new(template: &str) -> Result<Self, String> {
        let sample = Url::parse(&template.replace("{namespace}", "namespace"))
            .map_err(|error| format!("not a URL: {error}"))?;
        let without_path =
            matches!(sample.path(), "" | "/") && sample.query().is_none() && sample.fragment().is_none();
        let without_user = sample.username().is_empty() && sample.password().is_none();
        match sample.scheme() {
            "amqp" | "amqps" if sample.host_str().is_none_or(str::is_empty) => {
                Err("names no host".to_owned())
            }
            "amqp" | "amqps" if without_path && without_user => Ok(Self(template.to_owned())),
            "amqp" | "amqps" => Err("must have a host and a port only".to_owned()),
            _ => Err("must begin with amqps:// or amqp://".to_owned()),
        }
    }

    pub(super) fn broker(&self, namespace: &str) -> Result<BrokerAddress, Failure> {
        let url = Url::parse(&self.0.replace("{namespace}", namespace)).ok();
        let url = url.ok_or_else(|| Failure::unusable("The address of the namespace is not valid"))?;
        let secure = url.scheme() == "amqps";
        let port = url.port().unwrap_or(if secure { 5671 } else { 5672 });
        // Host names are case-insensitive: two spellings of one name share a connection.
        Ok(BrokerAddress { secure, host: url.host_str().unwrap_or_default().to_lowercase(), port })
    }
}

/// The REST endpoint of a namespace: a URL in which `{namespace}` stands for the name.
pub(crate) struct RestEndpoint(String);

impl RestEndpoint {
    pub(crate) fn new(template: &str) -> Result<Self, String> {
        let sample = Url::parse(&template.replace("{namespace}", "namespace"))
            .map_err(|error| format!("not a URL: {error}"))?;
        match sample.scheme() {
            "http" | "https" if sample.query().is_none() && sample.fragment().is_none() => {
                Ok(Self(template.trim_end_matches('/').to_owned()))
            }
            "http" | "https" => Err("must have neither a query nor a fragment".to_owned()),
            _ => Err("must begin with https:// or http://".to_owned()),
        }
    }

    /// Returns the URI of a message's entity.
    pub(super) fn entity(&self, message: &ServiceBusMessage) -> String {
        let segments = message.entity.split('/');
        let segments = segments.map(|segment| utf8_percent_encode(segment, UNRESERVED).to_string());
        let path = segments.collect::<Vec<_>>().join("/");
        format!("{}/{path}", self.0.replace("{namespace}", &message.namespace))
    }
}

/// The address of an entity on an AMQP link: a template in which `{entity}` stands for the name.
pub(crate) struct EntityAddress(String);

impl EntityAddress {
    pub(crate) fn new(template: &str) -> Result<Self, String> {
        if template.contains("{entity}") {
            Ok(Self(template.to_owned()))
        } else {
            Err("must hold {entity}, which stands for the name".to_owned())
        }
    }

    pub(super) fn of(&self, entity: &str) -> String {
        self.0.replace("{entity}", entity)
    }
}

/// Checks the names of namespace and entity. They come from users and become parts of a host name, a path and an
/// AMQP address, which they must not change otherwise.
pub(super) fn check_names(message: &ServiceBusMessage) -> Result<(), Failure> {
    let ServiceBusMessage { namespace, entity, .. } = message;
    let of_host = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
    if !(1..=253).contains(&namespace.len()) || !namespace.chars().all(of_host) {
        return Err(Failure::unusable("The name of the namespace is not valid"));
    }
    let of_path = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.chars().all(|one| one.is_alphanumeric() || matches!(one, '-' | '_' | '.' | '~' | '$'))
    };
    if entity.len() > 260 || !entity.split('/').all(of_path) {
        return Err(Failure::unusable("The name of the entity is not valid"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(namespace: &str, entity: &str) -> ServiceBusMessage {
        ServiceBusMessage {
            entity: entity.into(),
            namespace: namespace.into(),
            transport: None,
            authentication: None,
            message: String::new(),
            brokered: None,
            custom: vec![],
        }
    }

    #[test]
    fn the_amqp_endpoint_is_a_template() {
        let check = |template, secure, host: &str, port| {
            let broker = AmqpEndpoint::new(template).unwrap().broker("Shop").unwrap();
            assert_eq!(broker, BrokerAddress { secure, host: host.into(), port }, "{template}");
        };
        check("amqps://{namespace}.servicebus.windows.net", true, "shop.servicebus.windows.net", 5671);
        check("amqps://localhost:5679/", true, "localhost", 5679);
        check("amqp://127.0.0.1", false, "127.0.0.1", 5672);
        check("amqp://[::1]:5", false, "[::1]", 5);
        for bad in ["", "{namespace}", "https://x", "amqps://", "amqps://x/y", "amqps://u:p@x", "amqp://x?y"]
        {
            assert!(AmqpEndpoint::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_rest_endpoint_is_a_template() {
        let check = |template, entity, expected: &str| {
            assert_eq!(RestEndpoint::new(template).unwrap().entity(&message("shop", entity)), expected);
        };
        check(
            "https://{namespace}.servicebus.windows.net",
            "orders",
            "https://shop.servicebus.windows.net/orders",
        );
        check("http://127.0.0.1:9/{namespace}/", "a/b", "http://127.0.0.1:9/shop/a/b");
        check("http://x", "siparişler", "http://x/sipari%C5%9Fler");
        for bad in ["", "amqp://x", "{namespace}", "https://x?y", "https://x#y"] {
            assert!(RestEndpoint::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_can_not_change_the_address() {
        assert!(check_names(&message("shop-1", "orders/eu~1$x.y")).is_ok());
        for (namespace, entity) in [
            ("", "q"),
            ("evil.example/", "q"),
            ("a@evil", "q"),
            ("a:1", "q"),
            ("a#", "q"),
            ("a", ""),
            ("a", "/q"),
            ("a", "q/../r"),
            ("a", "q?x"),
            ("a", "q&x"),
        ] {
            assert!(check_names(&message(namespace, entity)).is_err(), "{namespace} {entity}");
        }
    }
}
