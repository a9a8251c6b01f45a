//! Redirects (CONTRACT 17.1 #6).

use punctual_actions::{Egress, Settings};
use punctual_model::{Authentication, Secret};

use crate::receiver::{Receiver, ok, redirect, text};
use crate::world::{Http, actions, assert_failed, assert_succeeded, build, get, post, settings};

fn with_credentials(request: Http) -> Http {
    request
        .header("Cookie", "session=1")
        .header("X-Other", "kept")
        .authentication(Authentication::Basic { username: "user".into(), password: Secret::new("password") })
}

#[tokio::test]
async fn ten_redirects_are_followed_and_no_more() {
    let receiver = Receiver::start(|seen| {
        let left: u32 = seen.target[1..].parse().unwrap();
        if left == 0 { text(200, "done") } else { redirect(302, &format!("/{}", left - 1)) }
    })
    .await;
    let actions = actions();
    let outcome = get(receiver.url("/10")).fire(&actions).await;
    assert_succeeded(&outcome);
    assert!(outcome.message.ends_with("Body: done"));
    assert_eq!(receiver.seen().len(), 11);
    assert_failed(
        &get(receiver.url("/11")).fire(&actions).await,
        "Http Action - Request to host '127.0.0.1' failed: ProtocolError \
         Too many automatic redirections were attempted",
    );
    assert_eq!(receiver.seen().len(), 22);
}

#[tokio::test]
async fn a_post_becomes_a_get_or_stays_as_the_status_says() {
    let receiver = Receiver::start(|seen| match seen.target[1..].parse() {
        Ok(status) => redirect(status, "/end"),
        Err(_) => ok(),
    })
    .await;
    let actions = actions();
    for (status, method, body) in
        [(301, "GET", ""), (302, "GET", ""), (303, "GET", ""), (307, "POST", "body"), (308, "POST", "body")]
    {
        assert_succeeded(&post(receiver.url(&format!("/{status}")), "body").fire(&actions).await);
        let last = receiver.seen().pop().unwrap();
        assert_eq!((last.method.as_str(), last.body.as_str()), (method, body), "{status}");
        assert_eq!(last.header("content-type").is_some(), !body.is_empty(), "{status}");
        assert!(last.header("x-ms-execution-tag").is_some(), "{status}");
    }
}

#[tokio::test]
async fn credentials_stay_on_the_way_within_the_host() {
    let receiver =
        Receiver::start(|seen| if seen.target == "/" { redirect(307, "/next") } else { ok() }).await;
    assert_succeeded(&with_credentials(get(receiver.url("/"))).fire(&actions()).await);
    for seen in receiver.seen() {
        assert_eq!(seen.header("authorization"), Some("Basic dXNlcjpwYXNzd29yZA=="));
        assert_eq!(seen.header("cookie"), Some("session=1"));
    }
    assert_eq!(receiver.seen().len(), 2);
}

#[tokio::test]
async fn credentials_do_not_go_to_another_port_or_host() {
    let other = Receiver::start(|_| ok()).await;
    let location = other.url("/stolen");
    let receiver = Receiver::start(move |_| redirect(307, &location)).await;
    let actions = actions();
    assert_succeeded(&with_credentials(get(receiver.url("/"))).fire(&actions).await);
    let named = get(receiver.url("/")).header("Authorization", "Bearer x").header("Host", "mine.example");
    assert_succeeded(&named.fire(&actions).await);
    let with_user = receiver.url("/").replace("http://", "http://user:password@");
    assert_succeeded(&get(with_user).fire(&actions).await);
    for seen in other.seen() {
        assert_eq!((seen.header("authorization"), seen.header("cookie")), (None, None));
        assert_eq!(seen.header("host"), Some(other.address.to_string().as_str()));
    }
    assert_eq!(other.seen()[0].header("x-other"), Some("kept"));
    assert_eq!(other.seen().len(), 3);
}

#[tokio::test]
async fn no_header_that_holds_a_credential_goes_to_another_origin() {
    let other = Receiver::start(|_| ok()).await;
    let location = other.url("/");
    let receiver = Receiver::start(move |_| redirect(307, &location)).await;
    let request =
        get(receiver.url("/")).credential("X-Api-Key", "k3y").header("X-Other", "kept").user_info("u:p");
    assert_succeeded(&request.fire(&actions()).await);
    let first = receiver.only();
    assert_eq!((first.header("x-api-key"), first.header("authorization")), (Some("k3y"), Some("Basic dTpw")));
    let second = other.only();
    assert_eq!((second.header("x-api-key"), second.header("authorization")), (None, None));
    assert_eq!(second.header("x-other"), Some("kept"));
}

#[tokio::test]
async fn credentials_that_a_redirect_brings_along_are_ignored() {
    let other = Receiver::start(|_| ok()).await;
    let location = other.url("/").replace("http://", "http://evil:choice@");
    let receiver = Receiver::start(move |_| redirect(302, &location)).await;
    assert_succeeded(&get(receiver.url("/")).fire(&actions()).await);
    assert_eq!(other.only().header("authorization"), None);
}

#[tokio::test]
async fn every_hop_is_under_the_egress_rules() {
    let locations =
        ["http://169.254.169.254/latest", "http://[::ffff:169.254.169.254]/", "http://0xa9fea9fe/"];
    for location in locations {
        let receiver = Receiver::start(move |_| redirect(302, location)).await;
        let outcome = get(receiver.url("/")).fire(&actions()).await;
        assert!(!outcome.succeeded);
        assert!(
            outcome.message.contains(
                "failed: ConnectFailure Unable to connect to the remote server: 169.254.169.254:80 is not allowed \
                 by the egress rules (cloud metadata address)"
            ),
            "{}",
            outcome.message
        );
    }
}

#[tokio::test]
async fn a_redirect_to_a_denied_network_is_refused() {
    let egress = Egress::new(&[], &["127.0.0.2/32".parse().unwrap()]);
    let actions = build(Settings { egress, ..settings() }).unwrap();
    let receiver = Receiver::start(|_| redirect(307, "http://127.0.0.2:1/")).await;
    let outcome = get(receiver.url("/")).fire(&actions).await;
    let start = "Http Action - Request to host '127.0.0.2' failed: ConnectFailure Unable to connect to the remote \
                 server: 127.0.0.2:1 is not allowed by the egress rules (denied by actions.egress_deny)";
    assert!(!outcome.succeeded && outcome.message.starts_with(start), "{}", outcome.message);
}

#[tokio::test]
async fn a_redirect_to_another_scheme_is_refused() {
    let receiver = Receiver::start(|_| redirect(302, "file:///etc/passwd")).await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert!(!outcome.succeeded && outcome.message.contains("scheme 'file'"), "{}", outcome.message);
}

#[tokio::test]
async fn a_redirect_without_a_location_is_the_answer() {
    let receiver = Receiver::start(|_| text(302, "nowhere")).await;
    let outcome = get(receiver.url("/")).fire(&actions()).await;
    assert!(!outcome.succeeded && outcome.message.contains("'Found'"), "{}", outcome.message);
}

#[tokio::test]
async fn the_time_is_for_all_hops_together() {
    let receiver = Receiver::start(|seen| {
        if seen.target == "/" { redirect(302, "/slow") } else { crate::receiver::stalled(b"") }
    })
    .await;
    let outcome = get(receiver.url("/")).fire(&crate::world::impatient()).await;
    assert!(outcome.message.contains("failed: Timeout "), "{}", outcome.message);
}
