//! What is read from a file, and what is refused.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_pfx::{FILE_BYTES_MAX, OpenError, decode, open};

use crate::files::Files;

const SUBJECT: &str = "/C=US/ST=Some-State/O=Terraform Tests/OU=Azure/CN=Terraform App Gateway";

#[test]
fn files_of_every_common_kind_are_opened() {
    let rsa = Files::new("rsa:2048", SUBJECT);
    let check = |files: &Files, password: &str, more: &[&str]| {
        let pfx =
            open(&files.export(password, more), password).unwrap_or_else(|error| panic!("{more:?}: {error}"));
        assert_eq!(pfx.facts.thumbprint, files.x509("-fingerprint").replace(':', ""), "{more:?}");
        assert_eq!(pfx.chain_der.len(), 1, "{more:?}");
        // PKCS#8: a sequence whose first element is the version.
        assert_eq!(pfx.key_der[0], 0x30, "{more:?}");
    };
    check(&rsa, "secret", &[]);
    check(&rsa, "", &[]);
    check(&rsa, "pässwörd", &[]);
    check(&rsa, "secret", &["-nomac"]);
    check(&rsa, "secret", &["-legacy"]);
    check(&rsa, "secret", &["-legacy", "-descert"]);
    check(&rsa, "secret", &["-CSP", "Microsoft Enhanced RSA and AES Cryptographic Provider"]);
    check(&rsa, "secret", &["-macalg", "sha1"]);
    check(&rsa, "secret", &["-iter", "600000"]);
    check(&Files::new("ec", SUBJECT), "secret", &[]);
}

#[test]
fn facts_are_those_that_dotnet_shows() {
    let files = Files::new("ec", SUBJECT);
    let facts = open(&files.export("x", &[]), "x").unwrap().facts;
    assert_eq!(facts.subject, "CN=Terraform App Gateway, OU=Azure, O=Terraform Tests, S=Some-State, C=US");
    assert_eq!(facts.thumbprint.len(), 40);
    let end = files.x509("-enddate");
    let date = std::process::Command::new("date").args(["-u", "-d", &end, "+%s"]).output().unwrap();
    assert_eq!(facts.expires_at_unix.to_string(), String::from_utf8(date.stdout).unwrap().trim());
}

#[test]
fn subjects_with_special_characters_are_quoted() {
    let files = Files::new("ec", "/O=Acme, Inc./CN=Zoë/emailAddress=a@b.example");
    let facts = open(&files.export("x", &[]), "x").unwrap().facts;
    assert_eq!(facts.subject, "E=a@b.example, CN=Zoë, O=\"Acme, Inc.\"");
}

#[test]
fn a_chain_comes_leaf_first() {
    let files = Files::new("rsa:2048", "/CN=Root");
    files.openssl(&[
        "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "leaf.key", "-out", "leaf.csr", "-subj",
        "/CN=Leaf",
    ]);
    files.openssl(&[
        "x509",
        "-req",
        "-in",
        "leaf.csr",
        "-CA",
        "cert.pem",
        "-CAkey",
        "key.pem",
        "-CAcreateserial",
        "-out",
        "leaf.pem",
    ]);
    files.openssl(&[
        "pkcs12",
        "-export",
        "-in",
        "leaf.pem",
        "-inkey",
        "leaf.key",
        "-certfile",
        "cert.pem",
        "-out",
        "chain.pfx",
        "-passout",
        "pass:x",
    ]);
    let pfx = open(&std::fs::read(files.path("chain.pfx")).unwrap(), "x").unwrap();
    assert_eq!((pfx.facts.subject.as_str(), pfx.chain_der.len()), ("CN=Leaf", 2));
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let files = Files::new("ec", SUBJECT);
    let good = files.export("secret", &[]);
    let check = |file: &[u8], password, expected| assert_eq!(open(file, password).err(), Some(expected));
    check(&good, "Secret", OpenError::WrongPassword);
    check(&good, "", OpenError::WrongPassword);
    check(&files.export("secret", &["-nomac"]), "wrong", OpenError::WrongPassword);
    check(&files.export("secret", &["-nokeys"]), "secret", OpenError::NoPrivateKey);
    check(&good[..good.len() - 1], "secret", OpenError::NotPkcs12);
    check(b"", "secret", OpenError::NotPkcs12);
    check(b"-----BEGIN CERTIFICATE-----", "secret", OpenError::NotPkcs12);
    check(&vec![0; FILE_BYTES_MAX + 1], "secret", OpenError::TooLarge);
    check(&files.export("secret", &["-iter", "1000000"]), "secret", OpenError::TooCostly);
}

#[test]
fn damaged_files_are_refused_and_never_panic() {
    let good = Files::new("ec", SUBJECT).export("x", &["-nomac", "-keypbe", "NONE", "-certpbe", "NONE"]);
    for index in 0..good.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut file = good.clone();
            file[index] ^= flip;
            let _ = open(&file, "x");
        }
    }
}

#[test]
fn base64_may_have_blanks_and_line_breaks() {
    let file: Vec<u8> = (0..200).collect();
    let text = STANDARD.encode(&file);
    let broken: String =
        text.chars().flat_map(|letter| [letter, if letter < 'k' { ' ' } else { '\n' }]).collect();
    assert_eq!(decode(&broken), Ok(file.clone()));
    assert_eq!(decode(&format!("{text}\r\n")), Ok(file));
    assert_eq!(decode("not base64!"), Err(OpenError::NotBase64));
    assert_eq!(decode(" "), Err(OpenError::NotBase64));
    assert_eq!(decode(&"A".repeat(FILE_BYTES_MAX * 3)), Err(OpenError::TooLarge));
}

#[test]
fn the_private_key_is_not_printed() {
    let files = Files::new("ec", SUBJECT);
    let pfx = open(&files.export("x", &[]), "x").unwrap();
    assert!(format!("{pfx:?}").contains("key_der: \"***\""));
}
