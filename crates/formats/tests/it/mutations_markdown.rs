//! Markdown that was cut, doubled and garbled: nothing panics, and an edit that
//! is made leaves what it does not mean alone.

use std::sync::OnceLock;

use piton_formats::ralph_dir::guardrails::{self, FieldName, NewSign};
use piton_formats::ralph_dir::progress::{self, At, Completed};
use piton_formats::ralph_dir::{iteration, logs, progress_txt, signals};
use piton_formats::task::{self, Source};

const CORPUS: [&str; 9] = [
    include_str!("../corpus/markdown/task_spec.md"),
    include_str!("../corpus/markdown/task_wild.md"),
    include_str!("../corpus/markdown/task_crlf.md"),
    include_str!("../corpus/markdown/progress_seed.md"),
    include_str!("../corpus/markdown/progress_loop.md"),
    include_str!("../corpus/markdown/progress_crlf.md"),
    include_str!("../corpus/markdown/guardrails_seed.md"),
    include_str!("../corpus/markdown/guardrails_loop.md"),
    include_str!("../corpus/markdown/activity.log.md"),
];

const PIECES: [&str; 34] = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    "    ",
    "- ",
    "- [ ] ",
    "1. [x] ",
    "* [X] **[1]** ",
    "```\n",
    "~~~",
    "<!--",
    "-->",
    "<!-- group: 3 -->",
    "> ",
    "# ",
    "### Completed\n",
    "## Session 1 (2025-01-01)\n",
    "### Sign: x\n",
    "- **Trigger**:",
    "**Session 3 ended** - ",
    "**Session 3 started** (model: m)\n",
    "---\n",
    "===\n",
    "\u{feff}",
    "\u{0}",
    "é",
    "🟢",
    "`",
    "(resolved",
    ")",
    "→ exit 1",
    "[12:00:00] ",
    "<pre>\n",
];

/// A source of chance that gives the same numbers each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn mutate(chance: &mut Chance) -> String {
    let whole = CORPUS[chance.below(CORPUS.len())];
    // Small texts, so that many of them fit into a short time.
    let from = boundary(whole, chance.below(whole.len()));
    let to = boundary(whole, (from + 20 + chance.below(250)).min(whole.len()));
    let mut text = whole[from..to.max(from)].to_owned();
    for _ in 0..1 + chance.below(4) {
        let at = boundary(&text, chance.below(text.len() + 1));
        if chance.below(3) == 0 {
            let end = boundary(&text, (at + chance.below(30)).min(text.len()));
            text.replace_range(at..end.max(at), "");
        } else {
            text.insert_str(at, PIECES[chance.below(PIECES.len())]);
        }
    }
    text
}

/// Whether every line of `old` stands in `new`, in its order.
fn keeps_lines(old: &str, new: &str) -> bool {
    let mut have = new.split('\n').map(|line| line.trim_end_matches('\r'));
    old.split('\n')
        .map(|line| line.trim_end_matches('\r'))
        .filter(|line| !line.trim().is_empty())
        .all(|line| have.by_ref().any(|have| have.starts_with(line.trim_end())))
}

fn words() -> &'static Completed {
    static WORDS: OnceLock<Completed> = OnceLock::new();
    WORDS.get_or_init(|| Completed {
        number: Some(3),
        text: "# a <!-- b".to_owned(),
        commit: Some("abc".to_owned()),
        notes: Some("one\n# two\n```\nthree".to_owned()),
        screenshot: None,
    })
}

fn edit_progress(text: &str) {
    let at = At {
        number: 1,
        date: "2025-03-01",
    };
    let added = [
        progress::start_session(text, at),
        progress::add_completed(text, at, words()),
        progress::add_validation(text, at, "opens"),
        progress::end_session(text, at, "done"),
    ];
    let is_none = |line: &&str| !line.trim().trim_end_matches('.').ends_with("None");
    let old: Vec<&str> = text.split('\n').filter(is_none).collect();
    let old = old.join("\n");
    for new in added.into_iter().flatten() {
        assert!(keeps_lines(&old, &new), "{text:?}\n{new:?}");
    }
    let blocked = progress::add_blocker(text, at, "stuck");
    if let Ok(new) = blocked {
        assert!(
            progress::resolve_blocker(&new, "stuck", "went on").is_ok(),
            "{new:?}"
        );
    }
    drop(progress::set_focus(text, at, "- x"));
}

fn edit_signs(text: &str) {
    let sign = NewSign {
        name: "New #".to_owned(),
        trigger: "t".to_owned(),
        instruction: "```\n# x".to_owned(),
        evidence: None,
        added_after: "a".to_owned(),
    };
    if let Ok(new) = guardrails::add_sign(text, &sign) {
        assert!(keeps_lines(text, &new), "{text:?}\n{new:?}");
    }
    let all = guardrails::read(Source { name: "", text }).0;
    for sign in all.signs.iter().take(2) {
        let moved = guardrails::resolve_sign(text, &sign.name, "why", "2025-01-01");
        if let Ok(new) = moved {
            let old = all.sign(&sign.name).unwrap();
            assert!(new.contains(&text[old.bytes.clone()]), "{text:?}\n{new:?}");
        }
        drop(guardrails::change_sign(
            text,
            &sign.name,
            FieldName::Instruction,
            "a\nb",
        ));
        drop(guardrails::change_sign(
            text,
            &sign.name,
            FieldName::Evidence,
            "",
        ));
    }
}

fn feed(text: &str) {
    let source = Source { name: "", text };
    let (read, _) = task::read(source);
    task::check(source);
    for criterion in read.criteria.iter().take(3) {
        let new = task::set_ticked(text, &criterion.id, !criterion.ticked).unwrap();
        assert_eq!(new.len(), text.len());
        let again = task::read(Source {
            name: "",
            text: &new,
        })
        .0;
        assert_eq!(
            task::match_criteria(&read, &again).len(),
            read.criteria.len()
        );
    }
    progress::read(source);
    guardrails::check(source);
    logs::read(text);
    iteration::read(source);
    signals::signals(text);
    progress_txt::read(text);
    edit_progress(text);
    edit_signs(text);
}

/// Five thousand of them; four tests, so that they run beside each other.
fn five_thousand(seed: u64) {
    let mut chance = Chance(seed);
    for _ in 0..5000 {
        feed(&mutate(&mut chance));
    }
}

#[test]
fn mutations_break_nothing_in_the_first_quarter() {
    five_thousand(0x5eed_1234_abcd_0001);
}

#[test]
fn mutations_break_nothing_in_the_second_quarter() {
    five_thousand(0x0dd5_eed5_1357_9bdf);
}

#[test]
fn mutations_break_nothing_in_the_third_quarter() {
    five_thousand(0x2468_ace0_fedc_ba98);
}

#[test]
fn mutations_break_nothing_in_the_last_quarter() {
    five_thousand(0x7777_0123_4567_89ab);
}

#[test]
fn the_corpus_itself_and_what_is_hardly_text_is_read() {
    for text in CORPUS {
        feed(text);
    }
    for text in [
        "", "\u{feff}", "\u{0}", "\r", "\r\n\r\n", "-", "---", "---\n---", "- [ ]", "```",
    ] {
        feed(text);
    }
}

#[test]
fn depth_and_length_cost_no_more_than_their_size() {
    let many = 20_000;
    let deep_indent: String = (0..1500)
        .map(|i| format!("{}- [ ] x\n", " ".repeat(i)))
        .collect();
    for text in [
        "> ".repeat(many),
        "- ".repeat(many),
        format!("{}\n{}", "- ".repeat(many), "\n".repeat(many)),
        format!("{}x\n{}", "> ".repeat(many), "x\n".repeat(many)),
        "<!--".repeat(many),
        "- [ ] <!-- group: x -->".repeat(many),
        "[".repeat(many),
        "*a ".repeat(many),
        "`a``".repeat(many),
        "- [ ] a\n".repeat(many),
        "# a\n".repeat(many),
        "## Session 1 (2025-01-01)\n".repeat(many),
        "[10:00:00] SHELL a\nb\n".repeat(many),
        "(resolved".repeat(many),
        deep_indent,
    ] {
        let source = Source {
            name: "",
            text: &text,
        };
        task::check(source);
        progress::read(source);
        guardrails::check(source);
        logs::read(&text);
        signals::signals(&text);
    }
}
