//! `env-pass` of `[agents.NAME]`: which variables of piton's environment an agent inherits.
//!
//! What piton itself sets for an agent, and `env` of its table, is added behind this. It
//! is no wall: a program of the same user can look into the environment of others.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Passed whatever the list says: without these a program finds neither other programs,
/// nor its settings, nor a place for temporary files, and misreads text.
const ALWAYS: [&str; 10] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_*", "TZ", "TMPDIR",
];

/// The variables that an agent inherits, beside those that every agent does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvPass(Vec<EnvPattern>);

impl EnvPass {
    /// Whether an agent inherits the variable of this name.
    #[must_use]
    pub fn passes(&self, name: &str) -> bool {
        let is_always = ALWAYS.iter().any(|pattern| is_match(pattern, name));
        is_always || self.patterns().any(|pattern| is_match(pattern, name))
    }

    /// What an agent inherits of an environment.
    #[must_use]
    pub fn select(&self, env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let passed = env.iter().filter(|(name, _)| self.passes(name));
        passed
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// The patterns, as they are written.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|pattern| pattern.0.as_str())
    }
}

/// The name of a variable, or the beginning of names with a `*` behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct EnvPattern(String);

fn is_match(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

/// Why a text is no [`EnvPattern`].
#[derive(Debug)]
struct NoPattern;

impl fmt::Display for NoPattern {
    // The text itself is left out, as of all values that do not fit.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a variable is named by its name (`HOME`), or by the beginning of names and one `*` at the end (`AWS_*`)")
    }
}

impl FromStr for EnvPattern {
    type Err = NoPattern;

    fn from_str(text: &str) -> Result<Self, NoPattern> {
        let name = text.strip_suffix('*').unwrap_or(text);
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| Self(text.to_owned())).ok_or(NoPattern)
    }
}

impl<'de> Deserialize<'de> for EnvPattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct PatternVisitor;
        // An error of a visitor is reported with the line of the pattern, a later one with
        // that of the list.
        impl Visitor<'_> for PatternVisitor {
            type Value = EnvPattern;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("the name of a variable")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<EnvPattern, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_str(PatternVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::settings::AgentTable;

    fn env_pass(patterns: &[&str]) -> EnvPass {
        let parse = |text: &&str| text.parse::<EnvPattern>().expect("a pattern");
        EnvPass(patterns.iter().map(parse).collect())
    }

    #[test]
    fn a_pattern_passes_a_name_or_all_that_begin_so() {
        #[track_caller]
        fn check(patterns: &[&str], name: &str, is_passed: bool) {
            let passes = env_pass(patterns).passes(name);
            assert_eq!(passes, is_passed, "{patterns:?} {name}");
        }
        check(&[], "SECRET_TOKEN", false);
        check(&["AWS_REGION"], "AWS_REGION", true);
        check(&["AWS_REGION"], "AWS_REGION_2", false);
        check(&["AWS_REGION"], "aws_region", false);
        check(&["AWS_*"], "AWS_REGION", true);
        check(&["AWS_*"], "AWS_", true);
        check(&["AWS_*"], "AWS", false);
        check(&["AWS_*"], "MY_AWS_REGION", false);
        check(&["A", "npm_config_*"], "npm_config_//x/:_authToken", true);
        for name in ["PATH", "HOME", "LC_ALL", "LC_TIME", "TMPDIR", "TZ", "LANG"] {
            check(&[], name, true);
        }
        for name in ["PATHS", "HOMEBREW_PREFIX", "LC", "PITON_TRUST", ""] {
            check(&[], name, false);
        }
    }

    #[test]
    fn only_a_name_or_its_beginning_is_a_pattern() {
        for text in ["HOME", "_x", "AWS_*", "A1"] {
            assert!(text.parse::<EnvPattern>().is_ok(), "{text}");
        }
        for text in [
            "", "*", "**", "A**", "*A", "A*B", "A=b", "A B", " A", "A?", "$A", "!A", "1A", "Ä",
        ] {
            assert!(text.parse::<EnvPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_selected_keeps_its_value() {
        let pair = |name: &str| (name.to_owned(), "x".to_owned());
        let env = BTreeMap::from(["PATH", "AWS_REGION", "SECRET_TOKEN"].map(pair));
        let expect = BTreeMap::from(["PATH", "AWS_REGION"].map(pair));
        assert_eq!(env_pass(&["AWS_*"]).select(&env), expect);
    }

    #[test]
    fn a_variable_is_looked_up_where_the_agent_finds_it() {
        let pair = |name: &str| (name.to_owned(), "inherited".to_owned());
        let env = BTreeMap::from(["CODEX_HOME", "CLAUDE_CONFIG_DIR", "AWS_REGION"].map(pair));
        let text = "env-pass = ['AWS_*']\nenv = { CODEX_HOME = 'own' }";
        let table: AgentTable = toml::from_str(text).expect("a table");
        assert_eq!(table.env_variable("CODEX_HOME", &env), Some("own"));
        assert_eq!(table.env_variable("AWS_REGION", &env), Some("inherited"));
        assert_eq!(table.env_variable("CLAUDE_CONFIG_DIR", &env), None);
    }
}
