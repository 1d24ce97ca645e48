//! What becomes of the `progress.txt` of earlier times.

use jiff::Timestamp;
use piton_core::memory::{LearningType, Memory, MemoryKind};
use piton_core::prepare::CHARS_MAX;

use crate::markdown::{Doc, LineKind};
use crate::ralph_dir::progress_txt;

/// The text as learnings from the item `migration`, the first of them
/// `learning-0000` as seed 000 has it.
///
/// A text that fits into a note of a prompt is one learning. Of a longer one
/// each section is a learning, in parts where it does not fit itself: what is
/// told of it is then what is about the matter. Nothing else in the text is told
/// apart, because it was written for people.
#[must_use]
pub fn learnings_of_progress_txt(text: &str, created_at: Timestamp) -> Vec<Memory> {
    let sections = if is_within_limit(text) {
        vec![text]
    } else {
        split_sections(text)
            .into_iter()
            .flat_map(split_parts)
            .collect()
    };
    let numbered = sections.into_iter().enumerate();
    let memory = |(nth, content): (usize, &str)| Memory {
        id: (nth == 0).then(|| MemoryKind::Learning.format_id(0)),
        topic: Some(LearningType::CodebasePattern.as_str().to_owned()),
        context: Some("Migrated from progress.txt".to_owned()),
        source_item: Some("migration".to_owned()),
        learned_at: Some(created_at),
        ..Memory::new(MemoryKind::Learning, content)
    };
    numbered.map(memory).collect()
}

fn is_within_limit(text: &str) -> bool {
    text.chars().nth(CHARS_MAX).is_none()
}

/// What stands between headings and rules, with the headings, without sections
/// that say nothing.
fn split_sections(text: &str) -> Vec<&str> {
    let doc = Doc::new(text);
    let mut cuts = vec![0];
    for line in 0..doc.line_count() {
        match doc.kind_of_line(line) {
            LineKind::Heading(_) => cuts.push(doc.line_start(line)),
            // A rule belongs to neither of its sides.
            LineKind::Rule => cuts.extend([doc.line_start(line), doc.line_start(line + 1)]),
            LineKind::Text
            | LineKind::Blank
            | LineKind::Code
            | LineKind::Comment
            | LineKind::Html
            | LineKind::Quote => {}
        }
    }
    cuts.push(text.len());
    let found = cuts.windows(2).map(|cut| text[cut[0]..cut[1]].trim());
    let mut sections: Vec<&str> = found.filter(|section| has_words(section)).collect();
    // The words of the template above its first line of dashes.
    let is_head =
        |section: &&str| progress_txt::parse_progress_txt(&format!("{section}\n---")).untouched;
    if sections.first().is_some_and(is_head) {
        sections.remove(0);
    }
    sections
}

/// A heading alone, or a rule, says nothing.
fn has_words(section: &str) -> bool {
    let doc = Doc::new(section);
    (0..doc.line_count()).any(|line| {
        !matches!(
            doc.kind_of_line(line),
            LineKind::Blank | LineKind::Rule | LineKind::Heading(_) | LineKind::Comment
        )
    })
}

/// A section in parts that fit, cut between its lines where that can be.
fn split_parts(section: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = section;
    while !rest.is_empty() {
        let most = rest
            .char_indices()
            .nth(CHARS_MAX)
            .map_or(rest.len(), |(at, _)| at);
        let within = &rest[..most];
        let ends = ["\n\n", "\n", " "];
        let end = ends.iter().find_map(|end| within.rfind(end));
        let cut = match end.filter(|at| *at > 0 && most < rest.len()) {
            Some(at) => at,
            None => most,
        };
        parts.push(rest[..cut].trim());
        rest = rest[cut..].trim_start();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(text: &str) -> Vec<String> {
        let memories = learnings_of_progress_txt(text, Timestamp::UNIX_EPOCH);
        memories.into_iter().map(|memory| memory.content).collect()
    }

    #[test]
    fn a_long_text_becomes_a_learning_for_each_section() {
        let words = "the parser keeps the order of keys; ".repeat(20);
        let text = format!(
            "# Ralph Progress Log\n\nThis file tracks what was done.\n\n---\n\n\
             ## Patterns\n- {words}\n```\n# no heading\n---\n```\n---\n## 2026-01-10\n\n## US-1\n{words}\n"
        );
        let found = contents(&text);
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(found[0].starts_with("## Patterns") && found[0].ends_with("```"));
        assert!(found[1].starts_with("## US-1"));
        let ids: Vec<bool> = learnings_of_progress_txt(&text, Timestamp::UNIX_EPOCH)
            .iter()
            .map(|memory| memory.id.is_some())
            .collect();
        assert_eq!(ids, [true, false]);
    }

    #[test]
    fn a_section_that_does_not_fit_is_cut_and_nothing_of_it_is_lost() {
        let lines: Vec<String> = (0..900)
            .map(|line| format!("- line {line} says ä"))
            .collect();
        for text in [lines.join("\n"), "ä".repeat(5_000)] {
            let found = contents(&text);
            assert!(found.len() > 3);
            assert!(found.iter().all(|part| part.chars().count() <= CHARS_MAX));
            let joined: String = found.concat();
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(bare(&joined), bare(&text));
        }
    }
}
