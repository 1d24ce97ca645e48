use piton_simkit::seed::cases;
use proptest::prelude::*;

use super::*;

fn hooks() -> Vec<Hook> {
    let hook = |event, timeout| Hook {
        event,
        command: format!("piton hook {event}"),
        timeout,
    };
    vec![hook("SessionStart", 10), hook("Stop", 10)]
}

#[track_caller]
fn back(text: &str) -> String {
    let hooks = hooks();
    let with = install(text, &hooks).expect("readable");
    assert!(json::parse(&with).faults.is_empty(), "{with}");
    assert_eq!(install(&with, &hooks).as_ref(), Ok(&with), "once is enough");
    let without = uninstall(&with, &hooks).expect("readable");
    assert_eq!(without.as_deref(), Some(text), "{with}");
    with
}

#[test]
fn what_is_put_in_comes_out_again_to_the_byte() {
    for text in [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "",
        "\n",
        "  \r\n",
        "{\"a\":1}",
        "{\"a\":1,\"hooks\":{}}",
        "{\"hooks\":{\"Stop\":[]},\"a\":[1,2]}",
        "{\"hooks\": {\n  }\n}",
        "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n",
        "{\r\n    \"a\": 1,\r\n    \"hooks\": {\r\n        \"Stop\": [\r\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\r\n        ]\r\n    }\r\n}\r\n",
        "{\"hooks\": {\"Stop\": [ ], \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": []}]}}",
        "\u{feff}{\n  \"model\": \"opus\"\n}",
    ] {
        back(text);
    }
}

#[test]
fn it_stands_there_as_a_person_would_write_it() {
    insta::assert_snapshot!(back("{\n  \"model\": \"opus\"\n}\n"), @r#"
    {
      "hooks": {
        "SessionStart": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "piton hook SessionStart",
                "timeout": 10
              }
            ]
          }
        ],
        "Stop": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "piton hook Stop",
                "timeout": 10
              }
            ]
          }
        ]
      },
      "model": "opus"
    }
    "#);
}

#[test]
fn the_file_that_was_made_goes_as_long_as_it_is_the_same() {
    let made = render_new_settings(&hooks());
    assert_eq!(uninstall(&made, &hooks()), Ok(None));
    assert_eq!(install(&made, &hooks()), Ok(made.clone()));
    let changed = made.replacen("{\n", "{\n  \"model\": \"opus\",\n", 1);
    let left = uninstall(&changed, &hooks()).expect("readable");
    assert_eq!(left.as_deref(), Some("{\n  \"model\": \"opus\"\n}\n"));
}

#[test]
fn what_others_put_beside_it_stays() {
    let with = install("{}", &hooks()).expect("readable");
    let with = with.replacen(
        "\"hooks\": [\n",
        "\"hooks\": [\n          {\"type\": \"command\", \"command\": \"say hi\"},\n",
        1,
    );
    let left = uninstall(&with, &hooks())
        .expect("readable")
        .expect("a file");
    assert!(left.contains("say hi") && !left.contains("piton"), "{left}");
    assert!(json::parse(&left).faults.is_empty(), "{left}");
}

#[test]
fn a_command_by_another_path_is_brought_up_to_date() {
    let text = "{\"hooks\":{\"SessionStart\":[],\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"/old/piton hook Stop\"}]}]}}";
    let new = install(text, &hooks()).expect("readable");
    assert!(!new.contains("/old/"), "{new}");
    assert_eq!(new.matches("piton hook Stop").count(), 1);
}

#[test]
fn what_is_damaged_or_of_another_shape_is_named_with_its_place() {
    for (text, expect) in [
        ("{\"a\": 1,}", "line 1, column 8: "),
        ("// mine\n{}", "line 1, column 1: "),
        ("[]", "line 1, column 1: what stands here is not an object"),
        (
            "{\n  \"hooks\": []}",
            "line 2, column 12: `hooks` is not an object",
        ),
        (
            "{\"hooks\": {\"Stop\": {}}}",
            "line 1, column 20: `hooks.Stop` is not a list",
        ),
    ] {
        let cannot = install(text, &hooks()).expect_err("it cannot be changed");
        assert!(cannot.to_string().starts_with(expect), "{cannot}");
    }
}

#[test]
fn only_what_piton_writes_is_its_own() {
    for (command, own) in [
        ("piton hook Stop", true),
        ("/usr/local/bin/piton hook SessionStart", true),
        ("'/a b/piton' hook Stop", true),
        ("piton hook Stop && rm x", false),
        ("piton hook", false),
        ("notpiton hook Stop", false),
        ("echo piton hook Stop; x", false),
        ("piton log task_completed", false),
    ] {
        assert_eq!(is_piton_command(command), own, "{command}");
    }
}

/// Blanks as they stand between the parts of a JSON text.
fn blank() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", " ", "\n", "\n  ", "\r\n", "\t", "\n\t\t"])
        .prop_map(str::to_owned)
}

/// Some JSON with blanks anywhere, and hooks in it more often than by chance.
fn value() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["1", "\"x\"", "null", "\"a \\\" b\"", "-0.5e3"]);
    let leaf = (blank(), word).prop_map(|(blank, word)| format!("{blank}{word}"));
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            (
                prop::collection::vec((inner.clone(), blank()), 0..4),
                blank()
            )
                .prop_map(|(items, end)| joined('[', &items, ']', &end)),
            object_of(prop::sample::select(vec!["a", "b", "c"]), inner),
        ]
    })
}

fn joined(open: char, items: &[(String, String)], close: char, end: &str) -> String {
    let items: Vec<String> = items.iter().map(|(a, b)| format!("{a}{b}")).collect();
    format!("{open}{}{end}{close}", items.join(","))
}

fn object_of(
    keys: impl Strategy<Value = &'static str>,
    values: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let pair = (keys, values, blank(), blank());
    (prop::collection::vec(pair, 0..4), blank()).prop_map(|(pairs, end)| {
        let mut seen = std::collections::BTreeSet::new();
        let pairs = pairs.into_iter().filter(|(key, ..)| seen.insert(*key));
        let pairs: Vec<(String, String)> = pairs
            .map(|(key, value, before, after)| (format!("{before}\"{key}\":{value}"), after))
            .collect();
        joined('{', &pairs, '}', &end)
    })
}

/// Settings: an object, perhaps with hooks of the shape that programs read.
fn settings() -> impl Strategy<Value = String> {
    let foreign = (blank(), blank()).prop_map(|(a, b)| {
        format!("{a}{{\"hooks\":{b}[{{\"type\": \"command\",{b}\"command\": \"x\"}}]}}")
    });
    let groups = (prop::collection::vec((foreign, blank()), 0..3), blank())
        .prop_map(|(items, end)| joined('[', &items, ']', &end));
    let events = object_of(
        prop::sample::select(vec!["Stop", "PreToolUse", "SessionStart"]),
        groups,
    );
    let hooks = events.prop_map(|events| ("hooks", events));
    let other = (prop::sample::select(vec!["a", "b"]), value());
    let pair = prop_oneof![hooks, other];
    (
        prop::collection::vec((pair, blank()), 0..4),
        blank(),
        blank(),
    )
        .prop_map(|(pairs, open, end)| {
            let mut seen = std::collections::BTreeSet::new();
            let pairs = pairs.into_iter().filter(|((key, _), _)| seen.insert(*key));
            let pairs: Vec<(String, String)> = pairs
                .map(|((key, value), after)| (format!("{open}\"{key}\": {value}"), after))
                .collect();
            format!("{}{end}", joined('{', &pairs, '}', &end))
        })
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn whatever_the_settings_are_they_come_back(text in settings()) {
        back(&text);
    }
}
