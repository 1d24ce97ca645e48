//! Taking secrets out of text before it is kept or shown.
//!
//! Rules look at the meaning of a text, not at how it is quoted: escapes are
//! undone first (`plain_text`), and what is taken out is the range in the
//! source. Three things make a secret: a form that a vendor gave it (`forms`,
//! `private_keys`, `logins`), a name beside it that says so
//! (`assignments`, `names`, `values`, `commands`), and the value of an
//! environment variable whose name says so, handed in by the caller.
//!
//! Every pass is linear in the length of the text, and nothing is compiled.

mod assignments;
mod commands;
mod forms;
mod logins;
mod names;
mod plain_text;
mod private_keys;
mod redactor;
mod values;

use std::ops::Range;

pub use self::names::is_secret_name;
pub use self::private_keys::has_open_private_key;
pub use self::redactor::Redactor;

/// A secret in the plain text, and the rule or variable that found it.
#[derive(Debug)]
struct SecretRange<'n> {
    name: &'n str,
    range: Range<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(Redactor::rules_only().redact(text), expect);
    }

    /// Keys are put together here so that no scanner takes this file for a leak.
    fn key(prefix: &str, chars: usize) -> String {
        let body: String = "a1B2c3D4e5F6g7H8i9J0".chars().cycle().take(chars).collect();
        format!("{prefix}{body}")
    }

    #[test]
    fn keys_of_known_forms_are_taken_out() {
        for (prefix, chars, name) in [
            ("ghp_", 36, "github-token"),
            ("sk-ant-api03-", 40, "anthropic-key"),
            ("sk-proj-", 40, "openai-key"),
            ("glpat-", 20, "gitlab-token"),
            ("xoxb-", 30, "slack-token"),
            ("sk_live_", 24, "stripe-key"),
            ("hf_", 34, "huggingface-token"),
            ("AIza", 35, "google-key"),
            ("npm_", 36, "npm-token"),
        ] {
            check(
                &format!("use {} now", key(prefix, chars)),
                &format!("use [redacted:{name}] now"),
            );
        }
        check("id AKIAABCDEFGHIJKLMNOP.", "id [redacted:aws-access-key].");
        check(
            "postgres://app:hunter22@db/x",
            "postgres://app:[redacted:url-password]@db/x",
        );
        check(
            &format!("Authorization: Bearer {}", key("", 30)),
            "Authorization: Bearer [redacted:bearer]",
        );
        check(
            "API_KEY=abc123def456ghi7",
            "API_KEY=[redacted:assigned-secret]",
        );
        check(
            "\"password\": \"correct4horse!battery\"",
            "\"password\": \"[redacted:assigned-secret]\"",
        );
    }

    #[test]
    fn a_key_goes_that_an_escape_stands_before() {
        let key = key("ghp_", 36);
        for before in [
            "a\\n",
            "\\t",
            "x\\r\\n",
            "\\u001b[32m",
            "\u{1b}[1;31m",
            "\\\\n",
            "\\u000a",
        ] {
            let redacted = Redactor::rules_only();
            let text = format!("{{\"content\":\"{before}{key} b\"}}");
            let out = redacted.redact(&text).into_owned();
            assert!(!out.contains(&key), "{text:?} -> {out:?}");
            assert!(out.contains(before), "{out:?}");
        }
        let path = r"C:\new\table\ufffe and \\server";
        assert_eq!(Redactor::rules_only().redact(path), path);
    }

    #[test]
    fn a_private_key_goes_also_when_its_end_is_cut_off() {
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc",
            "-----BEGIN RSA PRIVATE KEY-----\n[redacted:private-key]",
        );
    }

    #[test]
    fn prose_and_code_about_secrets_stay() {
        for text in [
            "Implement the refresh token: rotation happens daily",
            "const token = process.env.GITHUB_TOKEN",
            "password: ${DB_PASSWORD}",
            "the key is to keep it simple",
            "https://example.com:8080/path",
            "sprint-2026-01-15_api-key-rotation",
            "",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn values_of_secret_variables_go_wherever_they_stand() {
        let of_shell = Redactor::with_variables([("PWD", "/srv/here"), ("OLDPWD", "/srv/there")]);
        let text = "PWD=/srv/here, then cd /srv/there";
        assert_eq!(of_shell.redact(text), text);
        let redactor = Redactor::with_variables([
            ("MY_SECRET", "open sesame"),
            ("LONGER_SECRET", "open sesame please"),
            ("TOKEN", "ab"),
            ("HOME", "/home/ada"),
        ]);
        assert_eq!(
            redactor.redact("say open sesame please ab /home/ada"),
            "say [redacted:env:LONGER_SECRET] ab /home/ada"
        );
        assert_eq!(
            redactor.redact("say open sesame!"),
            "say [redacted:env:MY_SECRET]!"
        );
    }

    #[test]
    fn names_of_variables_tell_secrets_from_settings() {
        for name in [
            "GITHUB_TOKEN",
            "aws_secret_access_key",
            "DB_PASSWORD",
            "OPENAI_API_KEY",
            "STRIPE_SECRET_TEST",
            "SSH_PASSPHRASE",
            "GH_PAT",
            "SENTRY_DSN",
            "ADMIN_PW",
            "SIGNING_IDENTITY",
            "AUTH",
            "MAPS_KEY",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "HOME",
            "PWD",
            "OLDPWD",
            "PATH",
            "KEYBOARD",
            "MONKEY",
            "TURKEY",
            "AUTHOR",
            "PUBLIC_KEY",
            "SSH_AUTH_SOCK",
            "PASSWORD_FILE",
            "SECRET_NAME",
            "TOKENIZERS_PARALLELISM",
            "PITON_RUN",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_value_of_a_variable_goes_at_any_depth_of_escapes() {
        let redactor = Redactor::with_variables([("MY_SECRET", "a\"b\\c&d")]);
        let once = serde_json::Value::from("a\"b\\c&d").to_string();
        let twice = serde_json::Value::from(once.clone()).to_string();
        for text in [once.as_str(), &twice, "a%22b%5Cc%26d", "a&quot;b\\c&amp;d"] {
            let out = redactor.redact(text);
            assert!(out.contains("[redacted:env:MY_SECRET]"), "{text}: {out}");
        }
    }

    #[test]
    fn names_in_the_tree_of_a_document_count() {
        let mut value = serde_json::json!({
            "password": "correct4horse!battery",
            "env": [{"name": "API_KEY", "value": "abc123def456ghi7"}],
            "token": "the token",
        });
        assert!(Redactor::rules_only().redact_json(&mut value));
        assert_eq!(
            value,
            serde_json::json!({
                "password": "[redacted:assigned-secret]",
                "env": [{"name": "API_KEY", "value": "[redacted:assigned-secret]"}],
                "token": "the token",
            })
        );
    }
}
