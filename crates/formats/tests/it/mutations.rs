//! Files that were cut, spliced and garbled at random; nothing may panic.

use crate::chance::Chance;
use piton_formats::json::{self, ValueNode, find_list_ends, is_same_json, patch};
use piton_formats::problem::SourceText;
use piton_formats::{prd, sdlc, shape};
use piton_simkit::seed::salted;

const CORPUS: [&str; 6] = [
    include_str!("../corpus/json/state.json"),
    include_str!("../corpus/json/features.json"),
    include_str!("../corpus/json/stories.json"),
    include_str!("../corpus/json/metrics.jsonl"),
    include_str!("../corpus/json/odd.json"),
    include_str!("../corpus/json/heartbeat.json"),
];

const INSERTS: [&str; 24] = [
    "NaN",
    "-Infinity",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\\u",
    "\\ud800",
    "//",
    "/*",
    "#",
    "\u{feff}",
    "\u{0}",
    "\r\n",
    "1e999",
    "null",
    "é",
    "{\"id\":",
    "\n{",
];

fn mutate(chance: &mut Chance, bytes: &mut Vec<u8>) {
    let at = chance.below(bytes.len() + 1);
    let to = at + chance.below(bytes.len() - at + 1).min(200);
    match chance.below(7) {
        0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
        1 => bytes.truncate(at),
        2 => {
            let copy = bytes[at..to].to_vec();
            bytes.splice(at..at, copy);
        }
        3 => drop(bytes.drain(at..to)),
        4 => {
            let other = chance.pick(&CORPUS).as_bytes();
            let from = chance.below(other.len());
            let len = chance.below(80).min(other.len() - from);
            bytes.splice(at..to, other[from..from + len].iter().copied());
        }
        _ => {
            let insert = chance.pick(&INSERTS).bytes();
            bytes.splice(at..at, insert);
        }
    }
}

/// Feeds `text` to every reader, and checks what holds for any text.
fn feed(text: &str, wanted: &ValueNode) {
    let parsed = json::parse(text);
    assert!(parsed.root.is_some() || !parsed.faults.is_empty());
    for fault in &parsed.faults {
        assert!(
            text.get(fault.span.start..fault.span.end).is_some(),
            "{fault:?}"
        );
    }
    json::parse_stream(text);
    sdlc::parse_metrics(text);
    let source = SourceText { name: "f", text };
    let (state, _) = sdlc::parse_state(source);
    prd::parse_prd(source);
    if let Some(root) = &parsed.root {
        shape::check(root, &sdlc::SHAPE, "f", "state");
        shape::check(root, &prd::FEATURES_SHAPE, "f", "prd");
    }
    if let (Some(state), Some(root)) = (state, &parsed.root) {
        let again = sdlc::to_tree(&state, Some(root));
        assert!(is_same_json(root, &again), "{text}");
    }
    if let Some(ends) = find_list_ends(text, "features") {
        let abridged = json::parse(&ends.abridge(text));
        assert_eq!(parsed.faults.is_empty(), abridged.faults.is_empty());
    }
    if let Ok(patched) = patch(text, wanted) {
        assert!(is_same_json(&json::parse(&patched).root.unwrap(), wanted));
    }
}

#[test]
fn twenty_thousand_garbled_files_make_nothing_panic() {
    let wanted: Vec<ValueNode> = CORPUS
        .iter()
        .filter_map(|text| json::parse_stream(text).into_iter().next()?.root)
        .collect();
    let mut chance = Chance::new(salted(1));
    for _ in 0..20_000 {
        // The large one half as often: it takes as long as all the others.
        let text = match chance.below(11) {
            0 => CORPUS[0],
            other => CORPUS[1 + other % (CORPUS.len() - 1)],
        };
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=chance.below(3) {
            mutate(&mut chance, &mut bytes);
        }
        feed(&String::from_utf8_lossy(&bytes), chance.pick(&wanted));
    }
}

#[test]
fn the_corpus_itself_is_read_in_any_line_ends() {
    for text in CORPUS {
        let wanted = ValueNode::seq(Vec::new());
        feed(text, &wanted);
        feed(&text.replace('\n', "\r\n"), &wanted);
        feed(&format!("\u{feff}{text}"), &wanted);
    }
}

#[test]
fn depth_is_bounded_in_every_reader() {
    let wanted = ValueNode::plain("1");
    for text in [
        "[".repeat(10_000),
        "{\"a\":".repeat(10_000),
        format!("{{\"features\": {}", "[{\"id\": ".repeat(10_000)),
        format!(
            "{{\"features\": [{}{}]}}",
            "[".repeat(10_000),
            "]".repeat(10_000)
        ),
        "{\"a\": [\n".repeat(10_000),
    ] {
        feed_deep(&text, &wanted);
    }
}

fn feed_deep(text: &str, wanted: &ValueNode) {
    assert!(json::parse(text).root.is_none());
    json::parse_stream(text);
    assert!(patch(text, wanted).is_err());
    find_list_ends(text, "features");
    let source = SourceText { name: "f", text };
    assert!(sdlc::parse_state(source).0.is_none());
    assert!(prd::parse_prd(source).0.is_none());
}
