//! The cases of the conformance table that are not due yet: each stands here,
//! with the reason, until what it tests is there. The others are tests beside
//! what they test, with their number in the name.

macro_rules! not_due {
    ($($name:ident: $reason:literal,)*) => {
        $(
            #[test]
            #[ignore = $reason]
            fn $name() {
                panic!($reason);
            }
        )*
    };
}

not_due! {
    case_48_an_approval_away_from_a_gate_is_refused: "the execution of issues comes with plans and people",
    case_49_all_transitions_of_issues_and_the_stuck_dependents: "the execution of issues comes with plans and people",
    case_50_the_rows_of_the_resume_table: "the execution of issues comes with plans and people",
}

/// Which cases are due, and have a test with their number in its name.
#[test]
fn every_case_has_a_test_with_its_number() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = Vec::new();
    read_below(&crates, &mut sources);
    let missing: Vec<u32> = (1..=53)
        .filter(|case| {
            let name = format!("case_{case}_");
            !sources.iter().any(|text| text.contains(&name))
        })
        .collect();
    assert_eq!(missing, Vec::<u32>::new(), "cases without a test");
}

fn read_below(folder: &std::path::Path, sources: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("listed").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_below(&path, sources);
        } else if path.extension().is_some_and(|end| end == "rs") {
            sources.push(std::fs::read_to_string(&path).expect("source is text"));
        }
    }
}
