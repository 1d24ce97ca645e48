//! Examining a memory as a whole.

use std::collections::BTreeSet;

use jiff::{Timestamp, ToSpan};
use piton_core::doctor::{DoctorFacts, FindingKind, MemoryFinding, MemoryView, examine_memories};
use piton_core::memory::{Memory, MemoryKind};
use piton_core::named_paths::paths_in_memory;
use piton_core::recall::{MemoryDocument, document_similarity};
use piton_simkit::seed::cases;
use proptest::prelude::*;

/// When everything is examined.
fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().expect("a time")
}

/// Something remembered yesterday, so many days before `now`.
struct Known {
    id: String,
    kind: MemoryKind,
    content: String,
    context: String,
    days: i64,
    referenced: u64,
    record: (u64, u64),
    followed: bool,
    paths: Vec<String>,
}

fn known(id: &str, content: &str) -> Known {
    Known {
        id: id.to_owned(),
        kind: MemoryKind::Learning,
        content: content.to_owned(),
        context: String::new(),
        days: 1,
        referenced: 0,
        record: (0, 0),
        followed: true,
        paths: Vec::new(),
    }
}

fn examined(memories: &[Known], gone: &[&str]) -> Vec<MemoryFinding> {
    let documents: Vec<MemoryDocument> = memories
        .iter()
        .map(|known| MemoryDocument::from_fields("", &known.content, &known.context))
        .collect();
    let views: Vec<MemoryView<'_>> = memories
        .iter()
        .zip(&documents)
        .map(|(known, document)| MemoryView {
            id: &known.id,
            kind: known.kind,
            title: "",
            content: &known.content,
            context: &known.context,
            learned_at: now() - (known.days * 24).hours(),
            added_at: now() - (known.days * 24).hours(),
            referenced: known.referenced,
            helped: known.record.0,
            failed: known.record.1,
            followed: known.followed,
            paths: known.paths.clone(),
            document,
        })
        .collect();
    let gone: BTreeSet<String> = gone.iter().map(|path| (*path).to_owned()).collect();
    examine_memories(
        &views,
        &DoctorFacts {
            now: now(),
            gone: &gone,
        },
    )
}

/// The kinds and ids of what is found.
#[track_caller]
fn check(memories: &[Known], gone: &[&str], expected: &[(FindingKind, &[&str])]) {
    let found = examined(memories, gone);
    let found: Vec<(FindingKind, Vec<&str>)> = found
        .iter()
        .map(|finding| {
            (
                finding.kind,
                finding.ids.iter().map(String::as_str).collect(),
            )
        })
        .collect();
    let expected: Vec<(FindingKind, Vec<&str>)> = expected
        .iter()
        .map(|(kind, ids)| (*kind, ids.to_vec()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn each_finding_says_what_to_type_and_nothing_deletes() {
    let memories = [
        known("a", "Steam the oak before it is bent"),
        Known {
            days: 3,
            ..known("b", "Before it's bent, steam the oak.")
        },
        known("c", "Use the rope locker"),
        Known {
            days: 4,
            ..known("d", "Do not use the rope locker")
        },
        Known {
            record: (1, 4),
            ..known("e", "Caulk with cotton")
        },
        Known {
            paths: vec!["src/mast.rs".to_owned()],
            ..known("f", "The mast is stepped by hand")
        },
        Known {
            days: 91,
            ..known("it's", "Elm rots in fresh water")
        },
    ];
    let lines: Vec<String> = examined(&memories, &["src/mast.rs"])
        .iter()
        .map(|finding| format!("{}: {}\n    {}", finding.kind, finding.text, finding.next))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    duplicate: b says the same as a
        piton learn supersede b --by a
    contradiction: d says "Do not use the rope locker" and c says "Use the rope locker"; if the latter holds, it takes its place
        piton learn supersede d --by c
    doubted: of the attempts that had e in their prompt 4 failed and 1 succeeded
        piton learn retire e --why 'attempts failed with it'
    stale: f names src/mast.rs, which is gone
        piton learn retire f --why 'what it names is gone'
    never-used: it's was recorded 91 days ago and never used
        piton learn retire 'it'\''s' --why 'never used'
    "#);
}

#[test]
fn what_is_said_twice_is_superseded_by_what_says_more() {
    let guardrail = |id, context: &str| Known {
        kind: MemoryKind::Guardrail,
        context: context.to_owned(),
        ..known(id, "Ask the rigger first")
    };
    let short = "Steam the oak before it is bent";
    let long = "Steam the oak before it is bent. An hour an inch, in the long box.";
    let twin = FindingKind::Duplicate;
    check(
        &[known("a", long), known("b", short)],
        &[],
        &[(twin, &["b", "a"])],
    );
    // Of two of one length the one that helped, else the newer.
    let helped = Known {
        record: (3, 0),
        days: 9,
        ..known("a", short)
    };
    check(&[helped, known("b", short)], &[], &[(twin, &["b", "a"])]);
    let older = Known {
        days: 9,
        ..known("b", short)
    };
    check(&[known("a", short), older], &[], &[(twin, &["b", "a"])]);
    // What is not followed any more is no matter.
    let retired = Known {
        followed: false,
        ..known("b", short)
    };
    check(&[known("a", short), retired], &[], &[]);
    // A guardrail stands, and one with another trigger is another one.
    let learning = known("a", "Ask the rigger first, and then the cook");
    check(
        &[learning, guardrail("z", "aloft")],
        &[],
        &[(twin, &["a", "z"])],
    );
    check(
        &[guardrail("y", "aloft"), guardrail("z", "below")],
        &[],
        &[],
    );
    check(
        &[guardrail("y", "aloft"), guardrail("z", "Aloft.")],
        &[],
        &[(twin, &["y", "z"])],
    );
}

#[test]
fn of_many_that_say_the_same_one_stays() {
    let many: Vec<Known> = (0..300)
        .map(|number| known(&format!("m{number:03}"), "Steam the oak before it is bent"))
        .collect();
    let found = examined(&many, &[]);
    assert!(
        found
            .iter()
            .all(|finding| finding.kind == FindingKind::Duplicate)
    );
    let replaced: BTreeSet<&String> = found.iter().map(|finding| &finding.ids[0]).collect();
    assert_eq!(replaced.len(), found.len(), "none is superseded twice");
    assert!(
        found
            .iter()
            .all(|finding| !replaced.contains(&finding.ids[1]))
    );
    assert!(found.len() > 250, "{}", found.len());
}

#[test]
fn a_contradiction_is_plain_to_see_or_not_told() {
    for (one, other, expected) in [
        ("Use the rope locker.", "Never use the rope locker.", true),
        (
            "Commit the lock file of the rig",
            "The rig: do not commit the lock file of the rig",
            true,
        ),
        (
            "Use port 5432 for the tide server",
            "Use port 5433 for the tide server",
            true,
        ),
        ("Set SAILS_MAX=3", "set SAILS_MAX=5", true),
        (
            "Run scripts/bend.sh for the oak",
            "Run scripts/steam.sh for the oak",
            true,
        ),
        ("Use tar 1.2 aloft", "Pitch burns. Use tar 1.4 aloft!", true),
        // The same twice, or something else.
        (
            "Use port 5432 for the tide server",
            "Use port 5432 for the tide table",
            false,
        ),
        (
            "Use port 5432 for the tide server",
            "Use port 5433 for the mast server",
            false,
        ),
        ("Use the rope locker", "Never use the sail locker", false),
        (
            "Use the rope locker",
            "If the rope is wet, do not use the rope locker",
            false,
        ),
        (
            "Use the rope locker",
            "I did not use the rope locker",
            false,
        ),
        (
            "Use the rope locker",
            "Do not use the rope locker in winter",
            false,
        ),
        (
            "The tide server answers in 30 s",
            "The tide server answers in 90 s",
            false,
        ),
        ("Run tests", "Do not run tests", false),
        // Whoever says both has a reason to.
        (
            "Use the rope locker",
            "Use the rope locker. Never use the rope locker.",
            false,
        ),
    ] {
        let older = Known {
            days: 5,
            ..known("z", one)
        };
        let found = examined(&[older, known("a", other)], &[]);
        let found: Vec<&MemoryFinding> = found
            .iter()
            .filter(|finding| finding.kind == FindingKind::Contradiction)
            .collect();
        assert_eq!(found.len(), usize::from(expected), "`{one}`, `{other}`");
        for finding in found {
            assert_eq!(finding.ids, ["z", "a"], "the older is superseded");
        }
    }
    let guardrail = Known {
        kind: MemoryKind::Guardrail,
        days: 9,
        ..known("a", "Never use the rope locker")
    };
    let found = [(FindingKind::Contradiction, ["z", "a"].as_slice())];
    check(&[known("z", "Use the rope locker"), guardrail], &[], &found);
}

#[test]
fn a_memory_is_stale_when_all_that_it_names_is_gone() {
    let naming = |paths: &[&str]| Known {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..known("a", "The mast is stepped by hand")
    };
    let gone = ["src/mast.rs", "src/boom.rs"];
    let stale = [(FindingKind::Stale, ["a"].as_slice())];
    check(&[naming(&["src/mast.rs"])], &gone, &stale);
    check(&[naming(&["src/mast.rs", "src/boom.rs"])], &gone, &stale);
    check(&[naming(&["src/mast.rs", "src/keel.rs"])], &gone, &[]);
    check(&[naming(&[])], &gone, &[]);
}

#[test]
fn what_nobody_used_is_told_after_a_while_and_for_one_reason() {
    let old = |days| Known {
        days,
        ..known("a", "Elm rots in fresh water")
    };
    let unused = [(FindingKind::NeverUsed, ["a"].as_slice())];
    check(&[old(91)], &[], &unused);
    check(&[old(90)], &[], &[]);
    check(
        &[Known {
            referenced: 1,
            ..old(400)
        }],
        &[],
        &[],
    );
    check(
        &[Known {
            kind: MemoryKind::Guardrail,
            ..old(400)
        }],
        &[],
        &[],
    );
    let doubted = [(FindingKind::Doubted, ["a"].as_slice())];
    let bad = Known {
        record: (0, 3),
        paths: vec!["x.rs".to_owned()],
        ..old(400)
    };
    check(&[bad], &["x.rs"], &doubted);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_text_can_be_examined(
        texts in prop::collection::vec("([a-z/.`'*:-]{1,9}|[A-Z_]{1,4}=?[0-9]{1,5}|not|use|é|[ .\n]|\\PC){0,40}", 1..6)
    ) {
        let memories: Vec<Known> = texts
            .iter()
            .enumerate()
            .map(|(number, text)| Known {
                paths: paths_in_memory(&Memory::new(MemoryKind::Learning, text.as_str())),
                ..known(&format!("m{number}"), text)
            })
            .collect();
        for finding in examined(&memories, &[]) {
            prop_assert!(finding.next.starts_with("piton learn "));
            prop_assert!(finding.ids.iter().all(|id| finding.text.contains(id)));
        }
        for one in &texts {
            for other in &texts {
                let (one, other) = (MemoryDocument::from_fields("", one, ""), MemoryDocument::from_fields("", other, ""));
                let likeness = document_similarity(&one, &other);
                prop_assert!((0.0..=1.0).contains(&likeness));
                prop_assert!((likeness - document_similarity(&other, &one)).abs() < 1e-9);
            }
        }
    }
}
