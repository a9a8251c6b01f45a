//! Settings are checked all at once.

use std::time::Duration;

use punctual_actions::Settings;

use crate::world::build;

#[test]
fn every_problem_of_the_settings_is_named() {
    let settings = Settings {
        timeout: Duration::ZERO,
        oauth_authority: "login.example".into(),
        storage_queue_endpoint: "ftp://x".into(),
        user_agent: "a\nb".into(),
        authorities_pem: b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec(),
        ..Settings::default()
    };
    let error = build(settings).err().unwrap();
    for name in ["timeout", "oauth_authority", "storage_queue_endpoint", "user_agent", "authorities_pem"] {
        assert!(error.0.iter().any(|problem| problem.setting == name), "{name}: {error}");
    }
}

#[tokio::test]
async fn the_defaults_are_those_of_the_contract() {
    let settings = Settings::default();
    assert_eq!(settings.timeout, Duration::from_secs(60));
    assert_eq!(settings.oauth_authority, "https://login.microsoftonline.com");
    assert!(build(settings).is_ok());
}
