//! What an agent says that it noticed, in the three ways in which agents were
//! asked to say it: see `docs/formats/ralph-json.md`.
//!
//! More is read than the originals read: `<` within a text, parts in any order,
//! unknown types. Words around it are ignored.

use piton_core::observation::{
    ActionTaken, Observation, ObservationCategory, ObservationKind, Severity,
};

/// A part of an agent's output that is an observation is no longer than this.
const BYTES_MAX: usize = 64 << 10;

/// Everything that an agent says that it noticed, in its order.
pub(super) fn parse_observations(text: &str) -> Vec<Observation> {
    let mut found: Vec<(usize, Observation)> = parse_elements(text);
    found.extend(parse_numbered(text));
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, seen)| seen).collect()
}

/// `<observation type="finding"><title>…</title><description>…</description></observation>`,
/// and the older `<discovery type="bug" severity="high">` with `<detail>` and `<action>`.
fn parse_elements(text: &str) -> Vec<(usize, Observation)> {
    let mut found = Vec::new();
    for name in ["observation", "discovery"] {
        let begin = format!("<{name}");
        let end = format!("</{name}>");
        let mut from = 0;
        while let Some(at) = text[from..].find(&begin) {
            let at = from + at;
            from = at + begin.len();
            let Some(inner) = element_content(&text[from..], &begin, &end) else {
                continue;
            };
            if let Some(seen) = parse_element(inner) {
                found.push((at, seen));
                from += inner.len();
            }
        }
    }
    found
}

/// What stands between a name and the end of its element; none when another
/// one begins before, or no end is near.
fn element_content<'t>(rest: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    if !rest.starts_with([' ', '\t', '\r', '\n', '>']) {
        return None;
    }
    let mut near = rest.len().min(BYTES_MAX);
    while !rest.is_char_boundary(near) {
        near -= 1;
    }
    // No further than the next one begins, so that each byte is looked at once.
    let near = &rest[..near];
    let near = near.split_once(begin).map_or(near, |(before, _)| before);
    near.split_once(end).map(|(inner, _)| inner)
}

fn parse_element(inner: &str) -> Option<Observation> {
    let (attributes, body) = inner.split_once('>')?;
    let title = child_text(body, "title")?;
    let mut seen = Observation::bare(ObservationKind::Finding, title);
    if let Some(kind) = attribute_value(attributes, "type") {
        match ObservationKind::parse(kind) {
            Some(kind) => seen.kind = kind,
            // The older form has what it is about for a type.
            None => seen.category = ObservationCategory::parse(kind),
        }
    }
    let category = attribute_value(attributes, "category").and_then(ObservationCategory::parse);
    seen.category = category.or(seen.category);
    seen.severity = attribute_value(attributes, "severity").and_then(Severity::parse);
    seen.file = child_text(body, "file");
    seen.description = child_text(body, "description").or_else(|| child_text(body, "detail"));
    // As the key of the file is called, too: agents mix what they were told.
    let taken = attribute_value(attributes, "action_taken").map(str::to_owned);
    let taken = taken.or_else(|| child_text(body, "action_taken"));
    let taken = taken.as_deref().and_then(ActionTaken::parse);
    let action = child_text(body, "action");
    seen.action_taken = taken.or_else(|| action.as_deref().and_then(ActionTaken::parse));
    if let (Some(action), None) = (action, seen.action_taken) {
        // What it did about it, in its own words.
        let before = seen.description.map(|text| text + "\n").unwrap_or_default();
        seen.description = Some(before + &action);
    }
    Some(seen)
}

/// The value of `name="value"` or `name='value'`.
fn attribute_value<'t>(attributes: &'t str, name: &str) -> Option<&'t str> {
    attributes.match_indices(name).find_map(|(at, _)| {
        let is_whole = attributes[..at].ends_with(|c: char| c.is_whitespace());
        let value = attributes[at + name.len()..]
            .trim_start()
            .strip_prefix('=')?;
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, _) = value[1..].split_once(quote)?;
        is_whole.then(|| value.trim())
    })
}

/// What stands between `<name>` and `</name>`, if it says something.
fn child_text(body: &str, name: &str) -> Option<String> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    let (words, _) = rest.split_once(&format!("</{name}>"))?;
    let words = words.trim();
    (!words.is_empty()).then(|| words.to_owned())
}

/// `**1. [Rule 2 - Bug] The title**` with `- **Issue:**`, `- **Fix:**` and
/// `- **Files modified:**` below it.
fn parse_numbered(text: &str) -> Vec<(usize, Observation)> {
    let mut found: Vec<(usize, Observation)> = Vec::new();
    let mut at = 0;
    let mut is_open = false;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim();
        if let Some((rule, title)) = parse_heading(line) {
            let mut seen = Observation::bare(kind_of_words(rule), title);
            seen.category = rule.rsplit(" - ").next().and_then(category_of_words);
            found.push((start, seen));
            is_open = true;
        } else if line.starts_with('#') || line.starts_with("**") {
            is_open = false;
        } else if let Some((_, seen)) = found.last_mut().filter(|_| is_open) {
            apply_line(line, seen);
        }
    }
    found
}

/// The rule and the title of `**1. [Rule 2 - Bug] The title**`.
fn parse_heading(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("**")?.strip_suffix("**")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let rest = rest[digits..].strip_prefix('.').filter(|_| digits > 0)?;
    let (rule, title) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let title = title.trim();
    (!title.is_empty()).then_some((rule.trim(), title))
}

fn kind_of_words(words: &str) -> ObservationKind {
    let words = words.to_lowercase();
    if words.contains("blocker") {
        ObservationKind::Blocker
    } else if words.contains("completion") || words.contains("complete") {
        ObservationKind::Completion
    } else {
        ObservationKind::Finding
    }
}

/// `Scope creep` is `scope-creep`.
fn category_of_words(words: &str) -> Option<ObservationCategory> {
    ObservationCategory::parse(&words.trim().to_lowercase().replace([' ', '_'], "-"))
}

/// A line below a numbered observation.
fn apply_line(line: &str, seen: &mut Observation) {
    if kind_of_words(line) == ObservationKind::Blocker {
        seen.kind = ObservationKind::Blocker;
    }
    let Some((name, words)) = line
        .trim_start_matches(['-', '*', ' '])
        .split_once(":**")
        .map(|(name, words)| (name.trim(), words.trim()))
    else {
        return;
    };
    match name.to_lowercase().as_str() {
        "issue" | "fix" if !words.is_empty() => {
            let before = seen.description.take().map(|text| text + "\n");
            seen.description = Some(before.unwrap_or_default() + words);
            if name.eq_ignore_ascii_case("fix") {
                seen.action_taken = Some(ActionTaken::Fixed);
            }
        }
        "files modified" | "file" => {
            let first = words.split([',', ' ']).next().unwrap_or_default();
            let first = first.trim_matches('`');
            seen.file = (!first.is_empty()).then(|| first.to_owned());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(kind: ObservationKind, title: &str, description: &str) -> Observation {
        Observation {
            description: Some(description.to_owned()),
            ..Observation::bare(kind, title)
        }
    }

    #[test]
    fn case_7_both_forms_are_read_also_mixed() {
        let text = "I began.\n<observation type=\"blocker\">\n  <title>No key</title>\n  \
            <description>the relay wants one</description>\n</observation>\nThen\n\
            <discovery type='api-issue' severity=\"high\"><title>It answers 200</title>\
            <detail>with an error inside</detail><file>src/api.rs</file><action>deferred</action>\
            </discovery> and <observation type=\"completion\" severity=\"low\"><title>Done</title>\
            <detail>before</detail><action>left it as it is</action></observation>";
        let found = parse_observations(text);
        assert_eq!(
            found,
            [
                seen(ObservationKind::Blocker, "No key", "the relay wants one"),
                Observation {
                    file: Some("src/api.rs".to_owned()),
                    category: Some(ObservationCategory::ApiIssue),
                    severity: Some(Severity::High),
                    action_taken: Some(ActionTaken::Deferred),
                    ..seen(
                        ObservationKind::Finding,
                        "It answers 200",
                        "with an error inside"
                    )
                },
                Observation {
                    severity: Some(Severity::Low),
                    ..seen(
                        ObservationKind::Completion,
                        "Done",
                        "before\nleft it as it is"
                    )
                },
            ]
        );
    }

    #[test]
    fn case_7_a_text_may_hold_what_looks_like_markup() {
        let text = "<observation type=\"finding\"><title>Vec<u8> or &str</title>\
            <description>a < b && c > d</description></observation>";
        assert_eq!(
            parse_observations(text),
            [seen(
                ObservationKind::Finding,
                "Vec<u8> or &str",
                "a < b && c > d"
            )]
        );
    }

    #[test]
    fn case_7_an_unknown_type_is_a_finding() {
        let text = "<observation type=\"epiphany\"><title>Tides</title></observation>\
            <observation><title>Moons</title><file></file></observation>";
        let finding = |title| Observation::bare(ObservationKind::Finding, title);
        assert_eq!(
            parse_observations(text),
            [finding("Tides"), finding("Moons")]
        );
    }

    #[test]
    fn what_is_no_observation_is_left_out() {
        for text in [
            "",
            "<observation",
            "<observation type=\"finding\">",
            "<observation type=\"finding\"><description>no title</description></observation>",
            "<observations><title>many</title></observations>",
            "<observation type=\"finding\"><title>never closed</title>",
            "**1. A heading without a rule**",
            "**[Rule 1 - Bug] no number**",
        ] {
            assert_eq!(parse_observations(text), [], "{text}");
        }
        // One that is never closed does not hide the next one.
        let text = "<observation><title>a</title> <observation><title>b</title></observation>";
        let titles: Vec<String> = parse_observations(text)
            .into_iter()
            .map(|o| o.title)
            .collect();
        assert_eq!(titles, ["b"]);
    }

    #[test]
    fn numbered_observations_of_a_summary_are_read() {
        let text = "## Deviations\n\n**1. [Rule 1 - Bug] The date was wrong**\n\
            - **Found during:** task 2\n- **Issue:** it had no zone\n- **Fix:** it has one\n\
            - **Files modified:** `src/date.rs`, src/b.rs\n\n**2. [Rule 3 - Blocking] No tool**\n\
            - **Issue:** a blocker: nothing to build with\n\n## Next\n- **Fix:** not theirs\n";
        assert_eq!(
            parse_observations(text),
            [
                Observation {
                    file: Some("src/date.rs".to_owned()),
                    category: Some(ObservationCategory::Bug),
                    action_taken: Some(ActionTaken::Fixed),
                    ..seen(
                        ObservationKind::Finding,
                        "The date was wrong",
                        "it had no zone\nit has one"
                    )
                },
                seen(
                    ObservationKind::Blocker,
                    "No tool",
                    "a blocker: nothing to build with"
                ),
            ]
        );
    }

    proptest::proptest! {
        #![proptest_config(piton_simkit::seed::cases(256))]

        #[test]
        fn any_text_is_read(text in "(<observation|<discovery|</observation>|</discovery>|type=\"bug\"|>|<title>|</title>|\\*\\*1. \\[|\\]|x| |é|\n){0,60}") {
            for seen in parse_observations(&text) {
                proptest::prop_assert!(!seen.title.is_empty());
            }
        }
    }
}
