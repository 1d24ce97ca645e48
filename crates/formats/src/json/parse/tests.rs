use super::*;

/// Line, column and message of every fault.
#[track_caller]
fn faults(text: &str) -> Vec<String> {
    parse(text)
        .faults
        .into_iter()
        .map(|fault| {
            format!(
                "{}:{} {}",
                fault.span.line, fault.span.column, fault.message
            )
        })
        .collect()
}

#[test]
fn every_value_knows_its_place_and_a_number_keeps_its_text() {
    let text = "\u{feff}{\r\n  \"ä\": [1.00, \"x\"],\r\n  \"b\": null}\r\n";
    let parsed = parse(text);
    assert!(parsed.faults.is_empty(), "{:?}", parsed.faults);
    let root = parsed.root.expect("a document");
    let list = root.get("ä").and_then(ValueNode::as_seq).expect("a list");
    assert_eq!(list[0].text(), Some("1.00"));
    assert_eq!((list[1].span.line, list[1].span.column), (2, 15));
    assert_eq!(&text[list[1].span.start..list[1].span.end], "\"x\"");
    assert!(root.get("b").is_some_and(ValueNode::is_null));
    assert!(has_bom(text));
}

#[test]
fn escapes_say_what_they_stand_for() {
    let parsed = parse(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#);
    assert!(parsed.faults.is_empty(), "{:?}", parsed.faults);
    let root = parsed.root.expect("a document");
    assert_eq!(root.as_str(), Some("\"\\/\u{8}\u{c}\n\r\té😀"));
}

#[test]
fn a_duplicate_key_is_named_with_both_places() {
    assert_eq!(
        faults("{\"a\": 1,\n \"a\": 2}"),
        ["2:2 the key `a` stands here a second time; the first is in line 1, column 2"]
    );
    let many: String = (0..100).map(|i| format!("\"k{i}\":{i},")).collect();
    assert_eq!(faults(&format!("{{{many}\"k3\":1,\"k99\":1}}")).len(), 2);
}

#[test]
fn all_mistakes_of_a_file_are_told_not_only_the_first() {
    let text = "{\n  \"a\": NaN,\n  // why\n  \"b\": [1 2,],\n  c: 'x'\n  \"d\": 01,\n}";
    insta::assert_snapshot!(faults(text).join("\n"), @r#"
    2:8 the bare word `NaN`
    3:3 a comment, which JSON does not have
    4:11 no comma before `2`
    4:12 a comma before the closing `]`
    5:3 the key `c` without quotes
    5:6 a string in single quotes
    6:3 no comma before `"`
    6:8 `01`, which is no number in JSON
    6:10 a comma before the closing `}`
    "#);
}

#[test]
fn what_json_does_not_have_is_refused_each_with_its_words() {
    let cases = [
        ("", "1:1 nothing, where a JSON value belongs"),
        ("[1] 2", "1:5 `2` behind the end of the document"),
        ("[-Infinity]", "1:2 the bare word `-Infinity`"),
        ("[+1]", "1:2 `+1`, which is no number in JSON"),
        ("[1.]", "1:2 `1.`, which is no number in JSON"),
        ("[0x1f]", "1:2 `0x1f`, which is no number in JSON"),
        (
            "\"\\ud800\"",
            "1:2 `\\ud800`, one half of a character, without the other",
        ),
        (
            "\"\\udc00\\ud800\"",
            "1:2 `\\udc00`, one half of a character, without the other",
        ),
        ("\"\\x\"", "1:2 the unknown escape `\\x`"),
        ("\"\\u12\"", "1:2 `\\u` without four hexadecimal digits"),
        (
            "\"a\tb\"",
            "1:3 the control character U+0009 within a string",
        ),
        (
            "\"a\nb\"",
            "1:3 a line ends within the string that begins in column 1",
        ),
        (
            "[1, \"ab",
            "1:8 the text ends within the string that begins in line 1, column 5",
        ),
        (
            "{\"a\"",
            "1:5 the end of the text where the `:` behind a key belongs",
        ),
        ("{\"a\": }", "1:5 the key `a` has no value"),
        ("{\"a\" 1}", "1:6 no `:` between the key `a` and its value"),
        ("[,1]", "1:2 a comma without a value before it"),
        (
            "[1\u{a0}]",
            "1:3 the character U+00A0, which is no blank in JSON",
        ),
        ("{\"a\": @}", "1:7 `@` where a value belongs"),
        (
            "[1,\n2",
            "2:2 the text ends within the list that begins in line 1, column 1, where `,` or `]` belongs",
        ),
        (
            "[1}",
            "1:3 `}` within the list that begins in line 1, column 1, where `,` or `]` belongs",
        ),
    ];
    for (text, expect) in cases {
        let found = faults(text);
        assert_eq!(found.first().map(String::as_str), Some(expect), "{text}");
        for fault in parse(text).faults {
            assert!(!fault.hint.is_empty(), "{text}");
        }
    }
}

#[test]
fn depth_is_bounded_and_told() {
    for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        let parsed = parse(&text);
        assert!(parsed.root.is_none());
        assert_eq!(parsed.faults.len(), 1);
        assert!(parsed.faults[0].message.contains("more than 200"));
    }
    let fits = format!("{}{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX));
    assert!(parse(&fits).faults.is_empty());
}

#[test]
fn a_long_line_is_read_in_one_pass() {
    let text = format!("[{}1]", "\"ä\",".repeat(300_000));
    let root = parse(&text).root.expect("a document");
    let last = root
        .as_seq()
        .and_then(<[ValueNode]>::last)
        .expect("an element");
    assert_eq!(last.span.column, 4 * 300_000 + 2);
}

#[test]
fn a_number_beyond_all_bounds_keeps_its_text() {
    let parsed = parse("1e400");
    assert!(parsed.faults.is_empty());
    assert_eq!(
        parsed.root.as_ref().and_then(ValueNode::text),
        Some("1e400")
    );
}

#[test]
fn a_stream_gives_each_record_with_its_own_faults() {
    let text = "{\"a\": {\n  \"b\": 1\n}}\n{\"a\": {\n{\"a\": 3}\nnot json\n{\"a\": \"x\ny\"}\n{\"a\": NaN}{\"a\": 5}\n";
    let read = parse_stream(text);
    let good: Vec<String> = read
        .iter()
        .filter(|record| record.faults.is_empty())
        .filter_map(|record| record.root.as_ref()?.get("a").map(ValueNode::describe))
        .collect();
    assert_eq!(good, ["a mapping", "the number 3", "the number 5"]);
    let third = read[2].root.as_ref().map(|node| node.span.line);
    assert_eq!(third, Some(5), "{read:#?}");
    assert!(parse_stream(" \n").is_empty());
}

#[test]
fn a_stream_of_broken_records_does_not_take_for_ever() {
    let text = format!(
        "{}{}",
        "{\"a\":[\n".repeat(90),
        "{\"b\": 1},\n".repeat(20_000)
    );
    assert!(!parse_stream(&text).is_empty());
}
