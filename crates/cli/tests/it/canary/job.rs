//! Jobs with a secret at each place that can have one.

use serde_json::{Value, json};

use crate::receiver::Receiver;

/// What every secret of a job contains.
pub(super) const CORE: &str = "c4n4ryw0rd9";

/// A secret that says where it was.
fn secret(place: &str, step: usize) -> String {
    format!("{CORE}-{place}-{step}")
}

/// A certificate file and its password.
pub(super) struct Certificate {
    pub(super) pfx: String,
    pub(super) password: String,
}

/// All kinds of actions, each with all of its secrets. Targets answer what they were sent.
fn actions(receiver: &Receiver, certificate: &Certificate, step: usize) -> Vec<(&'static str, Value)> {
    let http = |more: Value| {
        let mut request = json!({"method": "POST", "uri": receiver.url("/echo"), "body": "hello"});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"type": "Http", "request": request})
    };
    let authenticated = |authentication: Value| http(json!({ "authentication": authentication }));
    let bus = |kind: &str, name: &str, entity: &str, transport: &str| {
        json!({"type": kind, name: {"namespace": "shop", entity: "orders", "transportType": transport, "message": "hello",
            "authentication": {"type": "sharedAccessKey", "sasKeyName": "key", "sasKey": secret(kind, step)}}})
    };
    let headers = [
        "Authorization",
        "Proxy-Authorization",
        "Cookie",
        "X-Api-Key",
        "Api-Key",
        "X-Functions-Key",
        "Ocp-Apim-Subscription-Key",
        "X-Mine",
    ];
    let headers: serde_json::Map<String, Value> = headers
        .into_iter()
        .map(|name| {
            let scheme = match name {
                "Authorization" | "Proxy-Authorization" => "Bearer ",
                "Cookie" => "session=",
                _ => "",
            };
            (name.to_owned(), format!("{scheme}{}", secret(name, step)).into())
        })
        .collect();
    let with_user =
        receiver.url("/echo").replace("http://", &format!("http://user:{}@", secret("uri", step)));
    let oauth = |tenant: &str| {
        authenticated(
            json!({"type": "ActiveDirectoryOAuth", "tenant": tenant, "audience": "https://a.example/",
            "clientId": "client", "secret": secret(tenant, step)}),
        )
    };
    let mut certified = authenticated(json!({"type": "ClientCertificate", "pfx": certificate.pfx,
        "password": certificate.password}));
    certified["request"]["uri"] = receiver.url("/echo").replace("http://", "https://").into();
    vec![
        ("headers", http(json!({ "headers": headers }))),
        ("user-info", http(json!({ "uri": with_user }))),
        (
            "basic",
            authenticated(json!({"type": "Basic", "username": "user", "password": secret("basic", step)})),
        ),
        ("oauth", oauth("tenant")),
        ("oauth-refused", oauth("refusing")),
        ("certificate", certified),
        (
            "storage-queue",
            json!({"type": "StorageQueue", "queueMessage": {"storageAccount": "account", "queueName": "orders",
            "message": "hello", "sasToken": format!("?sv=2020-01-01&sig={}", secret("sas", step))}}),
        ),
        ("bus-queue", bus("ServiceBusQueue", "serviceBusQueueMessage", "queueName", "NetMessaging")),
        ("bus-topic", bus("ServiceBusTopic", "serviceBusTopicMessage", "topicPath", "NotSpecified")),
        ("bus-amqp", bus("ServiceBusQueue", "serviceBusQueueMessage", "queueName", "AMQP")),
    ]
}

/// A job for each kind of action, with another of the same kind as its error action.
pub(super) fn jobs(receiver: &Receiver, certificate: &Certificate) -> Vec<(&'static str, Value)> {
    let errors = actions(receiver, certificate, 1);
    actions(receiver, certificate, 0)
        .into_iter()
        .zip(errors)
        .map(|((name, mut action), (_, error))| {
            action["retryPolicy"] = json!({"retryType": "none"});
            action["errorAction"] = error;
            (name, json!({"properties": {"action": action}}))
        })
        .collect()
}

/// The same job in ways that are refused: each secret is no text, is too long, or has characters that it may not have.
pub(super) fn refused(job: &Value) -> Vec<String> {
    let text = job.to_string();
    let mut bodies = vec![text[..text.len() - 2].to_owned(), text.replace("\"type\"", "\"typ\"")];
    let parts: Vec<&str> = text.split('"').filter(|part| part.contains(CORE)).collect();
    for part in parts {
        let with = |other: String| text.replace(&format!("\"{part}\""), &other);
        bodies.push(with(format!("[\"{part}\"]")));
        bodies.push(with(format!("\"{part}\\u0000\\n\"")));
        bodies.push(with(format!("\"{}\"", part.repeat(20_000 / part.len()))));
        bodies.push(with(format!("\"{part}\" \"{part}\"")));
        bodies.push(with(format!("\"{part}\\ud800\"")));
    }
    bodies
}
