//! Explanations of services, made safe to store: one line of bounded length, without secrets.

use crate::redact::Redactor;

/// How many characters of an explanation are kept.
const CHARACTERS_MAX: usize = 300;

/// What precedes the value of a signature in a token or a URI, in lower case.
const SIGNATURES: [&str; 2] = ["sig=", "sig%3d"];

/// Returns the first line of an explanation without secrets and signatures, which the service may have repeated. The text
/// may have been cut off.
pub(crate) fn sanitized(text: &str, redactor: &Redactor) -> String {
    let redacted = redactor.redact_cut(text.trim().into());
    let clean = without_signatures(redacted.lines().next().unwrap_or_default());
    clean.chars().filter(|letter| !letter.is_control()).take(CHARACTERS_MAX).collect()
}

/// Returns the text of an XML element without attributes, such as those in error answers.
pub(crate) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

/// Replaces the value of each signature by `***`, whether it is ours or not.
fn without_signatures(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut kept, mut at) = (String::with_capacity(text.len()), 0);
    let found = |at: usize| {
        let ends =
            SIGNATURES.iter().filter_map(|name| lower[at..].find(name).map(|start| at + start + name.len()));
        ends.min()
    };
    while let Some(begin) = found(at) {
        let rest = &text[begin..];
        let length =
            rest.find(|letter: char| matches!(letter, '&' | '\'' | '"' | '<') || letter.is_whitespace());
        kept.push_str(&text[at..begin]);
        kept.push_str("***");
        at = begin + length.unwrap_or(rest.len());
    }
    kept.push_str(&text[at..]);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_a_line_without_secrets() {
        let mut redactor = Redactor::default();
        redactor.add("the key");
        let check = |text: &str, expected: &str| assert_eq!(sanitized(text, &redactor), expected, "{text}");
        check(" No such queue.\nTime: now", "No such queue.");
        check("a\u{7}b", "ab");
        check("the key is wrong", "*** is wrong");
        check(
            "Bad SharedAccessSignature sr=x&sig=ab%2Bc%3D&se=1&skn=Root.",
            "Bad SharedAccessSignature sr=x&sig=***&se=1&skn=Root.",
        );
        check("GET /q?SIG=abc HTTP, sig%3Dabc", "GET /q?SIG=*** HTTP, sig%3D***");
        check("'?sv=1&sig=a' ş sig=", "'?sv=1&sig=***' ş sig=***");
        assert_eq!(sanitized(&"ş".repeat(1_000), &redactor).chars().count(), 300);
        assert_eq!(sanitized("", &redactor), "");
    }

    #[test]
    fn an_element_is_found_by_its_name() {
        let xml = "<Error><Code>404</Code><Detail>gone</Detail></Error>";
        assert_eq!((element(xml, "Code"), element(xml, "Detail")), (Some("404"), Some("gone")));
        assert_eq!((element(xml, "Message"), element("<Code>", "Code")), (None, None));
    }
}
