//! Files that hands and tools have garbled, through everything that reads and
//! changes them: nothing panics, and what is changed is changed as was meant.

use std::path::Path;

use piton_formats::sprint::{
    ShownRun, SourceText, collect_edits, collect_edits_without_base, parse_progress,
    update_progress,
};
use piton_formats::yaml::{Value, ValueNode, parse, patch};
use piton_simkit::seed::salted;

use crate::desk::{Desk, FILE, read};

const MUTATIONS: u64 = 20_000;

/// Numbers that look random and are not.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("53 bits") % n.max(1)
    }
}

fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/yaml");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                text,
            )
        })
        .collect()
}

const SNIPPETS: [&str; 24] = [
    "#",
    " # c\n",
    ": ",
    "- ",
    "\n",
    "\n\n",
    "  ",
    "\t",
    "'",
    "\"",
    "|",
    "|+\n",
    ">-\n",
    "[",
    "}",
    "&a ",
    "*a",
    "<<: *base\n",
    "null",
    "id: wires\n",
    "status: pending\n",
    "\r\n",
    "\u{feff}",
    "é",
];

/// A text with one to three changes: bytes put in, taken out, doubled or
/// swapped, or a whole line moved.
fn mutated(text: &str, rng: &mut Rng) -> String {
    let mut out = text.to_owned();
    for _ in 0..=rng.below(3) {
        let place = |rng: &mut Rng, out: &str| {
            let mut at = rng.below(out.len() + 1);
            while !out.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        match rng.below(5) {
            0 | 1 => {
                let at = place(rng, &out);
                out.insert_str(at, SNIPPETS[rng.below(SNIPPETS.len())]);
            }
            2 => {
                let (a, b) = (place(rng, &out), place(rng, &out));
                let end = a.max(b).min(a.min(b) + 12);
                let end = (end..=out.len()).find(|at| out.is_char_boundary(*at));
                out.replace_range(a.min(b)..end.unwrap_or(out.len()), "");
            }
            3 => {
                let mut lines: Vec<&str> = out.split_inclusive('\n').collect();
                let (from, to) = (rng.below(lines.len()), rng.below(lines.len()));
                if !lines.is_empty() {
                    let line = lines.remove(from);
                    lines.insert(to.min(lines.len()), line);
                }
                out = lines.concat();
            }
            _ => {
                let lines: Vec<&str> = out.split_inclusive('\n').collect();
                let line = lines
                    .get(rng.below(lines.len()))
                    .copied()
                    .unwrap_or_default()
                    .to_owned();
                let at = out.find('\n').map_or(0, |at| at + 1);
                out.insert_str(at, &line);
            }
        }
    }
    out
}

/// The tree with one value changed, taken out or put in.
fn changed(node: &ValueNode, rng: &mut Rng) -> ValueNode {
    let mut node = node.clone();
    let fresh = |rng: &mut Rng| match rng.below(6) {
        0 => ValueNode::string("a\nb\n"),
        1 => ValueNode::string("it's: #1"),
        2 => ValueNode::plain("7"),
        3 => ValueNode::seq(vec![ValueNode::string("x")]),
        4 => ValueNode::map([("id", ValueNode::string("n"))]),
        _ => ValueNode::seq(vec![]),
    };
    match &mut node.value {
        Value::Scalar(_) => return fresh(rng),
        Value::Seq(items) => {
            let at = rng.below(items.len());
            match rng.below(6) {
                0 => items.insert(at, fresh(rng)),
                1 if !items.is_empty() => drop(items.remove(at)),
                2 => items.reverse(),
                _ => {
                    if let Some(item) = items.get_mut(at) {
                        *item = changed(item, rng);
                    }
                }
            }
        }
        Value::Map(map) => {
            let at = rng.below(map.pairs.len());
            match rng.below(6) {
                0 if map.get("new").is_none() => {
                    let key = piton_formats::yaml::MapKey::new("new");
                    map.pairs.insert(at, (key, fresh(rng)));
                }
                1 if !map.pairs.is_empty() => drop(map.pairs.remove(at)),
                _ => {
                    if let Some((_, value)) = map.pairs.get_mut(at) {
                        *value = changed(value, rng);
                    }
                }
            }
        }
    }
    node
}

#[test]
fn nothing_that_somebody_does_to_a_file_makes_us_panic() {
    let files = corpus();
    let desks: Vec<_> = files.iter().map(|(_, text)| Desk::of(text)).collect();
    assert!(desks.iter().flatten().count() >= 4, "most are sprints");
    let (mut patched, mut refused) = (0_u32, 0_u32);
    for seed in (0..MUTATIONS).map(salted) {
        let mut rng = Rng(seed.max(1));
        let which = rng.below(files.len());
        let text = mutated(&files[which].1, &mut rng);
        let parsed = parse(&text);
        if let (Some(root), true) = (&parsed.root, parsed.faults.is_empty()) {
            assert_eq!(
                patch(&text, root).as_deref(),
                Ok(text.as_str()),
                "seed {seed}"
            );
            match patch(&text, &changed(root, &mut rng)) {
                Ok(_) => patched += 1,
                Err(_) => refused += 1,
            }
        }
        let (progress, _) = parse_progress(SourceText {
            name: "P",
            text: &text,
        });
        let (Some(theirs), Some(desk)) = (progress, desks[which].as_ref()) else {
            continue;
        };
        let shown = ShownRun {
            file: FILE,
            tables: &desk.tables,
            run: desk.run,
        };
        if !parsed.faults.is_empty() && seed % 4 != 0 {
            continue;
        }
        drop(collect_edits(&desk.base, &theirs, shown));
        drop(collect_edits_without_base(&desk.base, &theirs, shown));
        let out = update_progress(&text, desk.base.clone());
        if seed % 4 != 0 {
            continue;
        }
        let read = read(&out).unwrap_or_else(|| panic!("seed {seed}\n{text}\n---\n{out}"));
        assert_eq!(read.phases.len(), desk.base.phases.len(), "seed {seed}");
        assert_eq!(read.status, desk.base.status, "seed {seed}");
    }
    eprintln!("{patched} patched, {refused} refused");
    assert!(
        patched > refused * 10,
        "{patched} patched, {refused} refused"
    );
}

#[test]
fn edits_of_garbled_files_are_taken_or_asked_about() {
    let files = corpus();
    for seed in (0..1_500).map(salted) {
        let mut rng = Rng(seed.max(1));
        let which = rng.below(files.len());
        let Some(mut desk) = Desk::of(&files[which].1) else {
            continue;
        };
        let written = desk.text.clone();
        desk.text = mutated(&written, &mut rng);
        if !parse(&desk.text).faults.is_empty() || read(&desk.text).is_none() {
            continue;
        }
        desk.take_in();
        desk.take_in();
        assert!(read(&desk.text).is_some(), "seed {seed}");
    }
}
