//! TLS for callers: from files, or self-signed for development.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use punctual_store_sqlite::layout;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use x509_parser::extensions::GeneralName;

use crate::config::{Config, TlsMode};
use crate::exit::WrongUsage;
use crate::private;

/// What TLS is served with.
pub(super) struct Tls {
    pub(super) acceptor: TlsAcceptor,
    /// The file that a client has to trust.
    pub(super) certificate_file: PathBuf,
    /// The names of the certificate, in its own order.
    pub(super) names: Vec<Name>,
    /// When the certificate expires, if it can be told.
    pub(super) expires_at: Option<Timestamp>,
    /// The certificate in PEM, if it is self-signed.
    pub(super) self_signed: Option<String>,
    /// A new certificate that is to be saved in the data directory.
    made: Option<Made>,
}

/// A name of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Dns(String),
    Ip(IpAddr),
}

/// A certificate that is not in the data directory yet.
struct Made {
    key_file: PathBuf,
    certificate_pem: String,
    key_pem: String,
}

impl Tls {
    /// Reads what TLS needs, or makes it. Writes nothing yet. None without TLS.
    pub(super) fn prepare(config: &Config) -> anyhow::Result<Option<Self>> {
        match config.tls.mode {
            TlsMode::Off => Ok(None),
            TlsMode::SelfSigned => Self::self_signed(&config.data.dir, config.server.listen.ip()).map(Some),
            TlsMode::Files => {
                let (cert, key) = (&config.tls.cert, &config.tls.key);
                for (path, name) in [(cert, "tls.cert"), (key, "tls.key")] {
                    if path.as_os_str().is_empty() {
                        return Err(WrongUsage(format!("TLS from files needs {name} as well")).into());
                    }
                }
                let chain = CertificateDer::pem_file_iter(cert)
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(|error| unreadable("certificate", cert, &error))?;
                let private = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| unreadable("private key", key, &error))?;
                Ok(Some(Self::new(chain, private, cert.clone())?))
            }
        }
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        certificate_file: PathBuf,
    ) -> anyhow::Result<Self> {
        let names = chain.first().map(|certificate| names(certificate)).unwrap_or_default();
        let expires_at = chain.first().and_then(|certificate| expires_at(certificate));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("could not set up TLS")?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| WrongUsage(format!("the certificate and the private key don't fit: {error}")))?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(server));
        Ok(Self { acceptor, certificate_file, names, expires_at, self_signed: None, made: None })
    }

    /// The certificate in the data directory, or a new one for this machine and the address that it listens on.
    fn self_signed(dir: &Path, listen: IpAddr) -> anyhow::Result<Self> {
        let (certificate_file, key_file) = (dir.join(layout::TLS_CERT), dir.join(layout::TLS_KEY));
        let (certificate_pem, key_pem, made) = if certificate_file.exists() && key_file.exists() {
            let read = |what: &str, path: &Path| {
                fs::read_to_string(path).map_err(|error| unreadable(what, path, &error))
            };
            (read("certificate", &certificate_file)?, read("private key", &key_file)?, None)
        } else {
            let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
            if !listen.is_unspecified() && !names.contains(&listen.to_string()) {
                names.push(listen.to_string());
            }
            let made = rcgen::generate_simple_self_signed(names).context("could not make a certificate")?;
            let (certificate_pem, key_pem) = (made.cert.pem(), made.signing_key.serialize_pem());
            let made = Made { key_file: key_file.clone(), certificate_pem, key_pem };
            (made.certificate_pem.clone(), made.key_pem.clone(), Some(made))
        };
        let chain = CertificateDer::pem_slice_iter(certificate_pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unreadable("certificate", &certificate_file, &error))?;
        let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
            .map_err(|error| unreadable("private key", &key_file, &error))?;
        let tls = Self::new(chain, key, certificate_file)?;
        Ok(Self { self_signed: Some(certificate_pem), made, ..tls })
    }

    /// Saves a new certificate, so that clients have to be told only once to trust it.
    pub(super) fn save(&mut self) -> anyhow::Result<()> {
        let Some(made) = self.made.take() else { return Ok(()) };
        let what = || format!("could not keep the certificate {}", self.certificate_file.display());
        // The key is written first: where there is a certificate, there is its key as well, even after a crash.
        let new = self.certificate_file.with_file_name(layout::NEW_TLS_CERT);
        private::remove(&self.certificate_file)
            .and_then(|()| private::make(&made.key_file, made.key_pem.as_bytes()))
            .and_then(|()| private::make(&new, made.certificate_pem.as_bytes()))
            .and_then(|()| private::rename(&new, &self.certificate_file))
            .with_context(what)
    }
}

fn unreadable(what: &str, path: &Path, error: &impl std::fmt::Display) -> WrongUsage {
    WrongUsage(format!("could not read the {what} {}: {error}", path.display()))
}

fn expires_at(certificate: &CertificateDer<'_>) -> Option<Timestamp> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

/// The names of a certificate; none if it has none in a form that clients still accept.
fn names(certificate: &CertificateDer<'_>) -> Vec<Name> {
    let Ok((_, certificate)) = x509_parser::parse_x509_certificate(certificate) else { return Vec::new() };
    let Ok(Some(alternatives)) = certificate.subject_alternative_name() else { return Vec::new() };
    let name = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some(Name::Dns((*name).to_owned())),
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)).map(Name::Ip).ok()
        }
        _ => None,
    };
    alternatives.value.general_names.iter().filter_map(name).collect()
}
