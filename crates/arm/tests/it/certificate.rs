//! Client certificates: the file is opened when it is written, and only then.

use punctual_arm::ApiVersion;
use punctual_arm::job::{self, Opening, Unread};
use punctual_model::JobSpec;
use serde_json::{Value, json};

use crate::world::{context, http, job_key, patch, put_properties, shown};

/// Made by `files/make`, as all there.
const PFX: &str = include_str!("../files/client.pfx.base64");
const THUMBPRINT: &str = include_str!("../files/client.thumbprint");
const EXPIRY: &str = include_str!("../files/client.expiry");
const PASSWORD: &str = "not a secret";

fn with(pfx: &str, password: &str) -> Value {
    let mut action = http("https://x/");
    action["request"]["authentication"] =
        json!({"type": "clientcertificate", "pfx": pfx, "password": password});
    json!({ "action": action })
}

fn authentication(spec: &JobSpec) -> Value {
    shown(spec)["action"]["request"]["authentication"].clone()
}

#[test]
fn the_facts_of_the_certificate_are_shown_instead_of_the_file() {
    let spec = put_properties(with(PFX, PASSWORD)).unwrap();
    assert_eq!(
        authentication(&spec),
        json!({
            "certificateThumbprint": THUMBPRINT.trim(),
            "certificateExpiration": EXPIRY.trim(),
            "certificateExpirationDate": EXPIRY.trim(),
            "certificateSubjectName": "CN=Punctual Test, O=Punctual, S=Some-State, C=US",
            "type": "ClientCertificate",
        })
    );
}

#[test]
fn what_is_wrong_with_the_file_is_said_at_once() {
    let check = |pfx: &str, password: &str, expected: &str| {
        let message = put_properties(with(pfx, password)).unwrap_err().message;
        assert_eq!(message, format!("properties.action.request.authentication.pfx: {expected}"));
    };
    check(PFX, "wrong", "can't be opened with this password");
    check("AAAA", PASSWORD, "is not a PKCS#12 file");
    check("%%%", PASSWORD, "is not base64");
}

#[test]
fn a_patch_keeps_the_certificate() {
    let stored = put_properties(with(PFX, PASSWORD)).unwrap();
    let patched = patch(&stored, json!({"state": "disabled"})).unwrap();
    assert_eq!(patched.action, stored.action);
    let error = patch(&stored, json!({"action": {"request": {"authentication": {"password": "other"}}}}))
        .unwrap_err();
    assert!(error.message.contains("can't be opened"), "{error}");
}

#[test]
fn the_same_file_is_not_opened_twice() {
    let mut stored = put_properties(with(PFX, PASSWORD)).unwrap();
    let punctual_model::ActionKind::Http(request) = &mut stored.action.kind else { panic!("it is http") };
    let Some(punctual_model::Authentication::ClientCertificate { certificate, .. }) =
        &mut request.authentication
    else {
        panic!("it is a certificate")
    };
    // What is stored comes back, so nobody has looked into the file again.
    certificate.subject = "CN=As stored".into();
    let body = json!({"properties": with(PFX, PASSWORD)}).to_string();
    let again =
        job::read_put(body.as_bytes(), &job_key(), Some(&stored), &context(ApiVersion::V2016_03)).unwrap();
    assert_eq!(authentication(&again)["certificateSubjectName"], "CN=As stored");
}

#[test]
fn no_certificate_is_opened_where_that_is_not_allowed() {
    let stored = put_properties(with(PFX, PASSWORD)).unwrap();
    let context = context(ApiVersion::V2016_03);
    let put = |properties: &Value, existing| {
        let body = json!({ "properties": properties }).to_string();
        job::try_read_put(body.as_bytes(), &job_key(), existing, &context, Opening::Denied)
    };
    assert!(matches!(put(&with(PFX, PASSWORD), None), Err(Unread::MustOpen)));
    assert!(matches!(put(&with(PFX, "other"), Some(&stored)), Err(Unread::MustOpen)));
    assert!(put(&with(PFX, PASSWORD), Some(&stored)).is_ok(), "it was opened before");
    // The body does not show that a file must be opened: the stored one fits the new password or not.
    let password = br#"{"properties": {"action": {"request": {"authentication": {"password": "x"}}}}}"#;
    let patched = job::try_read_patch(password, &job_key(), &stored, &context, Opening::Denied);
    assert!(matches!(patched, Err(Unread::MustOpen)));
    let state = br#"{"properties": {"state": "disabled"}}"#;
    assert!(job::try_read_patch(state, &job_key(), &stored, &context, Opening::Denied).is_ok());
}
