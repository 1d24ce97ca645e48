//! A learning or a pattern of a progress file as a memory of the core, and back.

use jiff::Timestamp;
use piton_core::command::ImportedRecord;
use piton_core::memory::{LearningType, Memory, MemoryKind, PatternType};

use super::attempts::NUMBER_MAX;
use super::element::{CodePattern, LEARNING, Learning, PATTERN};
use super::shape::FACE;
use crate::json::is_same_json;
use crate::record::{node_of_record, read_lenient};
use crate::shape::NamedShape;
use crate::shape_merge::native_of_element;
use crate::tree::ValueNode;

/// Who a learning came from, where it came from no item.
const MANUAL: &str = "manual";

/// What is remembered in an element; `None` when it has no id of its kind.
pub(super) fn memory_of_element(
    text: &str,
    node: &ValueNode,
    kind: MemoryKind,
) -> Option<ImportedRecord> {
    let (mut memory, is_valid) = match kind {
        MemoryKind::Learning => memory_of_learning(read_lenient(node, &LEARNING.shape)?),
        MemoryKind::Pattern => (memory_of_pattern(read_lenient(node, &PATTERN.shape)?), None),
        MemoryKind::Guardrail | MemoryKind::ResolvedBlocker => return None,
    };
    let number = kind.parse_number(memory.id.as_deref()?);
    number.filter(|number| *number <= NUMBER_MAX)?;
    let retired = is_valid == Some(false);
    if !is_same_json(
        &memory_element(&memory, memory.learned_at, Some(!retired)),
        node,
    ) {
        memory.native = native_of_element(text, node, FACE);
    }
    let memory = Box::new(memory);
    Some(if retired {
        ImportedRecord::Retired(memory)
    } else {
        ImportedRecord::Memory(memory)
    })
}

/// What a learning holds, and whether it is still valid.
fn memory_of_learning(learning: Learning) -> (Memory, Option<bool>) {
    let content = learning.content.unwrap_or_default();
    let memory = Memory {
        id: learning.id,
        topic: learning.topic,
        context: learning.context,
        source_item: learning.source_item.filter(|item| item != MANUAL),
        source_attempt: learning.source_attempt,
        learned_at: learning.learned_at,
        times_referenced: learning.times_referenced,
        ..Memory::new(MemoryKind::Learning, content)
    };
    (memory, learning.is_valid)
}

fn memory_of_pattern(pattern: CodePattern) -> Memory {
    Memory {
        id: pattern.id,
        topic: pattern.topic,
        title: pattern.title,
        examples: pattern.examples.unwrap_or_default(),
        confidence: pattern.confidence,
        source_item: pattern.source_item.filter(|item| item != MANUAL),
        learned_at: pattern.learned_at,
        ..Memory::new(MemoryKind::Pattern, pattern.content.unwrap_or_default())
    }
}

/// What an element of that kind must be; there are no guardrails here.
pub(super) fn shape_of_kind(kind: MemoryKind) -> Option<&'static NamedShape> {
    match kind {
        MemoryKind::Learning => Some(&LEARNING),
        MemoryKind::Pattern => Some(&PATTERN),
        MemoryKind::Guardrail | MemoryKind::ResolvedBlocker => None,
    }
}

/// The element of a learning or a pattern; `valid` where that is to be said.
pub(super) fn memory_element(
    memory: &Memory,
    learned_at: Option<Timestamp>,
    valid: Option<bool>,
) -> ValueNode {
    if memory.kind == MemoryKind::Pattern {
        return pattern_element(memory, learned_at);
    }
    let source = memory.source_item.as_deref().unwrap_or(MANUAL);
    node_of_record(&Learning {
        id: memory.id.clone(),
        topic: Some(topic_of_memory(
            memory,
            LearningType::CodebasePattern.as_str(),
        )),
        content: Some(memory.content.clone()),
        context: memory.context.clone(),
        source_item: Some(source.to_owned()),
        source_attempt: memory.source_attempt.clone(),
        learned_at,
        times_referenced: memory.times_referenced,
        is_valid: valid,
    })
}

fn pattern_element(memory: &Memory, learned_at: Option<Timestamp>) -> ValueNode {
    let content = Some(&memory.content).filter(|content| !content.is_empty());
    let first = content.and_then(|content| content.lines().next());
    let name = memory.title.as_deref().or(first).or(memory.id.as_deref());
    let examples = Some(&memory.examples).filter(|examples| !examples.is_empty());
    node_of_record(&CodePattern {
        id: memory.id.clone(),
        title: Some(name.unwrap_or_default().to_owned()),
        topic: Some(topic_of_memory(memory, PatternType::FileStructure.as_str())),
        content: content.cloned(),
        examples: examples.cloned(),
        learned_at,
        source_item: memory.source_item.clone(),
        confidence: memory.confidence,
    })
}

/// What it is about; the format demands one of its words.
fn topic_of_memory(memory: &Memory, otherwise: &str) -> String {
    let known = memory.kind.allowed_topics();
    let topic = memory.topic.as_deref();
    let topic = topic.filter(|topic| known.contains(topic));
    topic.unwrap_or(otherwise).to_owned()
}
