//! The files of a project whose loop ran for weeks before piton came, in four
//! versions as they were committed: `guardrails.md` with signs of the loop and those
//! that were learned, `progress.md` with notes under dates. The shape is that of real
//! files, the words are not.

use std::fmt::Write as _;

use crate::harness::Scratch;

const SIGNS: &str = ".ralph/guardrails.md";
const PROGRESS: &str = ".ralph/progress.md";
const TASK: &str = "RALPH_TASK.md";

const HEAD: &str = "# Ralph Guardrails (Signs)

> What went wrong once. READ THIS BEFORE YOU BEGIN.

## Core Signs

### Sign: Look Before Cutting
- **Trigger**: Before any plank is cut
- **Instruction**: Always look at the plank first
- **Added after**: Core principle

### Sign: Float After Caulking
- **Trigger**: After any seam is caulked
- **Instruction**: Float the hull to see that nothing leaks
- **Added after**: Core principle

### Sign: Moor Often
- **Trigger**: Before anything risky
- **Instruction**: Moor the hull as it is
- **Added after**: Core principle

---

## Learned Signs

(Signs of observed leaks appear below)
";

/// What was learned: its title, when it holds, what to do, and what showed it.
const LEARNED: [[&str; 4]; 10] = [
    [
        "One Tide Table",
        "Any plan reads tides, makes marks, or moors",
        "Use one table for the pilot and the crew; never read `tide.log` on the side",
        "The pilot said 3 fathoms, the lead said 2",
    ],
    [
        "Sound After Mooring",
        "`moor` says that the hull is fast",
        "At once read the depth again with `lead --json`, keep it, and tell the crew before the watch ends",
        "The table was fine; the keel was not",
    ],
    [
        "Burn Old Charts",
        "No shoal is left in the sector",
        "Burn the charts that were drawn of it, so that nobody sails by them",
        "A stale `shoals.map` gave `No such shoal: 7`",
    ],
    [
        "Table/Log Parity",
        "The table and the log disagree on fast or loose lines",
        "Make the rows of the table from the log; keep `Fast` and `Loose` apart",
        "`Fast = 1` while the table had only loose ones and hid `BOW:line`",
    ],
    [
        "Unload Means Clear",
        "Somebody takes a cask back to `ashore`/`unload`",
        "At once strike `casks.list` and `stow.plan`; never let Sail use an old stowage.",
        "Sail failed with `No such cask` after one was left ashore.",
    ],
    [
        "Zero-Cask Ballast",
        "The number of casks becomes zero after stowage",
        "Set `hold/yard/ballast.yml` back to what the builder gave (`hull.first`) and weigh anew.",
        "A full stowage listed casks of another hull.",
    ],
    [
        "Ballast Scope",
        "Weighing with casks aboard (`with_casks=true`, no moving)",
        "Weigh only what stands in this hold; leave the others' alone.",
        "The weight of all holds made large `+ lead` lists in Sail.",
    ],
    [
        "Casks vs Barrels",
        "The count of casks differs from `Stow: X to load`",
        "Compare by kind before it is called a leak (one cask may be `cask` + `bung`; a keg may be a name only).",
        "53 casks and 49 loads were both right.",
    ],
    [
        "Lantern Glass",
        "Any lantern with `glass(...)` on any deck.",
        "Try both: `try: glass(oil, clear=True) except Wrong: glass(oil)`, for old lanterns and new ones.",
        "`Wrong: glass() wants 1 more: 'clear'` on the poop deck (`stern.lamp`) and others.",
    ],
    [
        "Signal Flags Seen",
        "Any change of flags, of their order, or of what is hoisted.",
        "Keep to `flags-plain`, leave `flags-auto-night` alone, and hoist no flag that is `ashore_only`, so that what is counted is what is seen.",
        "The count was right and the mast was bare.",
    ],
];

/// How many signs were learned, and how many notes were written, at each commit.
const VERSIONS: [(usize, usize); 4] = [(0, 2), (9, 4), (10, 6), (10, 12)];

fn signs(learned: usize) -> String {
    let mut text = HEAD.to_owned();
    for (nth, [title, trigger, instruction, evidence]) in LEARNED[..learned].iter().enumerate() {
        let day = 10 + nth;
        write!(text, "\n### Sign: {title}\n- **Trigger**: {trigger}\n- **Instruction**: {instruction}\n- **Evidence**: {evidence}\n- **Added after**: 2025-03-{day} leak at the {nth} frame\n")
            .expect("a string takes all");
    }
    text
}

fn progress(notes: usize) -> String {
    let mut text = "# Progress Log\n\n> Kept by the crew after each watch.\n\n## Summary\n\n- Iterations completed: 0\n- Current status: Afloat\n\n## How This Works\n\nProgress is kept in THIS FILE, not in the crew's heads.\nA fresh crew reads it first.\n\n## Session History\n\n\n### 2025-03-01 17:37:54\n**Session 1 started** (model: able-seaman)\n".to_owned();
    for nth in 0..notes {
        let day = 2 + nth;
        let again = if nth % 3 == 2 { " (continued)" } else { "" };
        write!(text, "\n### 2025-03-{day:02}{again}\n**Hull {nth}: caulked and rigged \u{2014} Done**\n\nAll of it:\n\n")
            .expect("a string takes all");
        match nth % 3 {
            0 => write!(text, "1. **Renamed \"Bow\" \u{2192} \"Stem\"**: in `stem.rs`, `keel.rs`,\n   and on the plans. `mast.rs` was clean.\n\n2. **Pitch**: 14 seams (31 in all).\n\nCommits: 5 of the loop (stem, pitch)\n"),
            1 => write!(text, "- **Frames 1a (27-29)**: seen \u{2014} ribs, knees,\n  and planks (`UT-{nth}` was added)\n- [x] frame {nth} stands\n\nFiles:\n- `hull/frames.rs` \u{2014} 62 ribs (19 \u{2192} 62)\n"),
            _ => write!(text, "- Added a sign to `.ralph/guardrails.md` for:\n  - old charts,\n  - casks that are barrels.\n- Updated `logbook.txt`.\n"),
        }
        .expect("a string takes all");
    }
    text
}

/// Which signs a text has: a count of its lines.
fn titles(text: &str) -> Vec<String> {
    let titles = text
        .lines()
        .filter_map(|line| line.strip_prefix("### Sign: "));
    titles.map(str::to_owned).collect()
}

/// Which rules hold, as piton has them.
fn known(scratch: &Scratch) -> Vec<String> {
    let known = scratch.json_list(&["learn", "list", "--kind", "guardrail"]);
    let known = known.as_array().expect("a list").iter();
    let title = |one: &serde_json::Value| one["title"].as_str().unwrap_or_default().to_owned();
    known.map(title).collect()
}

fn sorted(mut titles: Vec<String>) -> Vec<String> {
    titles.sort();
    titles
}

/// Whether `text` is `before` with lines that were added.
fn is_grown_from(text: &str, before: &str) -> bool {
    let mut lines = text.lines();
    before.lines().all(|line| lines.any(|have| have == line))
}

#[test]
fn four_versions_of_a_loops_files_are_taken_as_they_stand() {
    let scratch = Scratch::new();
    scratch.write(
        TASK,
        "# Hull\n\n- [x] The keel is laid\n- [ ] The mast stands\n",
    );
    let mut open: usize = 0;
    for (nth, (learned, notes)) in VERSIONS.into_iter().enumerate() {
        let texts = [(SIGNS, signs(learned)), (PROGRESS, progress(notes))];
        for (file, text) in &texts {
            scratch.write(file, text);
        }
        scratch.git(&["add", "-A"]);
        scratch.git(&["commit", "-qm", &format!("version {nth}")]);
        let begin: &[&str] = if nth == 0 {
            &["init", "--yes"]
        } else {
            &["files", "sync"]
        };
        for _ in 0..2 {
            let said = scratch.piton(begin);
            assert_eq!(said.exit, 0, "{nth}: {}", said.err);
            for (file, text) in &texts {
                assert_eq!(&scratch.read(file), text, "{nth}: {}", said.err);
            }
        }
        assert_eq!(scratch.git(&["status", "--porcelain", "--", ".ralph"]), "");
        assert_eq!(
            sorted(known(&scratch)),
            sorted(titles(&texts[0].1)),
            "{nth}"
        );
        open += scratch.json_list(&["inbox"]).as_array().map_or(1, Vec::len);
        assert_eq!(open, 0, "{nth}: {}", scratch.piton(&["inbox"]).out);
        // The one session that is told of, and none of the notes.
        let recent = scratch.json(&["recent", "100"]);
        assert_eq!(
            recent["entries"].as_array().map(Vec::len),
            Some(1),
            "{nth}: {recent}"
        );
    }
    // What is piton's own is added, and the rest stays to the byte.
    let (signs, notes) = (scratch.read(SIGNS), scratch.read(PROGRESS));
    scratch.agent("cat >prompt; echo x >>mast; echo done");
    let run = [
        "run",
        TASK,
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let said = scratch.piton(&run);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(
        scratch.read(TASK),
        "# Hull\n\n- [x] The keel is laid\n- [x] The mast stands\n"
    );
    assert_eq!(scratch.read(SIGNS), signs);
    let grown = scratch.read(PROGRESS);
    assert!(
        grown.len() > notes.len() && is_grown_from(&grown, &notes),
        "{grown}"
    );
    assert_eq!(
        grown.matches("[x] frame").count(),
        notes.matches("[x] frame").count()
    );
    let prompt = scratch.read("prompt");
    assert!(
        prompt.contains("Always look at the plank first"),
        "{prompt}"
    );
}
