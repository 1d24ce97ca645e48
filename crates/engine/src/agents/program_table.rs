//! The agent programs that piton knows, and what follows from their rows.
//!
//! [`KNOWN_PROGRAMS`] is the only list of programs. A program is added by a module
//! with its row, and by its line here.

use jiff::tz::TimeZone;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::Agent;
use super::known_program::{KnownProgram, ProgramSetup};
use super::settings::{AdapterName, AgentTable};

/// All of them, in the order in which hints name them.
pub static KNOWN_PROGRAMS: &[&KnownProgram] = &[
    // One a line, so that a new one changes one line.
    &super::claude::PROGRAM,
    &super::codex::PROGRAM,
    &super::gemini::PROGRAM,
    &super::qwen::PROGRAM,
    &super::copilot::PROGRAM,
    &super::opencode::PROGRAM,
];

/// The adapter of all other programs, each of which is described by its table.
pub const CUSTOM: &str = "custom";

impl<'de> Deserialize<'de> for AdapterName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let given = String::deserialize(from)?;
        let names = || program_names().chain([CUSTOM]);
        let known = names().find(|name| *name == given);
        known.map(Self).ok_or_else(|| {
            let expected: Vec<String> = names().map(|name| format!("`{name}`")).collect();
            D::Error::custom(format!(
                "unknown variant `{given}`, expected one of {}",
                expected.join(", ")
            ))
        })
    }
}

/// The program of that name.
#[must_use]
pub fn find_program(name: &str) -> Option<&'static KnownProgram> {
    KNOWN_PROGRAMS
        .iter()
        .copied()
        .find(|program| program.name == name)
}

/// The program that drives the agent `name` with this table; none where that is
/// the adapter [`CUSTOM`].
#[must_use]
pub fn program_of_table(name: &str, table: &AgentTable) -> Option<&'static KnownProgram> {
    find_program(table.adapter.map_or(name, |AdapterName(name)| name))
}

/// The names of all programs.
pub fn program_names() -> impl Iterator<Item = &'static str> {
    KNOWN_PROGRAMS.iter().map(|program| program.name)
}

/// How a person names an agent where these programs are installed, for hints.
#[must_use]
pub fn naming_hint(installed: &[&str]) -> String {
    if installed.is_empty() {
        return format!(
            "install a program that piton knows, such as `{}`, or name a command that reads a prompt: `--agent 'sh:CMD'`",
            KNOWN_PROGRAMS[0].install
        );
    }
    let names = installed.join("`, `");
    format!("name a program that is there: `--agent {names}`, or a command that reads a prompt")
}

/// The adapter of a program that is configured so.
#[must_use]
pub fn build_agent(program: &KnownProgram, table: AgentTable, zone: TimeZone) -> Box<dyn Agent> {
    let others = KNOWN_PROGRAMS
        .iter()
        .filter(|other| other.name != program.name);
    let foreign_models = others.flat_map(|other| other.models).copied().collect();
    (program.agent)(ProgramSetup {
        table,
        zone,
        foreign_models,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_a_model_is_put_into_those_of_the_program() {
        let model = |program: &str, table: &AgentTable, word: Option<&str>| {
            let program = find_program(program).expect("it is known");
            build_agent(program, table.clone(), TimeZone::UTC).resolve_model(word)
        };
        let table = AgentTable {
            model: Some("gpt-5.1-codex".to_owned()),
            models: [("haiku".to_owned(), "gpt-5-mini".to_owned())].into(),
            ..AgentTable::default()
        };
        let check = |word: Option<&str>, expect: &str| {
            let model = model("codex", &table, word);
            assert_eq!(model.as_deref(), Some(expect), "{word:?}");
        };
        check(None, "gpt-5.1-codex");
        check(Some("haiku"), "gpt-5-mini");
        check(Some("opus"), "gpt-5.1-codex");
        check(Some("gpt-5.1"), "gpt-5.1");
        check(Some("my-model"), "my-model");
        let plain = AgentTable::default();
        assert_eq!(model("gemini", &plain, Some("opus")), None);
        let opus = model("claude", &plain, Some("opus"));
        assert_eq!(opus.as_deref(), Some("opus"));
    }

    #[test]
    fn no_two_programs_share_a_name_or_a_word_for_a_model() {
        for (at, program) in KNOWN_PROGRAMS.iter().enumerate() {
            for other in &KNOWN_PROGRAMS[..at] {
                assert_ne!(program.name, other.name);
                for word in program.models {
                    assert!(!other.understands_model(word), "{word}");
                }
            }
        }
    }
}
