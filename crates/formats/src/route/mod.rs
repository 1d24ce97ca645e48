//! `ROUTE.txt`: a route of pitches, a line each.
//!
//! ```text
//! route: North face
//! [ ] p1 Place the anchor $ test -f anchor
//! [x] p2 Haul the bag
//! ```
//!
//! A pitch has a box, an id, words, and after ` $ ` the command that must succeed.

use std::collections::{HashMap, HashSet};

use piton_core::plan::{Order, Past, Plan, PlannedItem, Turn};
use piton_core::policy::Policy;
use piton_core::{Edit, ItemRow, ItemState, Node, Place, RunId, Tables};

use crate::face::{CannotShow, Detected};
use crate::format::{ANYWHERE, Format, NO_COUNTS, Role, Strict};
use crate::plan_file::{Changed, Marked, Planned, Shown, gate, own_items};
use crate::plan_format::{
    Claim, IN_ONE_FILE, ItemUnit, PlanFormat, PlanKind, PlanOf, Stateless, Templates, sound,
};
use crate::plan_identity::PlanIdentity;
use crate::problem::{Problem, Source};
use crate::tree::Span;

const FACE: &str = "route";
const HEAD: &str = "route:";

/// Routes.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    kind: PlanKind::List,
    unit: ItemUnit {
        one: "pitch",
        many: "pitches",
    },
    formats: &[Format {
        name: "route",
        face: FACE,
        about: "a route of pitches",
        paths: &["ROUTE.txt"],
        folders: ANYWHERE,
        role: Role::Plan,
        detect,
        read: |source| read(source).1,
        strict: Strict::None,
        counts: NO_COUNTS,
        merge: None,
    }],
    example: Some("a ROUTE.txt"),
    candidates: &["ROUTE.txt"],
    claim: |text| match detect(text.source.text) {
        Detected::Ours => Claim::Plan,
        Detected::Empty | Detected::Unreadable | Detected::Foreign(_) => Claim::NotOurs,
    },
    read: |source, of| {
        let (route, problems) = read(source);
        sound((Some(plan(&route, of)), problems))
    },
    identity: |source| {
        let route = read(source).0;
        let words = route.pitches.iter().map(|pitch| pitch.words);
        Some(PlanIdentity::new([route.name], words))
    },
    without_items: (
        "has no pitches",
        "add a line for each: `[ ] p1 what is to be done`",
    ),
    document: |_, run| {
        Box::new(Stateless {
            run,
            show: |present, tables, run, _| present.map(|text| show(text, tables, run)).transpose(),
            edits,
        })
    },
    templates: |_, source| Templates {
        header: Some(format!("# The route in {source}: {{{{node}}}}")),
        ..Templates::default()
    },
    ..IN_ONE_FILE
};

/// What a route says.
struct Route<'t> {
    name: Option<&'t str>,
    pitches: Vec<Pitch<'t>>,
}

#[derive(Clone, Copy)]
struct Pitch<'t> {
    is_done: bool,
    id: &'t str,
    words: &'t str,
    check: Option<&'t str>,
}

fn detect(text: &str) -> Detected {
    match text.lines().find(|line| !line.trim().is_empty()) {
        None => Detected::Empty,
        Some(line) if line.starts_with(HEAD) => Detected::Ours,
        Some(_) => Detected::Foreign(format!("a text that does not begin with `{HEAD}`")),
    }
}

fn pitch(line: &str) -> Option<Pitch<'_>> {
    let (is_done, rest) = match line.strip_prefix("[x] ") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("[ ] ")?),
    };
    let (rest, check) = match rest.split_once(" $ ") {
        Some((rest, check)) => (rest, Some(check.trim())),
        None => (rest, None),
    };
    let (id, words) = rest.split_once(' ')?;
    Some(Pitch {
        is_done,
        id,
        words: words.trim(),
        check,
    })
}

fn read(source: Source<'_>) -> (Route<'_>, Vec<Problem>) {
    let mut route = Route {
        name: None,
        pitches: Vec::new(),
    };
    let mut problems = Vec::new();
    let mut start = 0;
    for (text, line) in source.text.split_inclusive('\n').zip(1..) {
        let span = Span {
            start,
            end: start + text.len(),
            line,
            column: 1,
        };
        start = span.end;
        let text = text.trim_end();
        let problem = |code: &'static str, what: String, hint: &str| {
            Problem::error(code, source.name, "", span).saying(what, hint)
        };
        if let Some(name) = text.strip_prefix(HEAD) {
            route.name = Some(name.trim());
        } else if let Some(found) = pitch(text) {
            if route.pitches.iter().any(|known| known.id == found.id) {
                let what = format!("pitch `{}` stands there twice", found.id);
                problems.push(problem(
                    "DUPLICATE_ID",
                    what,
                    "give each pitch an id of its own",
                ));
            } else {
                route.pitches.push(found);
            }
        } else if !text.is_empty() {
            let hint = "write `[ ] p1 what is to be done`";
            problems.push(problem("SYNTAX", "this is no pitch".to_owned(), hint));
        }
    }
    (route, problems)
}

fn node(id: &str) -> Node {
    Node::child(None, id, 1)
}

fn planned(pitch: &Pitch<'_>) -> PlannedItem {
    let mend = format!("It checks pitch **{}**. Mend what it found.", pitch.id);
    PlannedItem {
        node: node(pitch.id),
        id: pitch.id.to_owned(),
        place: Place::default(),
        state: match pitch.is_done {
            true => ItemState::Done,
            false => ItemState::Ready,
        },
        prompt: Some(pitch.words.to_owned()),
        model: None,
        gate: pitch.check.and_then(|check| gate(&[check], mend)),
        breakpoint: false,
        depends_on: Vec::new(),
        native: None,
        past: Past::default(),
        piece_of: None,
        claims: Default::default(),
        turn: Turn::default(),
    }
}

fn plan(route: &Route<'_>, of: PlanOf<'_>) -> Plan {
    let items = route.pitches.iter().zip(0..);
    Plan {
        run: of.run,
        name: of.name.or_own(None),
        face: FACE.to_owned(),
        source: of.source.to_owned(),
        policy: Policy::default(),
        order: Order::Any,
        native: None,
        past: None,
        items: items
            .map(|(pitch, at)| PlannedItem {
                place: Place::default().child(at),
                ..planned(pitch)
            })
            .collect(),
    }
}

/// The same lines, with the boxes as the run has them.
fn show(text: &str, tables: &Tables, run: RunId) -> Result<String, CannotShow> {
    let rows: HashMap<&str, &ItemRow> = own_items(tables, run)
        .map(|row| (row.id.as_str(), row))
        .collect();
    let lines = text.split_inclusive('\n').map(|line| {
        let row = pitch(line).and_then(|pitch| rows.get(pitch.id));
        match row.filter(|row| !row.state.is_left_out()) {
            Some(row) if row.state == ItemState::Done => line.replacen("[ ]", "[x]", 1),
            Some(_) => line.replacen("[x]", "[ ]", 1),
            None => line.to_owned(),
        }
    });
    Ok(lines.collect())
}

fn edits(base: Option<&str>, theirs: &str, shown: Shown<'_>) -> Result<Changed, Vec<Problem>> {
    let (theirs, problems) = read(Source {
        name: shown.file,
        text: theirs,
    });
    if problems.iter().any(Problem::is_error) {
        return Err(problems);
    }
    let base = base.map(|text| read(Source { name: "", text }).0);
    let was = |id: &str| {
        let mut pitches = base.iter().flat_map(|base| &base.pitches);
        pitches.find(|pitch| pitch.id == id)
    };
    let rows: Vec<&ItemRow> = own_items(shown.tables, shown.run).collect();
    let by_id: HashMap<&str, &ItemRow> = rows.iter().map(|row| (row.id.as_str(), *row)).collect();
    let mut changed = Changed::default();
    let mut after = None;
    for pitch in &theirs.pitches {
        let before = was(pitch.id);
        if let Some(row) = by_id.get(pitch.id) {
            let marked = Marked {
                before: base
                    .is_some()
                    .then(|| before.is_some_and(|was| was.is_done)),
                is_back: base.is_some() && before.is_none(),
                now: pitch.is_done,
                row,
            };
            marked.means(&mut changed);
            let said = Planned {
                before: before.map(planned),
                now: planned(pitch),
            };
            said.words(row, &mut changed);
        } else {
            changed.edits.push(Edit::Insert {
                parent: None,
                after: after.clone(),
                items: vec![planned(pitch)],
            });
        }
        after = Some(node(pitch.id));
    }
    let there: HashSet<&str> = theirs.pitches.iter().map(|pitch| pitch.id).collect();
    for row in rows {
        let was_there = base.is_none() || was(&row.id).is_some();
        match (was_there, there.contains(row.id.as_str())) {
            (true, false) => changed.removed.push(row.node.clone()),
            (false, true) => changed.returned.push(row.node.clone()),
            (true, true) | (false, false) => {}
        }
    }
    Ok(changed)
}
