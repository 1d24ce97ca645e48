//! Words of which one excludes the others: what holds for staging need not hold
//! for production.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::stem::stem;

/// Each line a group. Known of any project; nothing in it is of one.
const GROUPS: &[&str] = &[
    "staging production prod dev development preview",
    "debug release",
    "unit integration e2e smoke",
    "client server",
    "frontend backend",
    "read write",
    "reader writer",
    "input output",
    "stdin stdout stderr",
    "request response",
    "sender receiver",
    "producer consumer",
    "upload download",
    "import export",
    "encode decode",
    "encrypt decrypt",
    "serialize deserialize",
    "lock unlock",
    "open close",
    "start stop restart",
    "enable disable",
    "enabled disabled",
    "allow deny forbid",
    "allowed denied forbidden",
    "add remove delete",
    "create drop delete",
    "insert update delete",
    "push pull",
    "get put post delete patch",
    "increase decrease",
    "raise lower",
    "min max",
    "minimum maximum",
    "first last",
    "always never",
    "old new",
    "left right",
    "top bottom",
    "public private",
    "internal external",
    "local remote",
    "sync async",
    "synchronous asynchronous",
    "optional required",
    "mutable immutable",
    "stateful stateless",
    "true false",
    "success failure",
    "succeed fail",
    "linux macos windows",
    "android ios",
    "amd64 arm64 x86",
    "postgres postgresql mysql sqlite mariadb",
    "npm pnpm yarn bun",
    "pip poetry uv conda",
    "docker podman",
    "http https",
    "json yaml toml xml csv",
    "utf8 latin1 utf16",
    "upper lower",
    "uppercase lowercase",
    "ascending descending",
    "horizontal vertical",
    "parent child",
    "source target",
    "up down",
    "monday tuesday wednesday thursday friday saturday sunday",
];

/// The groups of each word, by its stem.
fn groups_by_word() -> &'static HashMap<String, Vec<usize>> {
    static WORDS: OnceLock<HashMap<String, Vec<usize>>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut words: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, group) in GROUPS.iter().enumerate() {
            for word in group.split_whitespace() {
                words.entry(stem(word)).or_default().push(number);
            }
        }
        words
    })
}

/// Whether one of these words excludes one of those. Stems, no word in both.
pub(super) fn has_exclusive_words(these: &[&str], those: &[&str]) -> bool {
    let of = |word: &&str| groups_by_word().get(*word).into_iter().flatten();
    let mine: Vec<usize> = these.iter().flat_map(of).copied().collect();
    those.iter().flat_map(of).any(|group| mine.contains(group))
}
