//! What is answered, as data.
//!
//! A scenario is the same for all three protocols: a command to run becomes
//! the tool that each program has for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a server answers.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Scenario {
    /// The first that fits a request answers it.
    pub rules: Vec<Rule>,
    /// Put where a turn says `{work}`: the folder that the agent works in.
    #[serde(default)]
    pub work: String,
    /// What each answer is said to have used.
    #[serde(default)]
    pub usage: Usage,
}

/// Turns for the requests that it fits.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Rule {
    /// Fits the requests whose body has this text; none fits all.
    #[serde(default)]
    pub when: Option<String>,
    /// One for each request, in order.
    pub turns: Vec<Turn>,
    /// What comes after the last.
    #[serde(default)]
    pub again: Again,
}

/// What comes after the last turn.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Again {
    /// The last one, for ever.
    #[default]
    Last,
    /// All of them from the start.
    All,
}

/// One answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Text and calls of tools.
    Say {
        /// In order.
        pieces: Vec<Piece>,
        /// Why the model stopped, in the vendor's word; none is what is usual.
        #[serde(default)]
        stop: Option<String>,
        /// Between two events of the stream.
        #[serde(default)]
        delay_ms: u64,
    },
    /// Begins to say it, and closes the connection in the middle.
    Cut {
        /// What is begun.
        pieces: Vec<Piece>,
    },
    /// An error, as the vendor writes it unless `body` is given. In the headers
    /// and the body `{now+60}` is that second, and `{now_rfc3339+60}` as text.
    Error {
        /// `429`.
        status: u16,
        /// Beside those that are usual.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// Instead of the usual one.
        #[serde(default)]
        body: Option<Value>,
    },
    /// The account has used up what it may, until so many seconds from now.
    Limit {
        /// Seconds.
        resets_in_s: u64,
    },
    /// No answer at all, and the connection stays open.
    Hang,
}

/// A part of what is said.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// Words.
    Text(String),
    /// A command of the shell, by the tool that the program has for it.
    Shell(String),
    /// A file to write, likewise.
    Write {
        /// Absolute: begin it with `{work}/`.
        path: String,
        /// The whole of it.
        content: String,
    },
    /// Another agent to start, where the program has a tool for it.
    Agent(String),
    /// A tool of an MCP server, by the name that the program makes of it.
    Mcp {
        /// As the program knows the server.
        server: String,
        /// As the server knows the tool.
        tool: String,
        /// What it is given.
        input: Value,
    },
    /// A tool by its name.
    Call {
        /// As the program names it.
        name: String,
        /// What it is given.
        input: Value,
    },
}

/// Tokens of one answer.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct Usage {
    /// Read, and neither from a cache nor into one.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Read and put into a cache.
    pub cache_write: u64,
    /// Thought: a part of what was written.
    pub reasoning: u64,
}

impl Default for Usage {
    /// No two alike, so that a test sees when they are mixed up.
    fn default() -> Usage {
        Usage {
            input: 1_200,
            output: 42,
            cache_read: 800,
            cache_write: 100,
            reasoning: 5,
        }
    }
}

impl Scenario {
    /// These turns, whatever is asked; the last one for ever.
    #[must_use]
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Scenario {
        Scenario {
            rules: vec![Rule {
                turns: turns.into_iter().collect(),
                ..Rule::default()
            }],
            ..Scenario::default()
        }
    }

    /// With a rule that is asked before those that are there.
    #[must_use]
    pub fn when(mut self, text: &str, turns: impl IntoIterator<Item = Turn>) -> Scenario {
        let rule = Rule {
            when: Some(text.to_owned()),
            turns: turns.into_iter().collect(),
            again: Again::Last,
        };
        self.rules.insert(0, rule);
        self
    }

    /// All rules begin again after their last turn.
    #[must_use]
    pub fn over_and_over(mut self) -> Scenario {
        for rule in &mut self.rules {
            rule.again = Again::All;
        }
        self
    }

    /// In this folder.
    #[must_use]
    pub fn in_folder(mut self, work: &std::path::Path) -> Scenario {
        self.work = work.display().to_string();
        self
    }
}

impl Rule {
    /// Whether it answers a request with this body.
    pub(super) fn fits(&self, body: &str) -> bool {
        let Some(text) = &self.when else { return true };
        let written = Value::from(text.as_str()).to_string();
        body.contains(written.trim_matches('"'))
    }

    /// The turn after `given` others.
    pub(super) fn turn(&self, given: usize) -> Turn {
        let Some(last) = self.turns.len().checked_sub(1) else {
            return Turn::Hang;
        };
        let at = match self.again {
            Again::Last => given.min(last),
            Again::All => given % self.turns.len(),
        };
        self.turns[at].clone()
    }
}

impl Turn {
    /// Says this and stops for the usual reason.
    pub fn say(pieces: impl IntoIterator<Item = Piece>) -> Turn {
        Turn::Say {
            pieces: pieces.into_iter().collect(),
            stop: None,
            delay_ms: 0,
        }
    }

    /// Says it slowly: so long between two events.
    pub fn slow(delay_ms: u64, pieces: impl IntoIterator<Item = Piece>) -> Turn {
        Turn::Say {
            pieces: pieces.into_iter().collect(),
            stop: None,
            delay_ms,
        }
    }

    /// Is done: the answer ends with the line that piton reads.
    #[must_use]
    pub fn done(summary: &str) -> Turn {
        let answer = serde_json::json!({"status": "completed", "summary": summary});
        Turn::say([Piece::text(&format!("All is done.\n\n{answer}"))])
    }

    /// An error with the vendor's usual body.
    #[must_use]
    pub fn error(status: u16) -> Turn {
        Turn::Error {
            status,
            headers: BTreeMap::new(),
            body: None,
        }
    }

    /// With the placeholders filled in.
    pub(super) fn filled(self, work: &str, now: i64) -> Turn {
        // Through JSON, since they may stand in any text of it.
        let Ok(mut value) = serde_json::to_value(&self) else {
            return self;
        };
        fill(&mut value, work, now);
        serde_json::from_value(value).unwrap_or(self)
    }
}

impl Piece {
    /// Words.
    #[must_use]
    pub fn text(words: &str) -> Piece {
        Piece::Text(words.to_owned())
    }

    /// A command.
    #[must_use]
    pub fn shell(command: &str) -> Piece {
        Piece::Shell(command.to_owned())
    }

    /// A file.
    #[must_use]
    pub fn write(path: &str, content: &str) -> Piece {
        Piece::Write {
            path: path.to_owned(),
            content: content.to_owned(),
        }
    }
}

fn fill(value: &mut Value, work: &str, now: i64) {
    match value {
        Value::String(text) => {
            *text = text.replace("{work}", work);
            put_times(text, now);
        }
        Value::Array(values) => values.iter_mut().for_each(|one| fill(one, work, now)),
        Value::Object(fields) => {
            let values = fields.iter_mut().map(|(_, one)| one);
            values.for_each(|one| fill(one, work, now));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    // A time that is all of a text is a number where the vendor has a number.
    if let Value::String(text) = value
        && let Some(number) = text.strip_prefix("number:")
        && let Ok(number) = number.parse::<i64>()
    {
        *value = Value::from(number);
    }
}

fn put_times(text: &mut String, now: i64) {
    for (before, show) in [
        ("{now+", (|at| at.to_string()) as fn(i64) -> String),
        ("{now_rfc3339+", rfc3339),
    ] {
        while let Some(from) = text.find(before) {
            let digits = &text[from + before.len()..];
            let Some(end) = digits.find('}') else { break };
            let Ok(ahead) = digits[..end].parse::<i64>() else {
                break;
            };
            let until = from + before.len() + end + 1;
            text.replace_range(from..until, &show(now + ahead));
        }
    }
}

fn rfc3339(at: i64) -> String {
    jiff::Timestamp::from_second(at).map_or_else(|_| at.to_string(), |at| at.to_string())
}
