//! The redactor: what the rules find, taken out of texts, documents and JSON.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

use super::SecretRange;
use super::assignments::{ends_string, find_assignments};
use super::forms::find_forms;
use super::logins::find_logins;
use super::names::{NameRating, is_secret_name, rate_name};
use super::plain_text::{COLOUR, MARK, MARK_BEGIN, PlainText};
use super::private_keys::find_private_keys;
use super::values::{ValueForm, is_secret_value};

/// Values shorter than this say too little to be told from ordinary words.
const VALUE_CHARS_MIN: usize = 6;
/// What was taken out may bring together a name and a value that stood apart, so a text is
/// looked at until nothing is found. Texts that were not made for it need two such looks.
const EXACT_LOOKS: u32 = 8;
/// Each look beyond them takes out so many bytes around what it finds, and the next one four
/// times as many.
const MARGIN_BYTES_MIN: usize = 64;

/// What stands at the place of a secret.
fn render_mark(name: &str) -> String {
    format!("{MARK_BEGIN}{name}]")
}

/// Whether a value is long enough to be a secret, and is not taken out already.
fn is_long_secret(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        text.chars().count() >= VALUE_CHARS_MIN && !text.starts_with(MARK_BEGIN)
    })
}

/// Takes secrets out of text.
#[derive(Debug)]
pub struct Redactor {
    values: Option<AhoCorasick>,
    /// What each value is called.
    names: Vec<String>,
}

impl Redactor {
    /// A redactor that knows the forms of keys, and no values.
    #[must_use]
    pub fn rules_only() -> Self {
        Self {
            values: None,
            names: Vec::new(),
        }
    }

    /// A redactor that also knows the values of the variables whose names look
    /// secret. Values of fewer than six characters are left alone.
    #[must_use]
    pub fn with_variables<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut values = Vec::new();
        let mut names = Vec::new();
        for (name, value) in variables {
            let value = value.trim();
            if value.chars().count() < VALUE_CHARS_MIN || !is_secret_name(name) {
                continue;
            }
            // It is looked for in plain text.
            let plain = PlainText::decode(value).bytes().to_vec();
            if plain.len() >= VALUE_CHARS_MIN && !values.contains(&plain) {
                values.push(plain);
                // What would end the mark, or make it too long for one, is left out.
                let ends_mark = |c: &char| matches!(*c, ']' | '"' | '\n');
                let name = name.chars().filter(|c| !ends_mark(c)).take(60);
                names.push(format!("env:{}", name.collect::<String>()));
            }
        }
        if values.is_empty() {
            return Self::rules_only();
        }
        // The longest value wins, lest a secret that begins with another one
        // be taken out by half.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values)
            .ok();
        Self {
            values: automaton,
            names,
        }
    }

    /// The text without its secrets.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = Cow::Borrowed(text);
        let mut looks = 0;
        while let Some(changed) = self.redact_once(&redacted, margin_of_look(looks)) {
            redacted = Cow::Owned(changed);
            looks += 1;
        }
        redacted
    }

    /// The text without the secrets that are found in it as it stands, and what stands so
    /// many bytes around them; none where there are none.
    fn redact_once(&self, source: &str, margin: usize) -> Option<String> {
        let text = PlainText::decode(source);
        let mut found: Vec<SecretRange<'_>> = Vec::new();
        if let Some(values) = &self.values {
            found.extend(values.find_iter(text.bytes()).map(|value| SecretRange {
                name: &self.names[value.pattern().as_usize()],
                range: value.range(),
            }));
        }
        let of_variables = found.len();
        find_private_keys(&text, &mut found);
        find_forms(&text, &mut found);
        find_logins(&text, &mut found);
        find_assignments(&text, &mut found);
        // The value of a variable is known to the end; it may hold such a mark.
        for secret in found.iter_mut().skip(of_variables) {
            let mut range = secret.range.clone();
            let end = range.find(|at| text.byte(*at) == b'"' && ends_string(&text, *at));
            secret.range.end = end.unwrap_or(secret.range.end);
        }
        // Each look has to take out something that is no mark yet.
        let is_left = |byte: &u8| !matches!(*byte, MARK | COLOUR) && !byte.is_ascii_whitespace();
        found.retain(|secret| text.bytes()[secret.range.clone()].iter().any(is_left));
        if found.is_empty() {
            return None;
        }
        if margin > 0 {
            widen_ranges(&text, &mut found, margin);
        }
        let mut out = String::with_capacity(source.len());
        let mut copied = 0;
        for SecretRange { name, range } in join_overlapping(found) {
            let range = text.source_range(&range);
            out.push_str(&source[copied..range.start]);
            out.push_str(&render_mark(name));
            copied = range.end;
        }
        out.push_str(&source[copied..]);
        Some(out)
    }

    /// Redacts a text in place; whether it was changed.
    pub(crate) fn redact_in_place(&self, text: &mut String) -> bool {
        let Cow::Owned(redacted) = self.redact(text) else {
            return false;
        };
        let differs = redacted != *text;
        *text = redacted;
        differs
    }

    /// Redacts a document of a native format in place, so that it stays one:
    /// within the strings of JSON, else line by line as block style YAML.
    pub fn redact_document(&self, text: &mut String) -> bool {
        if let Ok(mut value) = serde_json::from_str::<serde_json::Value>(text) {
            let differs = self.redact_json(&mut value);
            if differs {
                *text = value.to_string();
            }
            return differs;
        }
        let differs = self.redact_in_place(text);
        if differs {
            *text = text.split_inclusive('\n').map(quote_bare_marks).collect();
        }
        differs
    }

    /// Redacts values that stand under chosen names, and the names. What stands
    /// under a name that looks secret goes as a whole.
    pub(crate) fn redact_map(&self, values: &mut Map<String, Value>) -> bool {
        let before = values.clone();
        // Names without a secret keep their place; the others must not take it.
        let is_kept = |name: &str| self.redact(name) == *name;
        let mut after = Map::new();
        for (name, mut value) in std::mem::take(values) {
            self.redact_json(&mut value);
            if rate_name(&name) > NameRating::Maybe && is_long_secret(&value) {
                value = Value::String(render_mark(&self.redact(&name)));
            }
            let key = if is_kept(&name) {
                name
            } else {
                let name = self.redact(&name).into_owned();
                let free = (2_u32..)
                    .map(|nth| format!("{name}#{nth}"))
                    .find(|name| !after.contains_key(name) && !before.contains_key(name));
                let taken = after.contains_key(&name) || before.contains_key(&name);
                free.filter(|_| taken).unwrap_or(name)
            };
            after.insert(key, value);
        }
        *values = after;
        *values != before
    }

    /// Redacts every text within a JSON value; whether any was changed.
    pub fn redact_json(&self, value: &mut serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => self.redact_in_place(text),
            serde_json::Value::Array(items) => items
                .iter_mut()
                .fold(false, |any, item| self.redact_json(item) | any),
            serde_json::Value::Object(map) => {
                let of_named = redact_named_members(map);
                map.values_mut()
                    .fold(of_named, |any, item| self.redact_json(item) | any)
            }
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
                false
            }
        }
    }
}

/// A line of block style YAML in which no value or key begins with a bare
/// mark, whose bracket would make a list of it.
fn quote_bare_marks(line: &str) -> String {
    let (content, end) = line
        .strip_suffix('\n')
        .map_or((line, ""), |content| (content, "\n"));
    let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let indent = content.len() - content.trim_start_matches([' ', '-']).len();
    let (before, mut rest) = content.split_at(indent);
    let mut out = before.to_owned();
    if let Some((key, value)) = rest.split_once(": ") {
        if key.starts_with("[redacted:") {
            out.push_str(&quote(key));
        } else {
            out.push_str(key);
        }
        out.push_str(": ");
        rest = value;
    } else if let Some(key) = rest.strip_suffix(':')
        && key.starts_with("[redacted:")
    {
        return format!("{out}{}:{end}", quote(key));
    }
    if rest.starts_with("[redacted:") {
        out.push_str(&quote(rest));
    } else {
        out.push_str(rest);
    }
    out + end
}

/// Takes out what stands in an object under a name that says what it is, or
/// beside such a name: `{"name": "API_KEY", "value": "…"}`.
fn redact_named_members(map: &mut Map<String, Value>) -> bool {
    let label = map
        .iter()
        .find(|(key, _)| matches!(key.to_ascii_lowercase().as_str(), "name" | "key"));
    let label = label.and_then(|(_, name)| Some(rate_name(name.as_str()?)));
    let mut differs = false;
    for (key, value) in map.iter_mut() {
        let is_labelled = matches!(key.to_ascii_lowercase().as_str(), "value" | "val");
        let rating = label
            .filter(|_| is_labelled)
            .unwrap_or_else(|| rate_name(key));
        let text = value.as_str().unwrap_or_default();
        if !text.contains(MARK_BEGIN) && is_secret_value(rating, text, ValueForm::Quoted) {
            *value = Value::String(render_mark("assigned-secret"));
            differs = true;
        }
    }
    differs
}

/// How far around a secret a look takes the text out. A text whose secrets uncover each
/// other is contrived; widening ends it after a number of looks that grows with the
/// logarithm of its length, since nothing is found in a text of marks.
fn margin_of_look(looks: u32) -> usize {
    let widened = looks.checked_sub(EXACT_LOOKS);
    widened.map_or(0, |nth| {
        MARGIN_BYTES_MIN.saturating_mul(4_usize.saturating_pow(nth))
    })
}

/// Adds to the secrets what stands around them, without the quotation marks and line ends
/// in it: strings of JSON stay strings.
fn widen_ranges(text: &PlainText<'_>, found: &mut Vec<SecretRange<'_>>, margin: usize) {
    found.sort_by_key(|secret| secret.range.start);
    let mut read = 0;
    for nth in 0..found.len() {
        let SecretRange { name, ref range } = found[nth];
        let start = range.start.saturating_sub(margin).max(read);
        read = range.end.saturating_add(margin).min(text.bytes().len());
        let mut at = start;
        let is_edge = |byte: &u8| matches!(*byte, b'"' | b'\n' | b'\r');
        for piece in text.bytes()[start..read.max(start)].split(is_edge) {
            let range = at..at + piece.len();
            at = range.end + 1;
            found.push(SecretRange { name, range });
        }
    }
    found.retain(|secret| !secret.range.is_empty());
}

/// The secrets in the order of the text; those that overlap are one, which the
/// rule that ran first gives its name.
fn join_overlapping(found: Vec<SecretRange<'_>>) -> Vec<SecretRange<'_>> {
    let mut found: Vec<(usize, SecretRange<'_>)> = found.into_iter().enumerate().collect();
    found.sort_by_key(|(order, secret)| (secret.range.start, *order));
    let mut joined: Vec<(usize, SecretRange<'_>)> = Vec::new();
    for (order, secret) in found {
        match joined.last_mut() {
            Some((first, last)) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end);
                if order < *first {
                    (*first, last.name) = (order, secret.name);
                }
            }
            _ => joined.push((order, secret)),
        }
    }
    joined.into_iter().map(|(_, secret)| secret).collect()
}
