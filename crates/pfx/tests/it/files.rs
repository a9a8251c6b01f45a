//! Makes keys, certificates and PKCS#12 files with openssl.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// A key with its certificate, and the directory they are in.
pub(crate) struct Files {
    directory: TempDir,
}

impl Files {
    /// A key of a kind (`rsa:2048`, or `ec`) and a self-signed certificate with a subject.
    pub(crate) fn new(kind: &str, subject: &str) -> Self {
        let files = Self { directory: tempfile::tempdir().unwrap() };
        let mut request: Vec<&str> = vec!["req", "-x509", "-nodes", "-days", "3650", "-utf8"];
        match kind {
            "ec" => request.extend(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]),
            kind => request.extend(["-newkey", kind]),
        }
        request.extend(["-keyout", "key.pem", "-out", "cert.pem", "-subj", subject]);
        files.openssl(&request);
        files
    }

    /// A PKCS#12 file of them, with further arguments of `openssl pkcs12 -export`.
    pub(crate) fn export(&self, password: &str, more: &[&str]) -> Vec<u8> {
        let pass = format!("pass:{password}");
        let mut arguments = vec!["pkcs12", "-export", "-in", "cert.pem", "-out", "it.pfx", "-passout", &pass];
        if !more.contains(&"-nokeys") {
            arguments.extend(["-inkey", "key.pem"]);
        }
        arguments.extend(more);
        self.openssl(&arguments);
        std::fs::read(self.path("it.pfx")).unwrap()
    }

    /// What openssl says of the certificate: `-fingerprint`, `-enddate`.
    pub(crate) fn x509(&self, question: &str) -> String {
        let arguments = ["x509", "-in", "cert.pem", "-noout", question, "-sha1", "-dateopt", "iso_8601"];
        let text = self.openssl(&arguments);
        text.split_once('=').unwrap().1.trim().to_owned()
    }

    pub(crate) fn openssl(&self, arguments: &[&str]) -> String {
        let run = Command::new("openssl").args(arguments).current_dir(self.directory.path()).output();
        let run = run.expect("the openssl command line is needed to make files for this test");
        assert!(run.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}
