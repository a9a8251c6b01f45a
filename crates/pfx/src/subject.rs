//! A distinguished name as .NET writes it.
//!
//! The most specific part comes first, parts are separated by a comma and a blank, several attributes
//! of one part by a plus sign; a value with special characters is put in quotes, its own quotes doubled.
//! State is `S`, the mail address `E`; an attribute without a short name is `OID.1.2.3`.

use x509_parser::asn1_rs::{Any, Tag};
use x509_parser::x509::X509Name;

pub(crate) fn render(name: &X509Name<'_>) -> String {
    let mut parts: Vec<String> = name
        .iter_rdn()
        .map(|part| {
            let attributes: Vec<_> = part
                .iter()
                .map(|attribute| {
                    let oid = attribute.attr_type().to_id_string();
                    let value = quoted(&text(attribute.attr_value()));
                    match short_name(&oid) {
                        Some(short) => format!("{short}={value}"),
                        None => format!("OID.{oid}={value}"),
                    }
                })
                .collect();
            attributes.join(" + ")
        })
        .collect();
    parts.reverse();
    parts.join(", ")
}

fn short_name(oid: &str) -> Option<&'static str> {
    Some(match oid {
        "2.5.4.3" => "CN",
        "2.5.4.4" => "SN",
        "2.5.4.5" => "SERIALNUMBER",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "S",
        "2.5.4.9" => "STREET",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "2.5.4.12" => "T",
        "2.5.4.13" => "Description",
        "2.5.4.17" => "PostalCode",
        "2.5.4.20" => "Phone",
        "2.5.4.42" => "G",
        "2.5.4.43" => "I",
        "2.5.4.46" => "dnQualifier",
        "0.9.2342.19200300.100.1.25" => "DC",
        "1.2.840.113549.1.9.1" => "E",
        _ => return None,
    })
}

/// The text of an attribute; what is no text is shown in hex with a leading `#`.
fn text(value: &Any<'_>) -> String {
    let bytes = value.data;
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::NumericString | Tag::Ia5String | Tag::VisibleString => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        // T.61 is in practice Latin-1.
        Tag::T61String => bytes.iter().map(|byte| char::from(*byte)).collect(),
        Tag::BmpString => {
            let units: Vec<u16> =
                bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        _ => bytes.iter().fold(String::from("#"), |text, byte| text + &format!("{byte:02X}")),
    }
}

fn quoted(value: &str) -> String {
    let special = value.is_empty()
        || value.starts_with(' ')
        || value.ends_with(' ')
        || value.contains([',', '+', '=', '"', '\n', '<', '>', '#', ';']);
    if special { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_quoted_as_in_dotnet() {
        let check = |value, expected: &str| assert_eq!(quoted(value), expected);
        check("Plain Name", "Plain Name");
        check("Acme, Inc.", "\"Acme, Inc.\"");
        check("say \"so\"", "\"say \"\"so\"\"\"");
        check(" x", "\" x\"");
        check("", "\"\"");
    }
}
