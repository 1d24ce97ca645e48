//! Markdown that was cut, doubled and garbled: nothing panics, and an edit that
//! is made leaves what it does not mean alone.

use piton_formats::ralph_dir::{guardrails, iteration, logs, progress, progress_txt};
use piton_formats::task::{self, SourceText};
use piton_simkit::seed::salted;

use crate::{edits, ralph_dir_faces};

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

fn feed(text: &str) {
    let source = SourceText { name: "", text };
    let (read, _) = task::parse_task(source);
    task::check(source);
    let itself = task::match_criteria(&read, &read);
    assert!(itself.iter().enumerate().all(|(at, old)| *old == Some(at)));
    progress::parse_progress_md(source);
    guardrails::check_guardrails(source);
    logs::parse_log(text);
    iteration::parse_iteration(source);
    progress_txt::parse_progress_txt(text);
    edits::keep_all_else(text);
    ralph_dir_faces::keep_all_else(text);
}

/// Five thousand of them; four tests, so that they run beside each other.
fn five_thousand(salt: u64) {
    let mut chance = Chance(salted(salt).max(1));
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
        let source = SourceText {
            name: "",
            text: &text,
        };
        task::check(source);
        progress::parse_progress_md(source);
        guardrails::check_guardrails(source);
        logs::parse_log(&text);
        ralph_dir_faces::keep_all_else(&text);
    }
}
