//! `piton learn`: what is worth knowing the next time, added, shown, retired.

use jiff::Timestamp;
use piton_core::confidence::{Confidence, assess_confidence};
use piton_core::event::MemoryEvent;
use piton_core::memory::{LearningType, Memory, MemoryKind, MemoryOrigin, MemoryRow};
use piton_core::{Command, Event, HolderLiveness, Need, Refusal};
use serde::Serialize;

use super::{NoticeSink, create_session, sync_project_files};
use crate::caller::held_item::{HeldItem, own_item, refuse_other_item};
use crate::failure::Failure;
use crate::session::Session;
use crate::verbs::arguments::{join_words, non_blank, require_one_line};
use crate::world::World;

/// Something that is remembered, and how much confidence it deserves.
#[derive(Clone, Debug, Serialize)]
pub struct RememberedRow {
    /// What is stored.
    #[serde(flatten)]
    pub row: MemoryRow,
    /// Follows from who recorded it and from what came of using it.
    #[serde(rename = "trust")]
    pub confidence: Confidence,
    /// Where it comes from, and whether a person stands behind it.
    pub origin: MemoryOrigin,
    /// It was to be added, and was known before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub was_known: bool,
}

crate::name_schema!(RememberedRow, "piton.memory/1");

impl From<MemoryRow> for RememberedRow {
    fn from(row: MemoryRow) -> Self {
        Self {
            origin: row.origin(),
            confidence: assess_confidence(&row.by, row.uses.helped, row.uses.failed),
            was_known: false,
            row,
        }
    }
}

/// What is remembered, in the order in which it was recorded.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RememberedRows {
    /// Each of them.
    pub memories: Vec<RememberedRow>,
}

crate::name_schema!(RememberedRows, "piton.memories/1");

/// Keeps something that is worth knowing, unless the caller keeps it already. What an
/// agent keeps comes from the item of its attempt.
///
/// # Errors
///
/// When something that its kind needs is missing, a guardrail of its title is
/// followed already, an agent names another item than its own, or the store
/// fails.
pub fn add(
    world: &World,
    memory: Memory,
    told: &mut NoticeSink<'_>,
) -> Result<RememberedRow, Failure> {
    let memory = validate_memory(world, memory)?;
    let session = create_session(world, told)?;
    let memory = match own_item(&session)? {
        Some(held) => with_own_source(&session, &held, memory)?,
        None => memory,
    };
    if let Some(known) = find_known(&session, &memory)? {
        return Ok(RememberedRow {
            was_known: true,
            ..known.into()
        });
    }
    let committed = session.execute_command(&Command::AddMemory(Box::new(memory)))?;
    let id = committed.events.into_iter().find_map(|recorded| {
        if let Event::Memory(MemoryEvent::Added(memory)) = recorded.event {
            memory.id
        } else {
            None
        }
    });
    let id = id.expect("what is remembered has an id");
    let row = load_memory(&session, &id)?;
    sync_project_files(&session, told);
    Ok(row.into())
}

/// What the caller keeps in the same words; another's word is worth less, or more. Of
/// guardrails each title is followed once: a second one is refused.
fn find_known(session: &Session<'_>, memory: &Memory) -> Result<Option<MemoryRow>, Failure> {
    if memory.kind == MemoryKind::Guardrail {
        return Ok(None);
    }
    let words = |of: &Memory| {
        let (title, content, context) = (&of.title, &of.content, &of.context);
        let topic = of.topic.clone();
        (
            of.kind,
            topic,
            title.clone(),
            content.clone(),
            context.clone(),
        )
    };
    let facts = session.world.command_facts(HolderLiveness::Nothing);
    let (said, by) = (words(memory), facts.actor.to_string());
    let rows = session.load(&[Need::Memories(None)])?.tables;
    let mut rows = rows.memories();
    let known = rows.find(|row| row.is_followed() && row.by == by && words(&row.memory) == said);
    Ok(known.cloned())
}

/// What an agent keeps, with the attempt that it comes from.
fn with_own_source(
    session: &Session<'_>,
    held: &HeldItem,
    memory: Memory,
) -> Result<Memory, Failure> {
    if let Some(item) = &memory.source_item {
        refuse_other_item(session, held, item)?;
    }
    let attempt = held.attempt.as_ref();
    Ok(Memory {
        source_item: Some(held.node.as_str().to_owned()),
        source_attempt: attempt.and_then(|row| row.name.clone()),
        ..memory
    })
}

/// What came of what an agent said is worth knowing.
#[derive(Clone, Debug, Serialize)]
pub struct NoticedMemory {
    /// Under which id it is remembered; none for an echo of its own prompt.
    pub id: Option<String>,
    /// It was known before, and has one more source now.
    pub was_known: bool,
}

crate::name_schema!(NoticedMemory, "piton.learn.noticed/1");

/// Keeps what an agent says that is worth knowing, once. `carried` are the ids
/// of what its prompt carried: what repeats those is no news.
///
/// # Errors
///
/// As [`add`].
pub fn add_noticed(
    world: &World,
    memory: Memory,
    carried: Vec<String>,
    told: &mut NoticeSink<'_>,
) -> Result<NoticedMemory, Failure> {
    let memory = Box::new(validate_memory(world, memory)?);
    let session = create_session(world, told)?;
    let committed = session.execute_command(&Command::NoticeMemory { memory, carried })?;
    let mut noticed = NoticedMemory {
        id: None,
        was_known: true,
    };
    for recorded in committed.events {
        if let Event::Memory(MemoryEvent::Added(memory)) = recorded.event {
            noticed.id = memory.id;
            noticed.was_known = false;
        } else if let Event::Memory(MemoryEvent::Confirmed { id, .. }) = recorded.event {
            noticed.id = Some(id);
        }
    }
    sync_project_files(&session, told);
    Ok(noticed)
}

/// The memory without blanks, if it has all that its kind needs.
fn validate_memory(world: &World, memory: Memory) -> Result<Memory, Failure> {
    let kind = memory.kind;
    // What is learned is mostly about the code, and a person need not think of a type.
    let usual_topic = (kind == MemoryKind::Learning).then_some(LearningType::CodebasePattern);
    let mut memory = Memory {
        topic: non_blank(memory.topic).or_else(|| usual_topic.map(|topic| topic.to_string())),
        title: non_blank(memory.title),
        context: non_blank(memory.context),
        evidence: non_blank(memory.evidence),
        added_after: non_blank(memory.added_after),
        source_item: non_blank(memory.source_item),
        examples: memory
            .examples
            .into_iter()
            .filter(|text| !text.trim().is_empty())
            .collect(),
        ..memory
    };
    check_fields(&memory)?;
    if let Some(topic) = &memory.topic {
        check_type(&[kind], topic)?;
    }
    for (what, text) in [
        ("the title", &memory.title),
        ("the trigger", &memory.context),
        ("--added-after", &memory.added_after),
        ("the item", &memory.source_item),
    ] {
        // Where these stand in a file, a line break would begin something else.
        if let Some(text) = text {
            require_one_line(what, text)?;
        }
    }
    if kind == MemoryKind::Guardrail && memory.added_after.is_none() {
        let by = match world.agent() {
            Some(agent) => agent.description(),
            None => world.user_name().to_owned(),
        };
        memory.added_after = Some(added_after(world.now(), &by));
    }
    Ok(memory)
}

/// Whether a memory has all that its kind needs, and nothing that it has no place for.
fn check_fields(memory: &Memory) -> Result<(), Failure> {
    let kind = memory.kind;
    let given = [
        (!memory.content.trim().is_empty(), "CONTENT"),
        (memory.topic.is_some(), "--type"),
        (memory.title.is_some(), "--title"),
        (memory.context.is_some(), "--trigger"),
        (!memory.examples.is_empty(), "--example"),
        (memory.confidence.is_some(), "--confidence"),
        (memory.added_after.is_some(), "--added-after"),
    ];
    // What its native file cannot do without, and what it has no place for.
    let (needed, foreign): (&[&str], &[&str]) = match kind {
        MemoryKind::Learning => (
            &["CONTENT"],
            &["--title", "--example", "--confidence", "--added-after"],
        ),
        MemoryKind::Pattern => (&["--title", "--type", "CONTENT"], &["--added-after"]),
        MemoryKind::Guardrail => (
            &["--title", "--trigger", "CONTENT"],
            &["--type", "--example", "--confidence"],
        ),
        MemoryKind::ResolvedBlocker => (
            &["--title", "CONTENT"],
            &["--type", "--example", "--confidence", "--added-after"],
        ),
    };
    let is_given = |name: &str| given.iter().any(|(given, known)| *given && *known == name);
    let missing: Vec<&str> = needed
        .iter()
        .copied()
        .filter(|name| !is_given(name))
        .collect();
    if !missing.is_empty() {
        return Err(
            Failure::new("usage", format!("a {kind} needs {}", missing.join(", ")))
                .with_hint(example_command(kind)),
        );
    }
    if let Some(name) = foreign.iter().find(|name| is_given(name)) {
        return Err(Failure::new("usage", format!("a {kind} has no {name}"))
            .with_hint(example_command(kind)));
    }
    Ok(())
}

fn added_after(now: Timestamp, by: &str) -> String {
    format!("Session: {} - added by {by}", now.strftime("%F"))
}

/// How one of this kind is added.
fn example_command(kind: MemoryKind) -> String {
    let types = join_words(kind.allowed_topics());
    match kind {
        MemoryKind::Learning => {
            format!("write `piton learn add CONTENT`, with `--type TYPE` where it is about something else than the code; the types are: {types}")
        }
        MemoryKind::Pattern => format!(
            "write `piton learn add --kind pattern --type TYPE --title NAME CONTENT`; the types are: {types}"
        ),
        MemoryKind::Guardrail => {
            "write `piton learn add --kind guardrail --title NAME --trigger WHEN INSTRUCTION`"
                .to_owned()
        }
        MemoryKind::ResolvedBlocker => "write `piton learn add --kind resolved-blocker --title 'WHAT WAS IN THE WAY' 'HOW IT WAS RESOLVED'`".to_owned(),
    }
}

/// Whether a type is one of some kinds.
fn check_type(kinds: &[MemoryKind], topic: &str) -> Result<(), Failure> {
    let mut types: Vec<&str> = Vec::new();
    for word in kinds.iter().flat_map(|kind| kind.allowed_topics()) {
        if !types.contains(word) {
            types.push(word);
        }
    }
    if types.contains(&topic) {
        return Ok(());
    }
    let of = match kinds {
        [kind] => format!(" of {kind}s"),
        _ => String::new(),
    };
    let hint = if types.is_empty() {
        "it has no type; leave `--type` out".to_owned()
    } else {
        format!("the types{of} are: {}", join_words(&types))
    };
    Err(Failure::new("usage", format!("there is no type `{topic}`{of}")).with_hint(hint))
}

/// Which memories are listed.
#[derive(Clone, Debug, Default)]
pub struct MemoryFilter {
    /// Those of this kind.
    pub kind: Option<MemoryKind>,
    /// Those of this type.
    pub topic: Option<String>,
    /// Those that are retired as well.
    pub retired: bool,
}

/// What is remembered, in the order in which it was recorded.
///
/// # Errors
///
/// When the type is not known, or there is a store that cannot be read.
pub fn list(world: &World, filter: &MemoryFilter) -> Result<RememberedRows, Failure> {
    if let Some(topic) = &filter.topic {
        match filter.kind {
            Some(kind) => check_type(&[kind], topic)?,
            None => check_type(MemoryKind::ALL, topic)?,
        }
    }
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(RememberedRows::default());
    };
    let rows = session.load(&[Need::Memories(filter.kind)])?;
    let fits = |row: &&MemoryRow| {
        filter.kind.is_none_or(|kind| row.memory.kind == kind)
            && (filter.topic.is_none() || row.memory.topic == filter.topic)
            && (filter.retired || row.retired.is_none())
    };
    let mut found: Vec<MemoryRow> = rows.tables.memories().filter(fits).cloned().collect();
    found.sort_by_key(|row| row.position);
    Ok(RememberedRows {
        memories: found.into_iter().map(RememberedRow::from).collect(),
    })
}

/// One thing that is remembered.
///
/// # Errors
///
/// When nothing is remembered under that id, or there is a store that cannot be read.
pub fn show(world: &World, id: &str) -> Result<RememberedRow, Failure> {
    let id = id.trim();
    match Session::open_read_only(world, &world.cwd)? {
        Some(session) => Ok(load_memory(&session, id)?.into()),
        None => Err(Refusal::NotRemembered(id.to_owned()).into()),
    }
}

fn load_memory(session: &Session<'_>, id: &str) -> Result<MemoryRow, Failure> {
    let rows = session.load(&[Need::Memory(id.to_owned())])?;
    let row = rows.tables.find_memory(id).cloned();
    row.ok_or_else(|| Refusal::NotRemembered(id.to_owned()).into())
}

/// Memories that a person confirmed.
#[derive(Clone, Debug, Serialize)]
pub struct ConfirmedMemories {
    /// As they are now.
    pub memories: Vec<RememberedRow>,
}

crate::name_schema!(ConfirmedMemories, "piton.learn.confirmed/1");

/// Notes that a person has read these and wants them to be followed as they stand.
///
/// # Errors
///
/// When nothing is remembered under one of those ids, or it is retired: then none is
/// confirmed.
pub fn confirm(world: &World, ids: &[String]) -> Result<ConfirmedMemories, Failure> {
    let ids: Vec<String> = ids.iter().map(|id| id.trim().to_owned()).collect();
    let Some(session) = Session::open_writable(world, &world.cwd)? else {
        return Err(Refusal::NotRemembered(ids.join(", ")).into());
    };
    session.execute_command(&Command::EndorseMemories(ids.clone()))?;
    let rows = ids.iter().map(|id| load_memory(&session, id));
    let rows = rows.map(|row| Ok(row?.into()));
    Ok(ConfirmedMemories {
        memories: rows.collect::<Result<_, Failure>>()?,
    })
}

/// Notes that something remembered is not to be followed any more, or that
/// something else takes its place. It stays where it is.
///
/// # Errors
///
/// When nothing is remembered under those ids, or it is retired already.
pub fn retire(
    world: &World,
    id: &str,
    why: Option<String>,
    superseded_by: Option<String>,
    told: &mut NoticeSink<'_>,
) -> Result<RememberedRow, Failure> {
    let id = id.trim();
    let Some(session) = Session::open_writable(world, &world.cwd)? else {
        return Err(Refusal::NotRemembered(id.to_owned()).into());
    };
    session.execute_command(&Command::RetireMemory {
        id: id.to_owned(),
        why: non_blank(why),
        superseded_by: non_blank(superseded_by),
    })?;
    let row = load_memory(&session, id)?;
    sync_project_files(&session, told);
    Ok(row.into())
}
