//! The cases of the conformance table: each is a test beside what it tests, with its
//! number in its name.

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
