//! TLS configurations: the trusted authorities and client certificates.

use std::sync::Arc;

use punctual_model::Secret;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore};

/// The authorities that must have issued a target's certificate.
pub(crate) struct Trust {
    provider: Arc<CryptoProvider>,
    roots: Arc<RootCertStore>,
}

/// A client certificate with its key.
pub(crate) struct Identity {
    /// The certificate and its chain, DER.
    pub(crate) chain: Vec<Vec<u8>>,
    /// PKCS#8, DER.
    pub(crate) key: Vec<u8>,
}

impl Identity {
    /// Opens a PKCS#12 file that is given in base64.
    pub(crate) fn open(file: &Secret, password: &Secret) -> Result<Self, String> {
        let opened = punctual_pfx::decode(file.expose())
            .and_then(|file| punctual_pfx::open(&file, password.expose()))
            .map_err(|error| format!("The client certificate {error}"))?;
        Ok(Self { chain: opened.chain_der, key: opened.key_der })
    }
}

impl Trust {
    /// Loads the system's authorities (or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name) and `more` in PEM.
    pub(crate) fn load(more: &[u8]) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let system = rustls_native_certs::load_native_certs();
        for error in &system.errors {
            tracing::warn!(%error, "could not read all of the system's certificate authorities");
        }
        // System stores may contain old certificates that can't be parsed. They are skipped.
        roots.add_parsable_certificates(system.certs);
        for certificate in CertificateDer::pem_slice_iter(more) {
            let certificate =
                certificate.map_err(|error| format!("not a PEM file of certificates: {error}"))?;
            roots.add(certificate).map_err(|error| format!("not a certificate of an authority: {error}"))?;
        }
        if roots.is_empty() {
            tracing::warn!("no certificate authorities found: https targets will not be trusted");
        }
        Ok(Self { provider: Arc::new(aws_lc_rs::default_provider()), roots: Arc::new(roots) })
    }

    /// Returns the configuration for connections without ALPN.
    pub(crate) fn plain_config(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        let mut config = self.config(None)?;
        Arc::make_mut(&mut config).alpn_protocols.clear();
        Ok(config)
    }

    /// Returns the configuration for HTTP connections, with a client certificate or without.
    pub(crate) fn config(&self, identity: Option<Identity>) -> Result<Arc<ClientConfig>, rustls::Error> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(Arc::clone(&self.roots));
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain = identity.chain.into_iter().map(CertificateDer::from).collect();
                let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key));
                builder.with_client_auth_cert(chain, key)?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
