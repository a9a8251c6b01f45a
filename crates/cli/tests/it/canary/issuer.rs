//! An issuer of OpenID Connect that answers its two documents, and a token of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use punctual_jwt::SigningKey;
use serde_json::{Value, json};

/// The environment variable with our own secret as a client of the issuer.
pub(super) const CLIENT_SECRET: &str = "PUNCTUAL_TEST_CLIENT_SECRET";

/// An issuer in the test's own process.
pub(super) struct Issuer {
    pub(super) url: String,
    key: SigningKey,
}

impl Issuer {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let key = SigningKey::new(&[7; 32]).unwrap();
        let configuration = json!({"issuer": url, "jwks_uri": format!("{url}/keys"),
            "authorization_endpoint": format!("{url}/authorize"), "token_endpoint": format!("{url}/token"),
            "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]});
        let keys = json!({"keys": [key.jwk()]});
        // Ends with the process: tests don't wait for a listener.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let request = read_request(&stream);
                let (status, body) = match request.split(' ').nth(1) {
                    Some("/keys") => ("200 OK", keys.to_string()),
                    // It refuses everybody, and repeats what it was sent.
                    Some("/token") => {
                        let refusal = json!({"error": "invalid_grant", "error_description": request});
                        ("400 Bad Request", refusal.to_string())
                    }
                    _ => ("200 OK", configuration.to_string()),
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                // Whoever asked may be gone.
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, key }
    }

    /// The settings that name it: its tokens may read everything.
    pub(super) fn settings(&self) -> String {
        format!(
            "[[auth.issuers]]\nissuer = \"{}\"\naudience = \"a\"\nclient_id = \"client\"\n\
             client_secret_env = \"{CLIENT_SECRET}\"\n[[auth.issuers.rules]]\nclaim = \"sub\"\nvalue = \"somebody\"\n\
             role = \"reader\"\nscope = \"/\"\n",
            self.url
        )
    }

    /// A token that is good until the year 2100, or one that has expired.
    pub(super) fn token(&self, good: bool) -> String {
        let expires_at = if good { 4_102_444_800_i64 } else { 1 };
        let claims: Value = json!({"iss": self.url, "aud": "a", "sub": "somebody", "exp": expires_at});
        self.key.sign(&claims)
    }
}

/// A request, with its body if it tells its length.
fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let begin = head.len();
        if reader.read_line(&mut head).unwrap_or(0) == 0 || head[begin..].trim().is_empty() {
            break;
        }
        if let Some(told) = head[begin..].to_lowercase().strip_prefix("content-length:") {
            length = told.trim().parse().unwrap_or(0);
        }
    }
    let mut body = String::new();
    let _ = reader.take(length).read_to_string(&mut body);
    head + &body
}
