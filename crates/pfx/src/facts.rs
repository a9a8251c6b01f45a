//! The public facts of a certificate.

use std::fmt::Write;

use sha1::{Digest, Sha1};

use crate::subject;

/// The public facts of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// SHA-1 of the certificate, upper-case hex.
    pub thumbprint: String,
    /// The subject in the form of .NET, most specific part first: `CN=x, O=y, S=z, C=US`.
    pub subject: String,
    /// The end of its validity, in seconds since 1970.
    pub expires_at_unix: i64,
}

impl Facts {
    /// The facts of a certificate in DER; `None` if it can't be read.
    pub fn of(certificate_der: &[u8]) -> Option<Self> {
        let (_, certificate) = x509_parser::parse_x509_certificate(certificate_der).ok()?;
        let mut thumbprint = String::with_capacity(40);
        for byte in Sha1::digest(certificate_der) {
            write!(thumbprint, "{byte:02X}").expect("writing to a string does not fail");
        }
        Some(Self {
            thumbprint,
            subject: subject::render(certificate.subject()),
            expires_at_unix: certificate.validity().not_after.timestamp(),
        })
    }
}
