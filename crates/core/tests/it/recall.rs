//! Recall, from a text to advice or silence.

use jiff::Timestamp;
use piton_core::recall::{
    MemoryDocument, Query, Recall, RecallCandidate, Statistics, score_candidates, tokenize,
};
use piton_simkit::seed::cases;
use proptest::prelude::*;

/// Something remembered: id, title, content.
type Memory = (&'static str, &'static str, &'static str);

/// What a small shop has learned.
const MEMORY: [Memory; 8] = [
    (
        "m1",
        "Address already in use in the end-to-end tests",
        "An old server survived. Use PORT=0; by hand: `fuser -k 8080/tcp`.",
    ),
    (
        "m2",
        "Orphan rule for the money types",
        "E0117: wrap the foreign type in a newtype, see crates/money/src/wrap.rs.",
    ),
    (
        "m3",
        "Generated client must not be edited",
        "Run `make client` after a change of openapi.json.",
    ),
    (
        "m4",
        "Integration tests exhaust the pool",
        "PoolTimedOut: run with --test-threads=4 or set PGPOOL_MAX=3.",
    ),
    (
        "m5",
        "Amounts are cents in an i64",
        "Never f64; the reviewer rejects floats in crates/ledger.",
    ),
    (
        "m6",
        "Vitest needs the setup file",
        "ResizeObserver is stubbed in src/test/setup.ts.",
    ),
    (
        "m7",
        "Images are built for arm64",
        "docker buildx build --platform linux/arm64; the runner is amd64.",
    ),
    (
        "m8",
        "Login in staging",
        "Mint a token with `cargo run -p devtools -- mint-token`.",
    ),
];

fn recall_of(text: &str, change: impl Fn(&mut Vec<RecallCandidate<'_>>)) -> Recall {
    let documents: Vec<(&str, MemoryDocument)> = MEMORY
        .iter()
        .map(|(id, title, content)| (*id, MemoryDocument::from_fields(title, content, "")))
        .collect();
    let mut candidates: Vec<RecallCandidate<'_>> = documents
        .iter()
        .map(|(id, document)| RecallCandidate {
            id,
            document,
            followed: true,
            learned_at: Timestamp::UNIX_EPOCH,
            helped: 0,
            failed: 0,
        })
        .collect();
    change(&mut candidates);
    let followed = candidates.iter().filter(|candidate| candidate.followed);
    let statistics = Statistics::from_documents(followed.map(|candidate| candidate.document));
    score_candidates(
        &Query::parse(text),
        &statistics,
        &candidates,
        Timestamp::UNIX_EPOCH,
    )
}

fn recall(text: &str) -> Recall {
    recall_of(text, |_| {})
}

fn best(recall: &Recall) -> Option<&str> {
    recall.results.first().map(|found| found.id.as_str())
}

#[test]
fn what_helps_is_found_under_the_noise_and_said_why() {
    let text = "   Compiling serde v1.0.210\n   Compiling hyper v1.4.1\n\
        ---- invoices::draft stdout ----\n\
        thread 'invoices::draft' panicked at tests/it/support.rs:19:10:\n\
        called `Result::unwrap()` on an `Err` value: PoolTimedOut\n\
        test result: FAILED. 0 passed; 1 failed; finished in 30.01s\n";
    let recall = recall(text);
    assert_eq!(best(&recall), Some("m4"));
    assert!(recall.advise, "{recall:?}");
    let why = &recall.results[0].why;
    assert!(why.contains(&"PoolTimedOut".to_owned()), "{why:?}");
}

#[test]
fn what_says_the_same_in_other_words_is_found() {
    let recall = recall("Error: listen EADDRINUSE: address :::8080");
    assert_eq!(best(&recall), Some("m1"));
}

#[test]
fn nothing_is_advised_where_nothing_helps() {
    let recall = recall("error: failed to fetch the index of crates: could not resolve host");
    assert!(!recall.advise, "{recall:?}");
    assert_eq!(recall_of("x", |all| all.clear()).results, []);
    assert!(!recall_of("", |_| {}).advise);
}

#[test]
fn another_code_of_the_same_class_makes_advice_less_likely() {
    let same = recall("error[E0117]: only foreign types, the orphan rule says");
    let other = recall("error[E0119]: only foreign types, the orphan rule says");
    assert_eq!(best(&other), Some("m2"));
    assert!(other.chance < same.chance, "{other:?}");
}

#[test]
fn the_only_thing_that_is_remembered_is_advised_where_it_helps() {
    let query = Query::parse("error: the importer needs generated code: run `make gen` first\n");
    let document =
        MemoryDocument::from_fields("", "The importer needs generated code: run `make gen`", "");
    let statistics = Statistics::from_documents(std::iter::once(&document));
    let only = RecallCandidate {
        id: "learning-0001",
        document: &document,
        followed: true,
        learned_at: Timestamp::UNIX_EPOCH,
        helped: 0,
        failed: 0,
    };
    let recall = score_candidates(&query, &statistics, &[only], Timestamp::UNIX_EPOCH);
    assert!(recall.advise, "{}", recall.chance);
    let other = Query::parse("error: the crane is out of oil\n");
    assert!(!score_candidates(&other, &statistics, &[only], Timestamp::UNIX_EPOCH).advise);
}

#[test]
fn what_is_not_followed_any_more_is_not_found() {
    let recall = recall_of("PoolTimedOut", |all| {
        for candidate in all.iter_mut().filter(|candidate| candidate.id == "m4") {
            candidate.followed = false;
        }
    });
    assert_ne!(best(&recall), Some("m4"));
}

#[test]
fn what_helped_before_comes_first_among_equals() {
    let twin = MemoryDocument::from_fields("Clear the cache", "rm -r .cache/shop", "");
    let candidate = |id, helped, failed| RecallCandidate {
        id,
        document: &twin,
        followed: true,
        learned_at: Timestamp::UNIX_EPOCH,
        helped,
        failed,
    };
    let candidates = [
        candidate("a", 0, 3),
        candidate("b", 0, 0),
        candidate("c", 3, 0),
    ];
    let statistics = Statistics::from_documents([&twin, &MemoryDocument::default()].into_iter());
    let recall = score_candidates(
        &Query::parse("stale cache in .cache/shop"),
        &statistics,
        &candidates,
        Timestamp::UNIX_EPOCH,
    );
    let order: Vec<&str> = recall
        .results
        .iter()
        .map(|found| found.id.as_str())
        .collect();
    assert_eq!(order, ["c", "b", "a"]);
}

/// Text as a tool may print it, and as it should not.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "\\PC{0,60}",
        Just("error[E0117]: only foreign types".to_owned()),
        Just("   Compiling serde v1.0.210".to_owned()),
        Just("\u{1b}[31mPoolTimedOut\u{1b}[0m".to_owned()),
        Just("#12 3.4 npm error code ERESOLVE\r50 %\rdone".to_owned()),
        "[#*~\\\\\u{1b}\r\\[\\]:0-9a-zA-Z_/.@ -]{0,40}",
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_text_gets_an_answer(text in text()) {
        let recall = recall(&text);
        prop_assert!((0.0..=1.0).contains(&recall.chance));
        prop_assert!(recall.results.iter().all(|found| found.score.is_finite()));
        prop_assert!(recall.results.is_sorted_by(|one, other| one.score >= other.score));
    }

    #[test]
    fn a_token_holds_no_blank_and_no_sign(text in any::<String>()) {
        for token in tokenize(&text) {
            prop_assert!(!token.text.is_empty());
            // What the store's index takes for one token.
            let one = |sign: char| sign.is_alphanumeric() || matches!(sign, '=' | '-');
            prop_assert!(token.text.chars().all(one), "{token:?}");
        }
    }

    #[test]
    fn the_order_of_the_candidates_changes_nothing(text in text(), turn in 0..MEMORY.len()) {
        let turned = recall_of(&text, |all| all.rotate_left(turn));
        prop_assert_eq!(recall(&text), turned);
    }

    #[test]
    fn colours_change_nothing(text in "[a-zA-Z :\\[\\]0-9\n]{0,80}") {
        let coloured = text.replace(' ', "\u{1b}[1;31m \u{1b}[0m");
        prop_assert_eq!(recall(&text), recall(&coloured));
    }

    #[test]
    fn the_words_of_a_token_are_its_own(name in "[a-z]{3,9}(-[a-z]{3,9}){0,2}") {
        let all = |line: &str| tokenize(line).into_iter().map(|token| token.text).collect::<Vec<_>>();
        prop_assert_eq!(all(&name), all(&name.to_uppercase()));
    }
}
