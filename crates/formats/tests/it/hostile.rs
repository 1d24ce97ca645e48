//! Input that nobody should write, and somebody will.

use crate::shelf::{Shelf, compile_on};
use piton_formats::sprint::{SourceText, detect_layout, parse_progress};
use piton_formats::yaml;

fn feed(text: &str) {
    let parsed = yaml::parse(text);
    if let Some(root) = &parsed.root {
        let written = yaml::render(root);
        assert_eq!(yaml::parse(&written).root.as_ref(), Some(root), "{written}");
    }
    detect_layout(text);
    parse_progress(SourceText { name: "P", text });
    let good = "name: W\nphases:\n  - {id: a, for-each: step, workflow: w}\n";
    compile_on(
        &Shelf::new([("main.yaml", good), ("w.yaml", text)]),
        text,
        true,
    );
    let sprint = "workflow: main\ncollections:\n  step: [{prompt: a, workflow: w}]\n";
    compile_on(
        &Shelf::new([("main.yaml", text), ("w.yaml", text)]),
        sprint,
        false,
    );
    compile_on(
        &Shelf::new([("main.yaml", good), ("w.yaml", text)]),
        sprint,
        false,
    );
}

#[test]
fn nothing_makes_the_readers_panic() {
    let wide: String = (0..2000).map(|i| format!("k{i}: {{{i}: [x]}}\n")).collect();
    for text in [
        "\u{0}\u{1}\u{2}PK\u{3}",
        "\u{feff}",
        "\u{feff}a: 1\r\nb: [\r\n",
        "%YAML 9.9\n---\na\n",
        "? ? ? ?",
        "&a *a",
        "&a [*a]",
        "a: &x {b: *x}",
        "<<: *y",
        "- - - -\t-",
        "'",
        "\"\\x",
        "|9\n a",
        "!!int x",
        "{{{{{{",
        "phases: [null, 1, [], {}, {id: {}}, {id: []}]\nname: {}\n",
        "phases: {a: b}\nsprint-id: []\ncurrent: []\nstats: 5\nstatus: {}\n",
        "sprint-id: x\nphases: [{steps: {a: 1}, gate: [], gate-tracking: 3, human-needed: [x], depends-on: {}}]\nstats: {elapsed: [], total-phases: -1}\n",
        "workflow: main\ncollections: {step: [{prompt: x, id: {}, depends-on: [{}, []]}]}\nname: []\nsprint-id: {}\n",
        "name: x\nworktree: []\nper-iteration-hooks: [1, {}]\norchestration: 5\nphases: [{id: a, prompt: x, gate: []}]\n",
        &wide,
    ] {
        feed(text);
    }
}

#[test]
fn depth_and_aliases_are_bounded() {
    feed(&"[".repeat(10_000));
    feed(&"{a: ".repeat(10_000));
    let deep: String = (0..10_000)
        .map(|i| format!("{}a:\n", " ".repeat(i.min(5000))))
        .collect();
    feed(&deep[..2_000_000.min(deep.len())]);
    let mut bomb = "a0: &a0 x\n".to_owned();
    for level in 1..60 {
        let before = level - 1;
        bomb.push_str(&format!(
            "a{level}: &a{level} [*a{before}, *a{before}, *a{before}]\n"
        ));
    }
    feed(&bomb);
}

#[test]
fn references_that_multiply_are_bounded() {
    let mut shelf = Shelf::default();
    let row = |next: &str| {
        let phases: String = (0..200)
            .map(|i| format!("  - {{id: p{i}, workflow: {next}}}\n"))
            .collect();
        format!("name: W\nphases:\n{phases}")
    };
    shelf.put("main.yaml", row("w1"));
    shelf.put("w1.yaml", row("w2"));
    shelf.put("w2.yaml", row("w3"));
    shelf.put("w3.yaml", "name: W\nphases:\n  - {id: a, prompt: x}\n");
    let sprint = "workflow: main\ncollections: {step: [{prompt: a}]}\n";
    let compiled = compile_on(&shelf, sprint, false);
    assert!(compiled.progress.is_none());
    assert!(
        compiled
            .problems
            .iter()
            .any(|problem| problem.code == "TOO_LARGE")
    );
}

#[test]
fn a_large_scalar_is_read_and_written() {
    let text = format!("a: \"{}\"\n", "x ".repeat(500_000));
    feed(&text);
}

#[test]
fn cut_and_garbled_sprints_are_told_of() {
    let text = "workflow: main\nname: \"Ünï\"\ncollections:\n  step:\n    - prompt: |\n        a {{item.x}}\n      id: 第一\n      depends-on: [b]\n    - {prompt: b, id: b}\n";
    for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
        feed(&text[..at]);
        for insert in [
            "\t", ": ", "- ", "\"", "{", "]", "\n", "&a ", "*a", "|\n", "#",
        ] {
            feed(&format!("{}{insert}{}", &text[..at], &text[at..]));
        }
    }
}
