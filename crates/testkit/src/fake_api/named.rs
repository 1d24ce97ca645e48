//! Scenarios with a name: what is tried again and again, and shown in the guide.

use super::scenario::{Piece, Scenario, Turn};

/// Every name, and what happens under it.
pub const NAMES: &[(&str, &str)] = &[
    ("text", "answers at once that it is done"),
    ("tools", "runs a command, writes a file, is done"),
    ("limit", "429 with a reset time in two minutes, every time"),
    (
        "limit-then-well",
        "429 with a reset time in five seconds, then done",
    ),
    ("500-twice", "two times 500, then done"),
    ("500", "500 every time"),
    ("401", "401 every time"),
    ("slow", "a word every three seconds"),
    ("hang", "never an answer"),
    ("cut", "the connection closes in the middle, every time"),
    ("loop", "the same command for ever"),
    ("agent", "starts another agent, then is done"),
    (
        "mcp",
        "calls `status` of the MCP server `piton`, then is done",
    ),
    ("refusal", "the model declines"),
    ("max-tokens", "the answer is cut off by its length"),
];

/// The scenario of this name.
#[must_use]
pub fn named(name: &str) -> Option<Scenario> {
    let done = || Turn::done("did what was asked");
    let stopped = |stop: &str| Turn::Say {
        pieces: vec![Piece::text("I would rather not.")],
        stop: Some(stop.to_owned()),
        delay_ms: 0,
    };
    let turns = match name {
        "text" => vec![done()],
        "tools" => vec![
            Turn::say([
                Piece::text("I run a command."),
                Piece::shell("echo made by a command > by-command.txt"),
            ]),
            Turn::say([Piece::write("{work}/by-tool.txt", "made by a tool\n")]),
            done(),
        ],
        "limit" => vec![Turn::Limit { resets_in_s: 120 }],
        "limit-then-well" => vec![Turn::Limit { resets_in_s: 5 }, done()],
        "500-twice" => vec![Turn::error(500), Turn::error(500), done()],
        "500" => vec![Turn::error(500)],
        "401" => vec![Turn::error(401)],
        "slow" => {
            let words = "word ".repeat(100);
            vec![Turn::slow(3_000, [Piece::text(&words)])]
        }
        "hang" => vec![Turn::Hang],
        "cut" => vec![Turn::Cut {
            pieces: vec![Piece::text("This is never said to its end.")],
        }],
        "loop" => vec![Turn::say([Piece::shell("echo once more")])],
        "agent" => vec![Turn::say([Piece::Agent("say hello".to_owned())]), done()],
        "mcp" => vec![
            Turn::say([Piece::Mcp {
                server: "piton".to_owned(),
                tool: "status".to_owned(),
                input: serde_json::json!({}),
            }]),
            done(),
        ],
        "refusal" => vec![stopped("refusal")],
        "max-tokens" => vec![stopped("max_tokens")],
        _ => return None,
    };
    Some(Scenario::new(turns))
}
