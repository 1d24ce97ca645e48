//! `docs/mcp.md`: the tools and resources that `piton mcp` lists when it is asked.

use std::path::Path;

use serde_json::{Value, json};

use crate::program;

/// The page, with a note of how it came to be, made from what the built program says.
pub(crate) fn page(root: &Path, piton: &str, note: &str) -> Result<String, String> {
    let requests: String = ["tools/list", "resources/list"]
        .iter()
        .zip(1..)
        .map(|(method, id)| request(id, method))
        .collect();
    let said = program::feed(root, piton, &["mcp"], &requests)?;
    let mut answers: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}")))
        .collect::<Result<_, String>>()?;
    // Nobody promises an order.
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let [tools, resources] = answers.as_slice() else {
        return Err(format!("piton mcp gave {} answers", answers.len()));
    };
    let mut text = format!(
        "# Tools and resources of `piton mcp`\n\n{note}\n\nThe [guide](guide/mcp.md) describes how to add the server to an agent, and which item it can write about. An answer has at most 8,000 characters, and says how much was left out. An error has a code from the [list of failures](errors/README.md), and a hint.\n"
    );
    for tool in list(&tools["result"]["tools"]) {
        text.push_str(&of_tool(tool));
    }
    text.push_str("\n## Resources\n\n| address | what |\n|---|---|\n");
    for one in list(&resources["result"]["resources"]) {
        let row = format!(
            "| `{}` | {} |\n",
            word(&one["uri"]),
            word(&one["description"])
        );
        text.push_str(&row);
    }
    Ok(text)
}

/// A request as clients of 2026-07-28 send it.
fn request(id: u32, method: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request =
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "_meta": meta } });
    format!("{request}\n")
}

fn of_tool(tool: &Value) -> String {
    let does = if tool["annotations"]["readOnlyHint"] == true {
        "Reads."
    } else {
        "Writes about the item that is held."
    };
    let schema = &tool["inputSchema"];
    let mut text = format!(
        "\n## {}\n\n{} {does}\n",
        word(&tool["name"]),
        word(&tool["description"])
    );
    let rows = rows(schema, "");
    if !rows.is_empty() {
        text.push_str(&format!("\n| argument | | what |\n|---|---|---|\n{rows}"));
    }
    text
}

/// A row for each field, with those of the objects in a list behind it.
fn rows(schema: &Value, path: &str) -> String {
    let required = list(&schema["required"]);
    let fields = schema["properties"].as_object();
    let rows = fields.into_iter().flatten().map(|(name, field)| {
        let must = if required.iter().any(|one| one == name) {
            "required"
        } else {
            ""
        };
        let words: Vec<String> = list(&field["enum"])
            .iter()
            .map(|one| format!("`{}`", word(one)))
            .collect();
        let words = match words.as_slice() {
            [] => String::new(),
            words => format!(": {}", words.join(", ")),
        };
        let about = word(&field["description"]);
        let below = rows(&field["items"], &format!("{path}{name}[]."));
        format!("| `{path}{name}` | {must} | {about}{words} |\n{below}")
    });
    rows.collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
