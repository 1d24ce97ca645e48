//! The printed schemas and the checker say the same of any document.

use crate::chance::Chance;
use piton_formats::problem::SourceText;
use piton_formats::shape::{Shape, check, json_schema};
use piton_formats::{agent_os, json, prd, ralph_json, sdlc};
use piton_simkit::seed::salted;
use serde_json::{Value, json};

fn formats() -> [(&'static str, &'static Shape, &'static str); 3] {
    [
        (
            "state",
            &sdlc::SHAPE,
            include_str!("../corpus/json/state.json"),
        ),
        (
            "prd",
            &prd::FEATURES_SHAPE,
            include_str!("../corpus/json/features.json"),
        ),
        (
            "prd",
            &prd::USER_STORIES_SHAPE,
            include_str!("../corpus/json/stories.json"),
        ),
    ]
}

fn validator(name: &str, shape: &Shape) -> jsonschema::Validator {
    let schema = json_schema(shape, &format!("https://example.org/{name}.json"), name);
    assert!(jsonschema::meta::is_valid(&schema), "{schema:#}");
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap()
}

#[track_caller]
fn agree(validator: &jsonschema::Validator, shape: &Shape, text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap();
    let root = json::parse(text).root.unwrap();
    let problems = check(&root, shape, "f", "f");
    let valid = validator.is_valid(&value);
    assert_eq!(problems.is_empty(), valid, "{text}\n{problems:#?}");
    valid
}

/// The formats whose readers are tested beside them.
fn logs() -> [(&'static str, &'static Shape, &'static str); 2] {
    [
        (
            "ralph-json",
            &ralph_json::SHAPE,
            include_str!("../corpus/logs/ralph-full.json"),
        ),
        (
            "agent-os",
            &agent_os::SHAPE,
            include_str!("../corpus/logs/agent-full.json"),
        ),
    ]
}

#[test]
fn each_schema_takes_the_example() {
    for (name, shape, text) in formats().into_iter().chain(logs()) {
        assert!(agree(&validator(name, shape), shape, text), "{name}");
    }
}

#[test]
fn the_schemas_and_the_checker_agree_on_thousands_of_changed_documents() {
    let mut chance = Chance::new(salted(7));
    for (name, shape, text) in formats().into_iter().chain(logs()) {
        let validator = validator(name, shape);
        let original: Value = serde_json::from_str(text).unwrap();
        let mut valid = 0;
        for _ in 0..2000 {
            let mut value = original.clone();
            for _ in 0..=chance.below(2) {
                change(&mut chance, &mut value);
            }
            valid += usize::from(agree(&validator, shape, &value.to_string()));
        }
        assert!(
            (20..1980).contains(&valid),
            "{name}: {valid} of 2000 were valid"
        );
    }
}

/// What is strictly valid is never mistyped to the reader that takes more.
#[test]
fn what_is_strictly_valid_is_read_without_an_error_of_type() {
    let mut chance = Chance::new(salted(11));
    for (_, shape, text) in formats() {
        let original: Value = serde_json::from_str(text).unwrap();
        for _ in 0..1500 {
            let mut value = original.clone();
            change(&mut chance, &mut value);
            let text = value.to_string();
            let root = json::parse(&text).root.unwrap();
            // A whole number that fits nowhere is as valid as it is useless.
            let fits = !text.contains("e300") && !text.contains("e+300");
            if !fits || !check(&root, shape, "f", "f").is_empty() {
                continue;
            }
            let source = SourceText {
                name: "f",
                text: &text,
            };
            let problems = match root.get("run_id") {
                Some(_) => sdlc::parse_state(source).1,
                None => prd::parse_prd(source).1,
            };
            let codes = ["WRONG_TYPE", "INVALID_VALUE", "UNKNOWN_KEY", "MISSING_KEY"];
            for problem in problems {
                assert!(!codes.contains(&problem.code.as_ref()), "{text}\n{problem}");
            }
        }
    }
}

/// Changes something somewhere within `value`.
fn change(chance: &mut Chance, value: &mut Value) {
    let stays = chance.below(4) == 0;
    match value {
        Value::Array(items) if !items.is_empty() && !stays => {
            let index = chance.below(items.len());
            match chance.below(5) {
                0 => drop(items.remove(index)),
                1 => items.push(scrap(chance)),
                _ => change(chance, &mut items[index]),
            }
        }
        Value::Object(map) if !map.is_empty() && !stays => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let key = chance.pick(&keys).clone();
            match chance.below(8) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert(format!("{key}x"), scrap(chance))),
                _ => change(chance, map.get_mut(&key).unwrap()),
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => *value = scrap(chance),
    }
}

fn scrap(chance: &mut Chance) -> Value {
    const TEXTS: [&str; 18] = [
        "",
        "x",
        "1",
        "1.0",
        "DESIGN",
        "done",
        "blocked",
        "in_progress",
        "go",
        "acme/x#9",
        "acme#9",
        "2026-01-15T10:00:00Z",
        "2026-01-15T10:00:00.25+02:00",
        "2026-01-15T10:00:00",
        "2026-13-15T10:00:00Z",
        "2026-01-15",
        "2026-01-15-a",
        "a-1",
    ];
    match chance.below(10) {
        0 => Value::Null,
        1 => json!(chance.below(2) == 0),
        2 => json!([]),
        3 => json!({}),
        4 => json!(["x"]),
        5 => chance
            .pick(&[
                json!(0),
                json!(-1),
                json!(3),
                json!(1.5),
                json!(2.0),
                json!(1e300),
                json!(u64::MAX),
            ])
            .clone(),
        _ => json!(*chance.pick(&TEXTS)),
    }
}
