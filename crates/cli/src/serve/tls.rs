//! TLS for callers: from files, or self-signed for development.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::{Config, TlsMode};
use crate::exit::WrongUsage;

/// The configuration of the listener; none without TLS.
pub(super) fn load(config: &Config) -> anyhow::Result<Option<RustlsConfig>> {
    let (cert, key) = match config.tls.mode {
        TlsMode::Off => return Ok(None),
        TlsMode::SelfSigned => self_signed(&config.data.dir)?,
        TlsMode::Files => {
            for (path, name) in [(&config.tls.cert, "tls.cert"), (&config.tls.key, "tls.key")] {
                if path.as_os_str().is_empty() {
                    return Err(WrongUsage(format!("TLS from files needs {name} as well")).into());
                }
            }
            (config.tls.cert.clone(), config.tls.key.clone())
        }
    };
    let chain = CertificateDer::pem_file_iter(&cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| WrongUsage(format!("could not read the certificate {}: {error}", cert.display())))?;
    let private = PrivateKeyDer::from_pem_file(&key)
        .map_err(|error| WrongUsage(format!("could not read the private key {}: {error}", key.display())))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("could not set up TLS")?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| WrongUsage(format!("the certificate and the private key don't fit: {error}")))?;
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(RustlsConfig::from_config(Arc::new(server))))
}

/// Where the self-signed certificate is.
pub(super) fn self_signed_path(dir: &Path) -> PathBuf {
    dir.join("tls-cert.pem")
}

/// Makes a certificate for this machine on first start, so that clients can be told to trust it.
fn self_signed(dir: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (cert, key) = (self_signed_path(dir), dir.join("tls-key.pem"));
    if cert.exists() && key.exists() {
        return Ok((cert, key));
    }
    let what = || format!("could not make a certificate in {}", dir.display());
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).with_context(what)?;
    fs::create_dir_all(dir).with_context(what)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&key)
        .with_context(what)?;
    file.write_all(made.signing_key.serialize_pem().as_bytes()).with_context(what)?;
    fs::write(&cert, made.cert.pem()).with_context(what)?;
    Ok((cert, key))
}
