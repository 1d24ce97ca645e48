//! The settings by their keys: which there are, where one stands, and the text of the
//! file with another value for one.

use std::fmt;
use std::ops::Range;

use piton_core::evidence::{Baseline, ClaimRules};
use piton_formats::closest_word;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::Config;
use super::workspace::{LANES, LANES_FOLDER};

/// What the default settings do not show: `NAME` stands for a name of the user's.
const ALL: &str = r#"
agent.commands.NAME = ""
agents.NAME = { env.NAME = "", models.NAME = "", read.success-when = { path = "", equals = "" } }
claims.items.NAME = { changed = "ask", word = "ask", weakened = "ask" }
claims.sprint = { changed = "ask", word = "ask", weakened = "ask" }
claims.list = { changed = "ask", word = "ask", weakened = "ask" }
claims.task = { changed = "ask", word = "ask", weakened = "ask" }
claims.issues = { changed = "ask", word = "ask", weakened = "ask" }
prices = { date = 2026-01-01, models.NAME = { input = 1.0, output = 1.0 } }
repositories.NAME = {}
roles.NAME = {}
"#;
const NAME: &str = "NAME";

/// A key such as `agents.claude.model`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingKey(Vec<String>);

impl SettingKey {
    /// Takes apart what is written as in the file; none of what is no key.
    pub(crate) fn parse(typed: &str) -> Option<Self> {
        if typed.contains(['\n', '\r']) {
            return None;
        }
        let mut value = toml::Value::Table(toml::from_str(&format!("{typed} = 0")).ok()?);
        let mut parts = Vec::new();
        while let toml::Value::Table(table) = value {
            let mut entries = table.into_iter();
            let (name, below) = entries.next()?;
            if entries.next().is_some() {
                return None;
            }
            parts.push(name);
            value = below;
        }
        Some(Self(parts))
    }

    /// Whether this is the other key, or that of a table around it.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Whether there is such a setting, or a table of settings.
    pub(crate) fn is_known(&self) -> bool {
        self.fitting_keys().any(|known| self.holds(&known))
    }

    /// The key that this one is most likely meant to be.
    pub(crate) fn closest(&self) -> Option<String> {
        let known: Vec<String> = self.fitting_keys().map(|key| key.to_string()).collect();
        let words: Vec<&str> = known.iter().map(String::as_str).collect();
        let typed = self.to_string();
        let ends = format!(".{typed}");
        let closest = closest_word(&typed, &words);
        closest
            .or_else(|| words.into_iter().find(|known| known.ends_with(&ends)))
            .map(str::to_owned)
    }

    /// All keys, with the names of this one.
    fn fitting_keys(&self) -> impl Iterator<Item = Self> {
        let all: Config = toml::from_str(ALL).expect("every setting has a value that fits");
        let mut known = Vec::new();
        for_each_value(&to_json(&all), &mut Vec::new(), &mut |path, _| {
            let own = path.iter().enumerate().map(|(nth, part)| match &**part {
                NAME => self.0.get(nth).unwrap_or(part).clone(),
                _ => part.clone(),
            });
            known.push(Self(own.collect()));
        });
        known.into_iter()
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        for (nth, part) in self.0.iter().enumerate() {
            let dot = if nth == 0 { "" } else { "." };
            match !part.is_empty() && part.chars().all(is_bare) {
                true => write!(f, "{dot}{part}")?,
                false => write!(f, "{dot}{}", quoted(part))?,
            }
        }
        Ok(())
    }
}

/// The known key that the first unknown one in a text is most likely meant to be.
pub(super) fn closest_to_unknown(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let table = serde_json::to_value(table).ok()?;
    let mut closest = None;
    for_each_value(&table, &mut Vec::new(), &mut |path, _| {
        let key = SettingKey(path.to_vec());
        if closest.is_none() && !key.is_known() {
            closest = key.closest();
        }
    });
    closest
}

/// The settings, with what holds where the file does not say it.
fn with_defaults(config: &Config) -> Config {
    let mut config = config.clone();
    let (claims, rules) = (&mut config.claims, ClaimRules::default());
    claims.changed.get_or_insert(rules.changed);
    claims.weakened.get_or_insert(rules.weakened);
    claims.baseline.get_or_insert(Baseline::Auto);
    let workspace = &mut config.workspace;
    workspace.lanes.get_or_insert(LANES);
    workspace.root.get_or_insert_with(|| LANES_FOLDER.into());
    config
}

/// Every setting that has a value, in the order of the tables.
pub(crate) fn values_of_config(config: &Config) -> Vec<(SettingKey, Value)> {
    let mut values = Vec::new();
    for_each_value(
        &to_json(&with_defaults(config)),
        &mut Vec::new(),
        &mut |path, value| {
            if !value.is_null() {
                values.push((SettingKey(path.to_vec()), value.clone()));
            }
        },
    );
    values
}

fn to_json(config: &Config) -> Value {
    serde_json::to_value(config).expect("settings have names for keys")
}

fn for_each_value(value: &Value, path: &mut Vec<String>, found: &mut dyn FnMut(&[String], &Value)) {
    let Value::Object(table) = value else {
        return found(path, value);
    };
    for (name, below) in table {
        path.push(name.clone());
        for_each_value(below, path, found);
        path.pop();
    }
}

/// The line of the file in which a setting stands; none where it stands in none.
pub(crate) fn line_of_key(text: &str, key: &SettingKey) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (last, tables) = key.0.split_last()?;
    let mut table = document.get_ref();
    for name in tables {
        table = table.get(name.as_str())?.get_ref().as_table()?;
    }
    // `env_pass` is `env-pass`.
    let other = last.replace('-', "_");
    let (name, _) = table
        .get_key_value(last.as_str())
        .or_else(|| table.get_key_value(other.as_str()))?;
    let before = text.get(..name.span().start)?;
    Some(before.matches('\n').count() + 1)
}

/// A value as the file has it.
pub(crate) fn literal_of_value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(literal_of_value).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(table) => {
            let entries =
                table
                    .iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(name, value)| {
                        let name = SettingKey(vec![name.clone()]);
                        format!("{name} = {}", literal_of_value(value))
                    });
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// What was typed as the file may have it: as it is, where that is a value of TOML, and as
/// a text.
pub(crate) fn literals_of_typed(typed: &str) -> Vec<String> {
    let alone = toml::from_str::<toml::Table>(&format!("value = {typed}\n"));
    let own = alone.is_ok_and(|table| table.len() == 1);
    let own = own.then(|| typed.trim().to_owned());
    own.into_iter().chain([quoted(typed)]).collect()
}

fn quoted(text: &str) -> String {
    // What JSON escapes, TOML does as well; it wants one more.
    let json = Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007f")
}

/// The text with another value for one setting, and nothing else changed: in the place of
/// its value, else in its table, else in a table at the end. None where that takes more
/// than one line.
pub(crate) fn set_value(text: &str, key: &SettingKey, literal: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let expected = {
        let mut table: toml::Table = toml::from_str(text).ok()?;
        let alone = toml::from_str(&format!("value = {literal}\n")).ok()?;
        insert(&mut table, &key.0, alone)?;
        table
    };
    let is_right = |text: &String| toml::from_str(text).ok().as_ref() == Some(&expected);
    let place = Place {
        text,
        root: document.get_ref(),
        key,
        literal,
    };
    let own = key.0.len().saturating_sub(1);
    let in_value = std::iter::once_with(|| place.replace()).flatten();
    let in_table = std::iter::once_with(|| place.insert_into(own)).flatten();
    let at_end = std::iter::once_with(|| place.append());
    let above = (0..own).rev().filter_map(|depth| place.insert_into(depth));
    let mut texts = in_value.chain(in_table).chain(at_end).chain(above);
    texts.find(is_right)
}

/// Puts the only value of a table into another one.
fn insert(table: &mut toml::Table, path: &[String], alone: toml::Table) -> Option<()> {
    let (last, tables) = path.split_last()?;
    let mut table = table;
    for name in tables {
        let below = table
            .entry(name.clone())
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        table = below.as_table_mut()?;
    }
    let (_, value) = alone.into_iter().next()?;
    table.insert(last.clone(), value);
    Some(())
}

/// Where a value may go.
struct Place<'t> {
    text: &'t str,
    root: &'t DeTable<'t>,
    key: &'t SettingKey,
    literal: &'t str,
}

impl Place<'_> {
    /// In the place of the value that it has.
    fn replace(&self) -> Option<String> {
        let (last, tables) = self.key.0.split_last()?;
        let mut table = self.root;
        for name in tables {
            table = table.get(name.as_str())?.get_ref().as_table()?;
        }
        let span = table.get(last.as_str())?.span();
        self.splice(span, self.literal)
    }

    /// As a line behind the last value of the table around it that has so many names.
    fn insert_into(&self, depth: usize) -> Option<String> {
        let mut table = self.root;
        let mut header = 0..0;
        for name in &self.key.0[..depth] {
            let found = table.get(name.as_str())?;
            header = found.span();
            table = found.get_ref().as_table()?;
        }
        let is_value = |value: &DeValue<'_>| !value.is_table() && !is_list_of_tables(value);
        let values = table.values().filter(|value| is_value(value.get_ref()));
        let last = values.map(|value| value.span().end).max();
        let at = match last.unwrap_or(header.end) {
            0 => 0,
            end => end + self.text.get(end..)?.find('\n').map_or(0, |to| to + 1),
        };
        let at = if at == 0 || self.text[..at].ends_with('\n') {
            at
        } else {
            self.text.len()
        };
        let inner = SettingKey(self.key.0[depth..].to_vec());
        let line = format!("{inner} = {}", self.literal);
        let (before, end) = (self.line_break_at(at), self.line_break());
        self.splice(at..at, &format!("{before}{line}{end}"))
    }

    /// In a table of its own at the end.
    fn append(&self) -> String {
        let (last, tables) = self.key.0.split_last().expect("a key has a name");
        let end = self.line_break();
        let mut text = format!("{}{}", self.text, self.line_break_at(self.text.len()));
        if !tables.is_empty() {
            let gap = if text.is_empty() { "" } else { end };
            text.push_str(&format!("{gap}[{}]{end}", SettingKey(tables.to_vec())));
        }
        let last = SettingKey(vec![last.clone()]);
        text.push_str(&format!("{last} = {}{end}", self.literal));
        text
    }

    fn splice(&self, range: Range<usize>, with: &str) -> Option<String> {
        let (before, behind) = (self.text.get(..range.start)?, self.text.get(range.end..)?);
        Some(format!("{before}{with}{behind}"))
    }

    /// How lines of the text end.
    fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// What the last line lacks where another one is to follow there.
    fn line_break_at(&self, at: usize) -> &'static str {
        match self.text[..at].ends_with('\n') || at == 0 {
            true => "",
            false => self.line_break(),
        }
    }
}

fn is_list_of_tables(value: &DeValue<'_>) -> bool {
    let list = value.as_array();
    list.is_some_and(|list| list.iter().any(|one| one.get_ref().is_table()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, key: &str, literal: &str, expected: Option<&str>) {
        let parsed = SettingKey::parse(key).expect("a key");
        let changed = set_value(text, &parsed, literal);
        assert_eq!(changed.as_deref(), expected, "{key} = {literal}");
    }

    /// The rows of the tables `key of`, each key with a default that is one value.
    fn documented_defaults(guide: &str) -> Vec<(String, String)> {
        let mut table = None;
        let mut found = Vec::new();
        for line in guide.lines() {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let &[keys, _, default] = cells.as_slice() else {
                continue;
            };
            if let Some(name) = keys.strip_prefix("key of `[") {
                table = name.strip_suffix("]`").filter(|name| !name.contains(NAME));
                continue;
            }
            let default = default.split(" (").next().unwrap_or_default();
            let is_number = default.bytes().all(|byte| byte.is_ascii_digit());
            let value = default
                .strip_prefix('`')
                .and_then(|of| of.strip_suffix('`'));
            let value = value.or(is_number.then_some(default));
            let Some((table, value)) = table.zip(value).filter(|(_, of)| !of.contains('`')) else {
                continue;
            };
            let keys = keys.split(", ").map(|key| key.trim_matches('`'));
            found.extend(keys.map(|key| (format!("{table}.{key}"), value.to_owned())));
        }
        found
    }

    #[test]
    fn each_default_of_the_guide_is_shown() {
        let guide = include_str!("../../../../docs/guide/configuration.md");
        let shown: Vec<(String, String)> = values_of_config(&Config::default())
            .into_iter()
            .map(|(key, value)| {
                let text = value.as_str().map(str::to_owned);
                (key.to_string(), text.unwrap_or_else(|| value.to_string()))
            })
            .collect();
        let documented = documented_defaults(guide);
        assert!(documented.len() > 20, "{documented:?}");
        let missing: Vec<_> = documented.iter().filter(|of| !shown.contains(of)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn the_key_that_an_unknown_one_is_meant_to_be_is_found() {
        for (text, meant) in [
            ("[claims]\nchangd = \"ask\"\n", Some("claims.changed")),
            (
                "[agents.mine]\npogram = \"x\"\n",
                Some("agents.mine.program"),
            ),
            ("[agent]\nuse = \"x\"\n", None),
        ] {
            assert_eq!(closest_to_unknown(text).as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn a_value_changes_and_all_around_it_stays() {
        let text = "# ours\n[agent]\nuse = \"codex\"   # for now\n\n[merge]\ncheck = 'x'\n";
        let changed = text.replace("\"codex\"", "\"claude\"");
        check(text, "agent.use", "\"claude\"", Some(&changed));
        let changed = text.replace("'x'", "\"make\"");
        check(text, "merge.check", "\"make\"", Some(&changed));
        let changed = text.replace("for now\n", "for now\ngrace = \"9s\"\n");
        check(text, "agent.grace", "\"9s\"", Some(&changed));
        let changed = format!("{text}\n[store]\nwait-s = 3\n");
        check(text, "store.wait-s", "3", Some(&changed));
    }

    #[test]
    fn a_value_finds_its_place_however_tables_are_written() {
        check("", "agent.use", "\"x\"", Some("[agent]\nuse = \"x\"\n"));
        check("[agent]", "agent.use", "1", Some("[agent]\nuse = 1\n"));
        check("[a.b]\nc = 1", "a.b.d", "2", Some("[a.b]\nc = 1\nd = 2\n"));
        check(
            "[a.b]\nc = 1\n",
            "a.d",
            "2",
            Some("[a.b]\nc = 1\n\n[a]\nd = 2\n"),
        );
        check("a.b = 1\n", "a.c", "2", Some("a.c = 2\na.b = 1\n"));
        check("a = {b = 1}\n", "a.b", "2", Some("a = {b = 2}\n"));
        check("a = {b = 1}\n", "a.c", "2", None);
        check("a = 1\n", "a.c", "2", None);
        check("[a]\nb = 1\n", "a", "2", None);
        check("[[a]]\nb = 1\n", "a", "[]", None);
        let text = "[a]\r\nb = [\r\n  1, # one\r\n]\r\n[c]\r\n";
        let changed = text.replace("[c]", "d = 2\r\n[c]");
        check(text, "a.d", "2", Some(&changed));
        check(text, "a.b", "[]", Some("[a]\r\nb = []\r\n[c]\r\n"));
        check(
            "[a.\"x y\"]\n",
            "a.'x y'.b",
            "1",
            Some("[a.\"x y\"]\nb = 1\n"),
        );
        check("not toml", "a.b", "1", None);
    }

    #[test]
    fn every_setting_of_the_guide_is_known_and_a_slip_names_it() {
        for key in [
            "agent",
            "agent.use",
            "agents.careful.env.TOKEN",
            "agents.x.env-pass",
            "claims.items.\"US 7\".word",
            "claims.sprint.weakened",
            "prices.models.m.cache-read",
            "repositories.web.check",
            "requests.rules",
            "roles.coder.model",
            "store.group",
        ] {
            let parsed = SettingKey::parse(key).expect("a key");
            assert!(parsed.is_known(), "{key}");
            assert_eq!(parsed.to_string(), key);
        }
        for (typed, meant) in [
            ("agnt.use", Some("agent.use")),
            ("agents.mine.modle", Some("agents.mine.model")),
            ("wall-timeout", Some("agent.wall-timeout")),
            ("nothing.like.it", None),
        ] {
            let parsed = SettingKey::parse(typed).expect("a key");
            assert!(!parsed.is_known(), "{typed}");
            assert_eq!(parsed.closest().as_deref(), meant, "{typed}");
        }
        for typed in ["", "a b", "a = 1\nb", "a.", "[a]", "a\r\nb"] {
            assert_eq!(SettingKey::parse(typed), None, "{typed}");
        }
    }

    #[test]
    fn what_is_typed_is_a_value_of_toml_or_a_text() {
        assert_eq!(literals_of_typed("3"), ["3", "\"3\""]);
        assert_eq!(literals_of_typed("make test"), ["\"make test\""]);
        assert_eq!(literals_of_typed("\"a\""), ["\"a\"", "\"\\\"a\\\"\""]);
        assert_eq!(literals_of_typed("1\nb = 2"), ["\"1\\nb = 2\""]);
        assert_eq!(literals_of_typed("a\u{7f}"), ["\"a\\u007f\""]);
    }

    #[test]
    fn values_and_their_lines_are_found() {
        let text = "[agents.a]\nadapter = \"claude\"\nenv_pass = [\"A\"]\n";
        let config = Config::parse(text).expect("settings");
        let values = values_of_config(&config);
        let key = SettingKey::parse("agents.a.env-pass").expect("a key");
        let found = values.iter().find(|(known, _)| *known == key);
        assert_eq!(literal_of_value(&found.expect("set").1), "[\"A\"]");
        assert_eq!(line_of_key(text, &key), Some(3));
        let key = SettingKey::parse("agent.grace").expect("a key");
        assert_eq!(line_of_key(text, &key), None);
        assert!(values.contains(&(key, Value::from("5s"))));
    }
}
