//! The small pages that a browser sees while somebody signs in through a provider.
//!
//! They have no script, no style and nothing from elsewhere. What others wrote stands in them as text.

use axum::body::Body;
use http::{HeaderName, StatusCode, header};
use punctual_arm::ApiError;

use crate::answer::Answer;

/// Nothing may be loaded, framed or sent.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page that goes on to a path of this server by itself. The browser has come from another site, so that it was not
/// sent the cookie of the session; going on from here it will be.
pub(super) fn going_on(path: &str) -> Answer {
    let path = escaped(path);
    let head = format!("<meta http-equiv=\"refresh\" content=\"0; url={path}\">");
    page(StatusCode::OK, &head, "Signed in", "You are signed in.", Some((&path, "Go on")))
}

/// A page that says why somebody was not signed in, with a link.
pub(super) fn refusal(status: StatusCode, why: &str, link: Option<(&str, &str)>) -> Answer {
    let link = link.map(|(target, label)| (escaped(target), label));
    let link = link.as_ref().map(|(target, label)| (target.as_str(), *label));
    page(status, "", "Not signed in", &escaped(why), link)
}

/// The page of an error that other requests would get as JSON.
pub(super) fn error(error: &ApiError) -> Answer {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    refusal(status, &error.message, None)
}

fn page(status: StatusCode, head: &str, title: &str, text: &str, link: Option<(&str, &str)>) -> Answer {
    let link =
        link.map(|(target, label)| format!("<p><a href=\"{target}\">{label}</a></p>\n")).unwrap_or_default();
    let html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">{head}<title>{title} · Punctual</title></head>\n\
         <body>\n<h1>{title}</h1>\n<p>{text}</p>\n{link}</body>\n</html>\n"
    );
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // The address has a code in it.
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    let answer = Answer::content_with(status, "text/html; charset=utf-8", Body::from(html));
    headers.into_iter().fold(answer, |answer, (name, value)| answer.with_header(name, value))
}

/// A text as HTML shows it, in an element or in quotes.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            _ => html.push(letter),
        }
    }
    html
}
