//! What the history says when there is no answer: which address and port, what is wrong there, and what to do.
//!
//! Each row has a real peer. Every text begins as that of the original service did, in the shape that PowerShell
//! parses, and repeats nothing of the URL but the host.

use std::time::Duration;

use punctual_actions::{Actions, Egress, Settings};
use punctual_model::{ActionKind, QueueMessage, Secret};
use rcgen::{BasicConstraints, ExtendedKeyUsagePurpose, IsCa, SanType, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::bus::note;
use crate::certificate::{Authority, Clients};
use crate::receiver::{Receiver, ok, read_head};
use crate::world::{SHORT, actions, build, firing, get, settings};

/// The time of an attempt that is to run out. Connecting has three quarters of it.
const LIMIT: Duration = Duration::from_secs(2);

const REFUSED: &str = "ConnectFailure Unable to connect to the remote server: 127.0.0.1:{port} refused the \
                       connection; nothing listens there, or a firewall rejects it";
const TRUST: &str = "TrustFailure The underlying connection was closed: Could not establish trust relationship \
                     for the SSL/TLS secure channel: 127.0.0.1:{port} shows ";
const CHANNEL: &str = "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel: 127.0.0.1:{port} ";
const RECEIVE: &str = "ReceiveFailure The underlying connection was closed: ";
const VIOLATION: &str = "ServerProtocolViolation The server committed a protocol violation: ";

/// Fires an HTTP action whose URL has everything that must not be told.
async fn check(actions: &Actions, scheme: &str, host: &str, port: u16, expected: &str) {
    let uri = format!("{scheme}://user:passw0rd@{host}:{port}/private/path?token=t0ken#fragment");
    let outcome = get(uri).header("x-key", "k3y").fire(actions).await;
    assert!(!outcome.succeeded, "{}", outcome.message);
    let start = format!("Http Action - Request to host '{host}' failed: ");
    assert_eq!(outcome.message, format!("{start}{}", expected.replace("{port}", &port.to_string())));
    for part in ["user", "passw0rd", "private", "t0ken", "fragment", "k3y"] {
        assert!(!outcome.message.contains(part), "{}", outcome.message);
    }
}

/// A port that nobody listens on.
async fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

/// A port that accepts no more connections: its queue is full.
async fn full_port() -> (u16, Vec<TcpStream>, TcpListener) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = Vec::new();
    while let Ok(stream) = tokio::time::timeout(SHORT, TcpStream::connect(address)).await {
        held.push(stream.unwrap());
    }
    (address.port(), held, listener)
}

#[tokio::test]
async fn a_refused_connection_is_told_with_its_port() {
    check(&actions(), "http", "127.0.0.1", closed_port().await, REFUSED).await;
    check(&actions(), "https", "127.0.0.1", closed_port().await, REFUSED).await;
}

#[tokio::test]
async fn every_address_of_a_name_is_told() {
    let port = closed_port().await;
    let outcome = get(format!("http://localhost:{port}/")).fire(&actions()).await;
    assert!(outcome.message.contains(&format!("127.0.0.1:{port}")), "{}", outcome.message);
    assert!(outcome.message.contains(" refused the connection; "), "{}", outcome.message);
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_told_with_the_time_that_it_had() {
    let (port, _held, _listener) = full_port().await;
    check(
        &build(Settings { timeout: LIMIT, ..settings() }).unwrap(),
        "http",
        "127.0.0.1",
        port,
        "ConnectFailure Unable to connect to the remote server: 127.0.0.1:{port} did not answer within 1500 ms; \
         check the address, the port and the firewalls between",
    )
    .await;
}

#[tokio::test]
async fn a_denied_address_is_told_with_the_setting_that_allows_it() {
    let denied = "ConnectFailure Unable to connect to the remote server: {address} is not allowed by the egress \
                  rules ({reason}); the operator of this server can allow it with actions.egress_allow";
    let text = |address: &str, reason: &str| denied.replace("{address}", address).replace("{reason}", reason);
    let expected = text("169.254.169.254:{port}", "cloud metadata address");
    check(&actions(), "http", "169.254.169.254", 81, &expected).await;
    let egress = Egress::new(&[], &["127.0.0.0/8".parse().unwrap()]);
    let actions = build(Settings { egress, ..settings() }).unwrap();
    check(&actions, "http", "127.0.0.1", 82, &text("127.0.0.1:{port}", "denied by actions.egress_deny"))
        .await;
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_told_with_what_to_look_at() {
    let outcome = get("http://no-such-host.invalid:8080/x").fire(&actions()).await;
    let start = "Http Action - Request to host 'no-such-host.invalid' failed: NameResolutionFailure The remote name \
                 could not be resolved: 'no-such-host.invalid': ";
    let rest = outcome.message.strip_prefix(start).unwrap_or_else(|| panic!("{}", outcome.message));
    // A machine without name servers can't know that there is no such name.
    let known = "there is no address for it in the DNS of this server; check its spelling";
    let unknown = "the name servers did not answer; check the DNS settings of this server";
    assert!([known, unknown].contains(&rest), "{rest}");
}

#[tokio::test]
async fn http_to_a_port_that_speaks_tls_is_told() {
    let authority = Authority::new();
    let receiver = Receiver::secure(authority.server(Clients::Anonymous, &[]), |_| ok()).await;
    let expected = format!("{VIOLATION}127.0.0.1:{{port}} speaks TLS; the address must begin with https://");
    check(&actions(), "http", "127.0.0.1", receiver.address.port(), &expected).await;
    // Other servers close at once, which may mean anything.
    let receiver = Receiver::raw(|mut tcp| async move {
        read_head(&mut tcp).await;
    })
    .await;
    let expected = format!(
        "{RECEIVE}The connection was closed unexpectedly: 127.0.0.1:{{port}} closed it without an answer; if that \
         port speaks TLS, the address must begin with https://"
    );
    check(&actions(), "http", "127.0.0.1", receiver.address.port(), &expected).await;
}

#[tokio::test]
async fn https_to_a_port_that_speaks_no_tls_is_told() {
    let plain = format!(
        "{CHANNEL}answers in plain text and not with TLS; the address must begin with http://, or the port is wrong"
    );
    for greeting in
        ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "220 mail.example ESMTP\r\n"]
    {
        let receiver = Receiver::raw(move |mut tcp| async move {
            // The client's hello has to be read, else closing would reset the connection.
            let _ = tcp.read(&mut [0; 4096]).await;
            let _ = tcp.write_all(greeting.as_bytes()).await;
        })
        .await;
        check(&actions(), "https", "127.0.0.1", receiver.address.port(), &plain).await;
    }
    let closing = Receiver::raw(|mut tcp| async move {
        let _ = tcp.read(&mut [0; 4096]).await;
    })
    .await;
    let closed = format!(
        "{CHANNEL}closed the connection during the TLS handshake; if that port speaks no TLS, the address must begin \
         with http://"
    );
    check(&actions(), "https", "127.0.0.1", closing.address.port(), &closed).await;
    let silent = Receiver::hanging().await;
    let late = "Timeout The operation has timed out: 127.0.0.1:{port} accepted the connection, but the TLS handshake \
                was not done within 1500 ms; it may not speak TLS on that port";
    check(
        &build(Settings { timeout: LIMIT, ..settings() }).unwrap(),
        "https",
        "127.0.0.1",
        silent.address.port(),
        late,
    )
    .await;
}

#[tokio::test]
async fn a_certificate_that_can_not_be_trusted_is_told_with_what_is_wrong_with_it() {
    let authority = Authority::new();
    let (trusting, stranger) = (authority.trusted(), actions());
    let rows = [
        (
            authority.server(Clients::Anonymous, &[]),
            &stranger,
            "a certificate from an authority that this server does not trust; the operator of this server can add \
             the authority with actions.ca_file",
        ),
        (
            authority.as_server(),
            &stranger,
            "the certificate of an authority (CA:TRUE) as its own; it needs one that is made for a server (CA:FALSE)",
        ),
        (
            authority.as_server(),
            &trusting,
            "the certificate of an authority (CA:TRUE) as its own; it needs one that is made for a server (CA:FALSE)",
        ),
        (
            authority.server_with(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
            &trusting,
            "the certificate of an authority (CA:TRUE) as its own; it needs one that is made for a server (CA:FALSE)",
        ),
        (
            authority.server_with(|params| params.not_after = date_time_ymd(2020, 2, 29)),
            &trusting,
            "a certificate that expired on 2020-02-29; the target needs a new one",
        ),
        (
            authority.server_with(|params| params.not_before = date_time_ymd(2345, 6, 7)),
            &trusting,
            "a certificate that is not valid before 2345-06-07; check the clock of this server",
        ),
        (
            authority.server_named("other.example", Clients::Anonymous, &[]),
            &trusting,
            "a certificate for 'other.example', not for 'localhost'; use a name that it has, or give the target \
             another one",
        ),
        (
            authority.server_with(|params| {
                let ip = SanType::IpAddress([192, 0, 2, 1].into());
                params.subject_alt_names = vec![ip, SanType::DnsName("*.example".try_into().unwrap())];
            }),
            &trusting,
            "a certificate for '192.0.2.1', '*.example', not for 'localhost'; use a name that it has, or give the \
             target another one",
        ),
        (
            authority.server_with(|params| params.subject_alt_names.clear()),
            &trusting,
            "a certificate for no name at all (it has no subjectAltName), not for 'localhost'; use a name that it \
             has, or give the target another one",
        ),
        (
            authority.server_with(|params| {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }),
            &trusting,
            "a certificate that is not made for servers: its extended key usage lacks serverAuth",
        ),
    ];
    for (acceptor, actions, what) in rows {
        let receiver = Receiver::secure(acceptor, |_| ok()).await;
        let port = receiver.address.port();
        let expected = format!("{TRUST}{what}");
        check(actions, "https", "localhost", port, &expected).await;
        assert!(receiver.seen().is_empty());
    }
}

#[tokio::test]
async fn a_target_that_wants_a_client_certificate_is_told() {
    let authority = Authority::new();
    let receiver = Receiver::secure(authority.server(Clients::Certified, &[]), |_| ok()).await;
    let expected = format!(
        "{CHANNEL}wants a client certificate, and the action has none for it (authentication of the type \
         ClientCertificate)"
    );
    check(&authority.trusted(), "https", "localhost", receiver.address.port(), &expected).await;
}

#[tokio::test]
async fn an_answer_that_is_not_http_or_breaks_off_is_told_with_its_port() {
    let receiver = Receiver::saying("SSH-2.0-OpenSSH_9.2\r\n\r\n").await;
    let expected =
        format!("{VIOLATION}the answer of 127.0.0.1:{{port}} is not valid HTTP: invalid HTTP version parsed");
    check(&actions(), "http", "127.0.0.1", receiver.address.port(), &expected).await;
    let receiver = Receiver::saying("HTTP/1.1 200 OK\r\nContent-Le").await;
    let expected = format!(
        "{RECEIVE}The connection was closed unexpectedly: 127.0.0.1:{{port}} closed it before the answer was complete"
    );
    check(&actions(), "http", "127.0.0.1", receiver.address.port(), &expected).await;
    let receiver = Receiver::raw(|mut tcp| async move {
        read_head(&mut tcp).await;
        tcp.set_zero_linger().unwrap();
    })
    .await;
    let expected = format!(
        "{RECEIVE}An unexpected error occurred on a receive: 127.0.0.1:{{port}} reset it before the answer was \
         complete"
    );
    check(&actions(), "http", "127.0.0.1", receiver.address.port(), &expected).await;
    let receiver = Receiver::hanging().await;
    let expected = "Timeout The operation has timed out: no complete answer within 2 s";
    check(
        &build(Settings { timeout: LIMIT, ..settings() }).unwrap(),
        "http",
        "127.0.0.1",
        receiver.address.port(),
        expected,
    )
    .await;
}

/// The words by which PowerShell reads the messages of storage queues.
const STORAGE_WORDS: [&str; 3] = ["succeeded", "does not exist", "could not be found"];

#[tokio::test]
async fn a_storage_queue_that_can_not_be_reached_is_told_as_well() {
    let authority = Authority::new();
    let secure = Receiver::secure(authority.server(Clients::Anonymous, &[]), |_| ok()).await;
    let plain = Receiver::start(|_| ok()).await;
    let closed = closed_port().await;
    let fire = async |endpoint: String| {
        let actions = build(Settings { storage_queue_endpoint: endpoint, ..settings() }).unwrap();
        let outcome = actions
            .fire(&firing(ActionKind::StorageQueue(QueueMessage {
                storage_account: "account".into(),
                queue_name: "queue1".into(),
                sas_token: Secret::new("?sv=1&sig=s3cret"),
                message: "text".into(),
            })))
            .await;
        assert!(!outcome.succeeded && !outcome.message.contains("s3cret"), "{}", outcome.message);
        outcome.message
    };
    let secure_port = secure.address.port();
    let plain_port = plain.address.port();
    for (endpoint, port, expected) in [
        (format!("http://127.0.0.1:{closed}"), closed, REFUSED.to_owned()),
        (
            format!("http://127.0.0.1:{secure_port}"),
            secure_port,
            format!("{VIOLATION}127.0.0.1:{{port}} speaks TLS; the address must begin with https://"),
        ),
        (
            format!("https://localhost:{secure_port}"),
            secure_port,
            format!(
                "{TRUST}a certificate from an authority that this server does not trust; the operator of this server \
                 can add the authority with actions.ca_file"
            ),
        ),
        (
            format!("https://127.0.0.1:{plain_port}"),
            plain_port,
            format!(
                "{CHANNEL}answers in plain text and not with TLS; the address must begin with http://, or the port is \
                 wrong"
            ),
        ),
    ] {
        let message = fire(endpoint).await;
        let start = "StorageQueue Action - The message to storage account 'account' queue 'queue1' failed: ";
        assert_eq!(message, format!("{start}{}", expected.replace("{port}", &port.to_string())));
        assert!(STORAGE_WORDS.iter().all(|word| !message.contains(word)), "{message}");
    }
    let message = fire("http://{account}.invalid".into()).await;
    let start = "StorageQueue Action - The storage account 'account' could not be found. The remote name could not \
                 be resolved: 'account.invalid': ";
    assert!(message.starts_with(start) && message.contains("; check "), "{message}");
    assert!(!message.contains("succeeded") && !message.contains("does not exist"), "{message}");
}

/// What is told of a broker over AMQP, behind the shape that PowerShell parses.
async fn over_amqp(endpoint: String) -> String {
    let settings = Settings { service_bus_amqp_endpoint: endpoint, timeout: LIMIT, ..settings() };
    let outcome = note("orders").fire(&build(settings).unwrap()).await;
    let start = "ServiceBusQueue Action - Failed: queue 'orders' namespace 'shop' ";
    let rest = outcome.message.strip_prefix(start);
    rest.unwrap_or_else(|| panic!("{}", outcome.message)).to_owned()
}

#[tokio::test]
async fn a_broker_that_can_not_be_reached_is_told_as_well() {
    let authority = Authority::new();
    let secure = Receiver::secure(authority.server(Clients::Anonymous, &[]), |_| ok()).await;
    let web = Receiver::start(|_| ok()).await;
    let closing = Receiver::raw(|mut tcp| async move {
        let _ = tcp.read(&mut [0; 4096]).await;
    })
    .await;
    let older = Receiver::raw(|mut tcp| async move {
        let _ = tcp.read(&mut [0; 4096]).await;
        let _ = tcp.write_all(b"AMQP\x00\x00\x09\x01").await;
    })
    .await;
    let silent = Receiver::hanging().await;
    let closed = closed_port().await;
    let start = "MessagingCommunication ";
    for (scheme, port, expected) in [
        ("amqp", closed, REFUSED.to_owned()),
        ("amqps", closed, REFUSED.to_owned()),
        (
            "amqp",
            secure.address.port(),
            format!("{start}127.0.0.1:{{port}} speaks TLS; the address must begin with amqps://"),
        ),
        (
            "amqps",
            web.address.port(),
            format!(
                "{CHANNEL}answers in plain text and not with TLS; the address must begin with amqp://, or the port is \
                 wrong"
            ),
        ),
        (
            "amqp",
            web.address.port(),
            format!("{start}127.0.0.1:{{port}} speaks HTTP and not AMQP 1.0; the port may be wrong"),
        ),
        (
            "amqp",
            closing.address.port(),
            format!(
                "{start}127.0.0.1:{{port}} closed the connection without an answer; if that port speaks TLS, the \
                 address must begin with amqps://"
            ),
        ),
        (
            "amqp",
            older.address.port(),
            format!(
                "{start}The broker at 127.0.0.1:{{port}} speaks another version of AMQP than 1.0, or wants another \
                 SASL mechanism"
            ),
        ),
        (
            "amqp",
            silent.address.port(),
            "Timeout The operation has timed out: 127.0.0.1:{port} accepted the connection, but did not answer in \
             AMQP 1.0 within 1500 ms; it may speak something else"
                .to_owned(),
        ),
    ] {
        let message = over_amqp(format!("{scheme}://127.0.0.1:{port}")).await;
        assert_eq!(message, expected.replace("{port}", &port.to_string()), "{scheme}");
    }
    let port = secure.address.port();
    let message = over_amqp(format!("amqps://localhost:{port}")).await;
    let expected = format!("{TRUST}a certificate from an authority").replace("{port}", &port.to_string());
    assert!(message.starts_with(&expected), "{message}");
    let message = over_amqp("amqps://{namespace}.invalid".to_owned()).await;
    let expected = "NameResolutionFailure The remote name could not be resolved: 'shop.invalid': ";
    assert!(message.starts_with(expected) && message.contains("; check "), "{message}");
}

#[tokio::test]
async fn a_namespace_over_rest_that_can_not_be_reached_is_told_as_well() {
    let port = closed_port().await;
    let endpoint = format!("http://127.0.0.1:{port}");
    let actions = build(Settings { service_bus_rest_endpoint: endpoint, ..settings() }).unwrap();
    let outcome = note("orders").transport(None).fire(&actions).await;
    let start = "ServiceBusQueue Action - Failed: queue 'orders' namespace 'shop' ";
    assert_eq!(outcome.message, format!("{start}{}", REFUSED.replace("{port}", &port.to_string())));
}
