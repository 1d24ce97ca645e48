//! A text changed in place: what was meant changes, and nothing else.

use piton_formats::yaml::{ValueNode, parse, patch};
use piton_simkit::seed::cases;
use proptest::prelude::*;

/// Changes `text` so that it says what `like` says.
#[track_caller]
fn check(text: &str, like: &str, expect: &str) {
    let wanted = parse(like).root.expect("a document");
    let out = patch(text, &wanted).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(out, expect, "\n--- from\n{text}");
}

#[test]
fn what_does_not_change_keeps_every_byte() {
    let text = "\u{feff}# top\r\n---\r\na:   'x'   # c\r\n\r\nb: [ 1,2 ]\r\n...";
    let root = parse(text).root.expect("a document");
    assert_eq!(patch(text, &root).as_deref(), Ok(text));
}

#[test]
fn a_scalar_is_replaced_in_its_place_and_its_quotes() {
    let text = "a: one # c\nb: 'two' # d\nc: \"three\"\nd: 4\ne:\nf: ~ # null\n";
    check(
        text,
        "{a: uno, b: due, c: tre, d: 5, e: x, f: no}",
        "a: uno # c\nb: 'due' # d\nc: \"tre\"\nd: 5\ne: x\nf: 'no' # null\n",
    );
    check("a: x # c\n", "a: '6673e79'", "a: '6673e79' # c\n");
    check("a: x # c\n", "a: \"p\\nq\\n\"", "a: | # c\n  p\n  q\n");
    check("a: plain\n  more\nb: 1\n", "{a: v, b: 1}", "a: v\nb: 1\n");
    check("a: x", "a: v", "a: v");
    check(
        "a: x\r\nb: 1\r\n",
        "{a: \"p\\nq\", b: 1}",
        "a: |-\r\n  p\r\n  q\r\nb: 1\r\n",
    );
}

#[test]
fn a_block_stays_a_block_at_its_indentation() {
    let text =
        "a:\n  - p: | # why\n        one\n        two\n\n    # next\n    q: >-\n      x\n      y\n";
    check(
        text,
        "a: [{p: \"un\\ndeux\\n\", q: \"z\"}]",
        "a:\n  - p: | # why\n        un\n        deux\n\n    # next\n    q: z\n",
    );
    check(
        "a: |\n  x\n\n# c\nb: 1\n",
        "{a: \"y\\nz\", b: 2}",
        "a: |-\n  y\n  z\n\n# c\nb: 2\n",
    );
}

#[test]
fn a_key_goes_with_its_lines_and_the_comment_above_it_stays() {
    check(
        "a: 1\n# about b\nb:\n  - x\n  # in b\n  - y # end\n# about c\nc: 3\n",
        "{a: 1, c: 3}",
        "a: 1\n# about b\n# about c\nc: 3\n",
    );
    check(
        "- a: 1\n  b: 2\n- c: 3\n",
        "[{b: 2}, {c: 3}]",
        "- \n  b: 2\n- c: 3\n",
    );
}

#[test]
fn a_new_key_stands_behind_the_one_before_it() {
    check(
        "p:\n    a: 1 # c\n    # d\n    d: 4\nz: 0\n",
        "{p: {a: 1, b: 2, c: [x], d: 4}, z: 0, y: {}}",
        "p:\n    a: 1 # c\n    b: 2\n    c:\n      - x\n    # d\n    d: 4\nz: 0\n'y': {}\n",
    );
    check(
        "- b: 2\n  c: 3\n",
        "[{a: 1, b: 2, c: 3}]",
        "- a: 1\n  b: 2\n  c: 3\n",
    );
    check("a: 1", "{a: 1, b: 2}", "a: 1\nb: 2");
}

#[test]
fn elements_are_known_by_their_ids_and_take_their_comments_along() {
    let text = "phases:\n  # first\n  - id: a # A\n    x: 1\n\n  # second\n  - id: b\n    x: 2 # two\n# end\n";
    check(
        text,
        "phases: [{id: b, x: 2}, {id: a, x: 7}]",
        "phases:\n  # second\n  - id: b\n    x: 2 # two\n\n  # first\n  - id: a # A\n    x: 7\n# end\n",
    );
    check(
        text,
        "phases: [{id: a, x: 1}, {id: new, x: [1]}, {id: b, x: 3}]",
        "phases:\n  # first\n  - id: a # A\n    x: 1\n  - id: new\n    x:\n      - 1\n\n  # second\n  - id: b\n    x: 3 # two\n# end\n",
    );
    check(
        text,
        "phases: [{id: b, x: 2}]",
        "phases:\n  # first\n\n  # second\n  - id: b\n    x: 2 # two\n# end\n",
    );
    check(
        text,
        "phases: [{id: new}, {id: a, x: 1}, {id: b, x: 2}]",
        "phases:\n  - id: new\n  # first\n  - id: a # A\n    x: 1\n\n  # second\n  - id: b\n    x: 2 # two\n# end\n",
    );
}

#[test]
fn a_list_without_indentation_is_a_list() {
    check(
        "a: # c\n- x\n- [1]\n# d\n- z\nb: 1\n",
        "{a: [x, w, [2], z], b: 1}",
        "a: # c\n- x\n- w\n- - 2\n# d\n- z\nb: 1\n",
    );
    check(
        "a:\n- [1, 2] # c\nb: 1\n",
        "{a: [[1, 3]], b: 1}",
        "a:\n- [1, 3] # c\nb: 1\n",
    );
}

#[test]
fn what_is_in_brackets_stays_in_brackets() {
    check(
        "a: {x: 1, z: [p, 'q']} # c\n",
        "a: {x: 2, z: [p, r]}",
        "a: {x: 2, z: [p, r]} # c\n",
    );
    check(
        "a: { x: 1 } # c\n",
        "a: {x: 1, z: 'a, b'}",
        "a: {x: 1, z: 'a, b'} # c\n",
    );
    check(
        "a: [] # c\nb: 1\n",
        "{a: [x], b: 1}",
        "a: # c\n  - x\nb: 1\n",
    );
    check(
        "a:\n  - x # c\nb: 1\n",
        "{a: [], b: 1}",
        "a: [] # c\nb: 1\n",
    );
    check("{a: 1, b: 2}\n", "{a: 1, b: 3}", "{a: 1, b: 3}\n");
}

#[test]
fn what_hangs_on_an_alias_is_refused_or_right() {
    let text = "base: &b {x: 1}\nuse: *b\n";
    for like in ["{base: {x: 1}, use: {x: 2}}", "{base: {x: 2}, use: {x: 1}}"] {
        let wanted = parse(like).root.expect("a document");
        if let Ok(out) = patch(text, &wanted) {
            assert_eq!(parse(&out).root, Some(wanted));
        }
    }
    assert!(
        patch(
            "a: 1\na: 2\n",
            &ValueNode::map([("a", ValueNode::plain("1"))])
        )
        .is_err()
    );
    assert!(patch("", &ValueNode::map([("a", ValueNode::plain("1"))])).is_err());
}

/// A document in a person's style: some comment wherever one may stand.
fn written(node: &ValueNode, style: u8) -> String {
    let plain = piton_formats::yaml::render(node);
    let mut out = String::new();
    if style & 1 != 0 {
        out.push_str("# the top\n");
    }
    let mut block: Option<usize> = None;
    for (number, line) in plain.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if block.is_some_and(|above| line.trim().is_empty() || indent > above) {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        block = None;
        if style & 2 != 0 && number % 3 == 0 {
            out.push_str(&format!("{}# above {number}\n", " ".repeat(indent)));
        }
        out.push_str(line);
        let is_quoted = line.contains(['"', '\'']);
        let header = line
            .rsplit([' ', ':'])
            .next()
            .is_some_and(|end| end.starts_with('|'));
        if header {
            block = Some(
                indent
                    + line[indent..]
                        .chars()
                        .take_while(|c| matches!(c, '-' | ' '))
                        .count(),
            );
            if line.trim_start().starts_with("- ") && !line.contains(": ") {
                block = Some(indent + line[indent..].rfind("- ").unwrap_or(0));
            }
        } else if style & 4 != 0 && number % 2 == 0 && !is_quoted {
            out.push_str(&format!(" # beside {number}"));
        }
        out.push('\n');
        if style & 8 != 0 && number % 4 == 0 && !header {
            out.push('\n');
        }
    }
    if style & 16 != 0 {
        out = out.replace('\n', "\r\n");
    }
    if style & 32 != 0 {
        out = out.trim_end().to_owned();
    }
    out
}

fn scalar() -> BoxedStrategy<ValueNode> {
    prop_oneof![
        4 => "[a-z]{1,6}".prop_map(ValueNode::string),
        1 => prop::sample::select(vec!["a b", "no", "5", "x: y", "it's", "- z", "a #b", "", "é\"ü"]).prop_map(ValueNode::string),
        1 => prop::sample::select(vec!["p\nq\n", "p\n\n  q", "p\nq", "x\n\n", " x\ny\n"]).prop_map(ValueNode::string),
        1 => prop::sample::select(vec!["null", "true", "5", "6673e79"]).prop_map(ValueNode::plain),
    ]
    .boxed()
}

fn tree() -> BoxedStrategy<ValueNode> {
    scalar()
        .prop_recursive(4, 40, 5, |inner| {
            let element = (0..9_u8, inner.clone()).prop_map(|(id, node)| {
                ValueNode::map([("id", ValueNode::string(format!("e{id}"))), ("v", node)])
            });
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(ValueNode::seq),
                prop::collection::vec(element, 0..5).prop_map(ValueNode::seq),
                prop::collection::btree_map("[a-f]", inner, 0..5).prop_map(ValueNode::map),
            ]
        })
        .boxed()
}

fn document() -> BoxedStrategy<ValueNode> {
    prop::collection::btree_map("[a-h]", tree(), 1..6)
        .prop_map(ValueNode::map)
        .boxed()
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn a_document_becomes_any_other_or_is_left_alone(from in document(), to in document(), style in 0..64_u8) {
        let text = written(&from, style);
        let parsed = parse(&text);
        prop_assume!(parsed.faults.is_empty() && parsed.root.as_ref() == Some(&from));
        let same = patch(&text, &from);
        prop_assert_eq!(same.as_deref(), Ok(text.as_str()));
        // A refusal is allowed; what is given must be right, which `patch` checks itself.
        if let Ok(out) = patch(&text, &to) {
            let read = parse(&out);
            prop_assert!(read.faults.is_empty());
            if text.contains("\r\n") {
                prop_assert_eq!(out.matches('\n').count(), out.matches("\r\n").count());
            }
        }
    }

    #[test]
    fn one_added_key_keeps_every_line(from in document(), style in 0..64_u8) {
        let text = written(&from, style);
        let parsed = parse(&text);
        prop_assume!(parsed.faults.is_empty() && parsed.root.as_ref() == Some(&from));
        let mut wanted = from.clone();
        if let piton_formats::yaml::Value::Map(map) = &mut wanted.value {
            map.pairs.push((piton_formats::yaml::MapKey::new("zz"), ValueNode::string("new")));
        }
        let out = patch(&text, &wanted);
        prop_assert!(out.is_ok(), "{:?}\n{}", out, text);
        let out = out.expect("just asked");
        let rest: Vec<&str> = out.lines().filter(|line| *line != "zz: new").collect();
        let lines: Vec<&str> = text.lines().collect();
        prop_assert_eq!(rest, lines);
    }
}

#[test]
fn refusals_are_rare() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut refused, mut asked) = (0, 0);
    for style in 0..600_u32 {
        let style = u8::try_from(style % 64).expect("small");
        let mut draw = || document().new_tree(&mut runner).expect("a tree").current();
        let (from, to) = (draw(), draw());
        let text = written(&from, style);
        let parsed = parse(&text);
        if !parsed.faults.is_empty() || parsed.root.as_ref() != Some(&from) {
            continue;
        }
        asked += 1;
        if let Err(error) = patch(&text, &to) {
            refused += 1;
            eprintln!(
                "{error}\n--- from\n{text}--- to\n{}",
                piton_formats::yaml::render(&to)
            );
        }
    }
    assert!(asked > 300, "{asked}");
    assert!(refused * 100 <= asked, "{refused} of {asked}");
}
