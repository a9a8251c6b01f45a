//! Requests for a token: a form, and what the header `Authorization` says in front of it, in a line of its own.

use punctual_arm::sign_in::{Authority, ClientCredentials, canonical_tail, read_token_request};
use punctual_model::Secret;

pub(crate) fn run(bytes: &[u8]) {
    let split = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (header, form) = bytes.split_at(split);
    let header = std::str::from_utf8(header).ok().filter(|header| !header.is_empty());
    let form = form.strip_prefix(b"\n").unwrap_or(form);
    match read_token_request(form, header) {
        Ok(asked) => {
            // What a log would show does not depend on the secret.
            let other = ClientCredentials { client_secret: Secret::new("other"), ..asked.clone() };
            assert_eq!(format!("{asked:?}"), format!("{other:?}"));
        }
        Err(error) => {
            assert!([400, 401].contains(&error.status), "{error:?}");
            let text = error.to_json().to_string();
            assert!(text.len() < 400, "{text}");
        }
    }
    if let Ok(path) = std::str::from_utf8(form) {
        if let Some(tail) = canonical_tail(path) {
            assert!(!tail.is_empty());
        }
        let issuer = Authority::of_path(path).issuer("http://localhost", "t");
        assert!(issuer.starts_with("http://localhost"), "{issuer}");
    }
}
