//! What every edit of Markdown promises: only its own span changes.

use std::collections::HashMap;

use piton_formats::ralph_dir::EditError;
use piton_formats::ralph_dir::guardrails::{self, FieldName, NewSign};
use piton_formats::ralph_dir::progress::{
    self, CriterionRecord, SessionPart, SessionRef, add_items, blocker_words, completed_item,
    item_words,
};
use piton_formats::task::{self, Criterion, SourceText};

const AT: SessionRef<'_> = SessionRef {
    number: 1,
    date: "2025-03-01",
};

/// The bytes of `old` that do not stand before or behind the change.
fn taken_out<'t>(old: &'t str, new: &str) -> &'t [u8] {
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let lead = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let both = old[lead..].iter().rev().zip(new[lead..].iter().rev());
    let tail = both.take_while(|(a, b)| a == b).count();
    &old[lead..old.len() - tail]
}

#[track_caller]
pub(crate) fn only_adds<E>(old: &str, made: Result<String, E>) -> Option<String> {
    let new = made.ok()?;
    assert_eq!(taken_out(old, &new), b"", "{old:?}\n{new:?}");
    if old.contains('\n') && !old.contains("\r\n") && !old.contains('\r') {
        assert!(!new.contains('\r'));
    }
    Some(new)
}

fn completed() -> CriterionRecord {
    CriterionRecord {
        number: Some(3),
        text: "# a <!-- b".to_owned(),
        commit: Some("abc".to_owned()),
        notes: Some("one\n# two\n```\nthree".to_owned()),
        screenshot: None,
    }
}

pub(crate) fn add_completed(
    text: &str,
    at: SessionRef<'_>,
    what: &CriterionRecord,
) -> Result<String, EditError> {
    add_items(
        text,
        at,
        SessionPart::Completed,
        &[completed_item(what, None).0],
    )
}

pub(crate) fn add_validation(
    text: &str,
    at: SessionRef<'_>,
    validation: &str,
) -> Result<String, EditError> {
    let item = format!("- {}", item_words(validation));
    add_items(text, at, SessionPart::Validations, &[item])
}

pub(crate) fn add_blocker(
    text: &str,
    at: SessionRef<'_>,
    blocker: &str,
) -> Result<String, EditError> {
    let item = format!("- {}", blocker_words(blocker));
    add_items(text, at, SessionPart::Blockers, &[item])
}

fn progress_keeps_all_else(text: &str) {
    let started = only_adds(text, progress::start_session(text, AT, None));
    if started.is_some() && !text.is_empty() {
        assert!(started.is_some_and(|new| new.starts_with(text)));
    }
    // `- None` gives way to the first thing there is to say.
    let may_give_way = text.contains("None") || text.contains("none");
    let made = [
        add_completed(text, AT, &completed()),
        add_validation(text, AT, "opens"),
        add_blocker(text, AT, "stuck"),
    ];
    for made in made {
        if may_give_way {
            if let Ok(new) = made {
                assert!(taken_out(text, &new).len() <= 8, "{text:?}\n{new:?}");
            }
        } else {
            only_adds(text, made);
        }
    }
    only_adds(text, progress::end_session(text, AT, "done", None));
    focus_keeps_all_else(text);
}

fn focus_keeps_all_else(text: &str) {
    let Ok(new) = progress::set_focus(text, AT, "- x", None) else {
        return;
    };
    let read = progress::parse_progress_md(SourceText { name: "", text }).0;
    let focus = read.find_section(AT).and_then(|have| have.focus.clone());
    match focus {
        None => assert_eq!(taken_out(text, &new), b"", "{text:?}\n{new:?}"),
        // Whatever stands before the focus and behind its paragraph stays.
        Some(focus) => {
            let before = &text[..focus.span.start];
            assert!(new.starts_with(before.trim_end_matches([' ', '\t'])));
            let rest = text[focus.span.start..].split_once("\n\n");
            assert!(rest.is_none_or(|(_, rest)| new.ends_with(rest)));
        }
    }
}

/// How often each line that is not blank stands in a text.
fn lines(text: &str) -> HashMap<&str, usize> {
    let mut found = HashMap::new();
    for line in text.split('\n').map(str::trim_end) {
        if !line.is_empty() {
            *found.entry(line).or_default() += 1;
        }
    }
    found
}

fn signs_keep_all_else(text: &str) {
    let sign = NewSign {
        name: "New #".to_owned(),
        trigger: "t".to_owned(),
        instruction: "```\n# x".to_owned(),
        evidence: None,
        added_after: "a".to_owned(),
    };
    only_adds(text, guardrails::add_signs(text, &[sign]));
    let all = guardrails::parse_guardrails(SourceText { name: "", text }).0;
    for sign in all.signs.iter().take(3) {
        let moved = guardrails::resolve_sign(text, &sign.name, "why", "2025-01-01");
        // Of several of that name it is the one that holds.
        let held = all.find_sign(&sign.name).expect("it was just read");
        if let (Ok(new), guardrails::RuleForm::Line) = (&moved, held.form) {
            let words = &text[held.fields[0].bytes.clone()];
            assert!(new.contains(words), "{text:?}\n{new:?}");
        } else if let Ok(new) = moved {
            let held = all
                .find_sign(&sign.name)
                .map(|sign| &text[sign.bytes.clone()]);
            assert!(
                held.is_some_and(|bytes| new.contains(bytes)),
                "{text:?}\n{new:?}"
            );
            let have = lines(&new);
            for (line, count) in lines(text) {
                assert!(
                    have.get(line) >= Some(&count),
                    "{line:?}\n{text:?}\n{new:?}"
                );
            }
        }
        field_keeps_all_else(text, sign, FieldName::Instruction);
        field_keeps_all_else(text, sign, FieldName::Evidence);
    }
}

fn field_keeps_all_else(text: &str, sign: &guardrails::GuardrailSign, name: FieldName) {
    let all = guardrails::parse_guardrails(SourceText { name: "", text }).0;
    let Ok(new) = guardrails::set_sign_field(text, &sign.name, name, "a\nb") else {
        return;
    };
    let sign = all.find_sign(&sign.name).expect("it was just changed");
    let field = sign
        .fields
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case(name.as_str()));
    match field {
        None => assert_eq!(taken_out(text, &new), b"", "{text:?}\n{new:?}"),
        Some(field) => {
            assert!(new.starts_with(&text[..field.bytes.start]));
            assert!(new.ends_with(&text[field.bytes.end..]));
        }
    }
}

/// The text with the box of a criterion ticked or not.
pub(crate) fn set_ticked(text: &str, criterion: &Criterion, ticked: bool) -> String {
    let mut out = text.to_owned();
    out.replace_range(criterion.tick.clone(), if ticked { "x" } else { " " });
    out
}

fn ticks_keep_all_else(text: &str) {
    let (read, _) = task::parse_task(SourceText { name: "", text });
    for criterion in read.criteria.iter().take(3) {
        let new = set_ticked(text, criterion, !criterion.ticked);
        assert_eq!(new.len() + criterion.tick.len(), text.len() + 1);
        assert_eq!(
            taken_out(text, &new),
            &text.as_bytes()[criterion.tick.clone()]
        );
        let again = task::parse_task(SourceText {
            name: "",
            text: &new,
        })
        .0;
        assert_ne!(
            again
                .criteria
                .iter()
                .find(|c| c.id == criterion.id)
                .map(|c| c.ticked),
            Some(criterion.ticked)
        );
    }
}

/// Every edit, on any text at all.
pub(crate) fn keep_all_else(text: &str) {
    ticks_keep_all_else(text);
    progress_keeps_all_else(text);
    signs_keep_all_else(text);
}
