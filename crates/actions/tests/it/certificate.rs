//! Certificates made for a test: an authority, servers, clients, PKCS#12 files.

use std::process::Command;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use punctual_actions::{Actions, Settings};
use punctual_model::{Authentication, Certificate, Secret};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use tokio_rustls::TlsAcceptor;

use crate::world::{build, settings};

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
    pem: String,
}

/// A certificate with its key.
pub(crate) struct Leaf {
    pub(crate) der: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

/// What a server asks of its clients.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Clients {
    /// No certificate.
    Anonymous,
    /// A certificate, if they have one.
    Known,
    /// A certificate.
    Certified,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "an authority");
        params.subject_alt_names = vec![rcgen::SanType::DnsName("localhost".try_into().unwrap())];
        let certificate = params.self_signed(&key).unwrap();
        let (der, pem) = (certificate.der().clone(), certificate.pem());
        Self { issuer: Issuer::new(params, key), der, pem }
    }

    pub(crate) fn issue(&self, name: &str) -> Leaf {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Leaf { der: certificate.der().clone(), pem: certificate.pem(), key }
    }

    /// A server with a certificate for `localhost` that is wrong in some way.
    pub(crate) fn server_with(&self, spoil: impl FnOnce(&mut CertificateParams)) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        spoil(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        acceptor(vec![certificate.der().clone()], &key)
    }

    /// A server that shows the authority's own certificate.
    pub(crate) fn as_server(&self) -> TlsAcceptor {
        acceptor(vec![self.der.clone()], self.issuer.key())
    }

    /// A server named `localhost` that speaks the given protocols, most wanted first.
    pub(crate) fn server(&self, clients: Clients, protocols: &[&str]) -> TlsAcceptor {
        self.server_named("localhost", clients, protocols)
    }

    pub(crate) fn server_named(&self, name: &str, clients: Clients, protocols: &[&str]) -> TlsAcceptor {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let builder = match clients {
            Clients::Anonymous => builder.with_no_client_auth(),
            Clients::Known => {
                builder.with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
            }
            Clients::Certified => builder.with_client_cert_verifier(verifier.build().unwrap()),
        };
        let leaf = self.issue(name);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf.key.serialize_der()));
        let mut config = builder.with_single_cert(vec![leaf.der], key).unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    /// Actions that trust this authority.
    pub(crate) fn trusted(&self) -> Actions {
        build(self.trusting(settings())).unwrap()
    }

    pub(crate) fn trusting(&self, settings: Settings) -> Settings {
        Settings { authorities_pem: self.pem.clone().into_bytes(), ..settings }
    }
}

/// A server that shows a chain to anybody.
fn acceptor(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> TlsAcceptor {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()))
}

impl Leaf {
    /// A PKCS#12 file by OpenSSL, in base64.
    pub(crate) fn pfx(&self, password: &str, flags: &[&str]) -> Secret {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("certificate.pem"), &self.pem).unwrap();
        std::fs::write(path("key.pem"), self.key.serialize_pem()).unwrap();
        let output = Command::new("openssl")
            .args(["pkcs12", "-export", "-in", "certificate.pem", "-inkey", "key.pem", "-out", "file.pfx"])
            .args(["-passout", &format!("pass:{password}")])
            .args(flags)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Secret::new(STANDARD.encode(std::fs::read(path("file.pfx")).unwrap()))
    }

    pub(crate) fn authentication(&self, password: &str, flags: &[&str]) -> Authentication {
        client_certificate(self.pfx(password, flags), password)
    }
}

pub(crate) fn client_certificate(pfx: Secret, password: &str) -> Authentication {
    let certificate =
        Certificate { thumbprint: "00".into(), subject: "CN=x".into(), expires_at: Timestamp::MAX };
    Authentication::ClientCertificate { pfx, password: Secret::new(password), certificate }
}
