//! What a reviewer of an issue says: the last JSON object with a `verdict` in what it
//! printed.

use piton_core::review::{AgentReview, ReviewObservation, ReviewVerdict};
use serde_json::Value;

/// So much of the end of an output is looked through, in bytes.
const OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// So many places may look like the beginning of an object and be none.
const STARTS_MAX: usize = 20_000;
/// So many observations are kept.
const OBSERVATIONS_MAX: usize = 10;
/// Longest text that is kept of one, in characters.
const TEXT_CHARS_MAX: usize = 2_000;

/// The form of a reviewer's answer. `VERDICT` stands for a verdict: an agent that repeats
/// its prompt has not answered yet.
pub(super) const FORM: &str = r#"End with one JSON object of this form, and nothing after it:

```json
{"verdict": "VERDICT", "summary": "in a sentence or two", "observations": [
  {"file": "src/orders.rs", "line": 7, "severity": "error", "message": "what is wrong, and what would be right"}
]}
```

VERDICT is `APPROVE` or `REQUEST_CHANGES`. `severity` is `error`, `warning` or `info`; there are 10 observations at most, the gravest first. Say `REQUEST_CHANGES` only for what has to be otherwise before this is good: the agent that implements the issue reads all your observations."#;

/// The verdict in what a reviewer printed.
///
/// # Errors
///
/// Why there is none.
pub(super) fn parse_review(output: &str) -> Result<AgentReview, String> {
    let (object, after) = find_last_verdict(output)
        .ok_or_else(|| "what it printed holds no JSON object with a `verdict`".to_owned())?;
    // One before it may be an example, or what an earlier review came to.
    if after.contains("\"verdict\"") {
        return Err("the last `verdict` that it printed stands in no whole JSON object".to_owned());
    }
    let word = object.get("verdict").and_then(Value::as_str);
    let word = word.unwrap_or_default().trim();
    let verdict = match word.to_ascii_uppercase().replace([' ', '-'], "_").as_str() {
        "APPROVE" | "APPROVED" => ReviewVerdict::Approve,
        "REQUEST_CHANGES" => ReviewVerdict::RequestChanges,
        _ => {
            let word: String = word.chars().take(60).collect();
            return Err(format!(
                "its verdict `{word}` is neither APPROVE nor REQUEST_CHANGES"
            ));
        }
    };
    let observations = object.get("observations").or(object.get("comments"));
    let observations = observations.and_then(Value::as_array);
    let observations = observations
        .into_iter()
        .flatten()
        .filter_map(read_observation);
    Ok(AgentReview {
        verdict,
        summary: object.get("summary").and_then(trimmed_text),
        observations: observations.take(OBSERVATIONS_MAX).collect(),
    })
}

fn trimmed_text(value: &Value) -> Option<String> {
    let text: String = value
        .as_str()?
        .trim()
        .chars()
        .take(TEXT_CHARS_MAX)
        .collect();
    (!text.is_empty()).then_some(text)
}

/// One observation; a bare text is one as well.
fn read_observation(value: &Value) -> Option<ReviewObservation> {
    let message = trimmed_text(value).or_else(|| trimmed_text(value.get("message")?))?;
    let line = value.get("line");
    let digits = || line.and_then(Value::as_str)?.trim().parse().ok();
    Some(ReviewObservation {
        file: value.get("file").and_then(trimmed_text),
        line: line.and_then(Value::as_u64).or_else(digits),
        severity: value.get("severity").and_then(trimmed_text),
        message,
    })
}

/// The last object of an output that has a verdict and stands in no other one, and what
/// follows it.
fn find_last_verdict(output: &str) -> Option<(Value, &str)> {
    let mut from = output.len().saturating_sub(OUTPUT_BYTES_MAX);
    while !output.is_char_boundary(from) {
        from += 1;
    }
    let mut rest = &output[from..];
    let mut last = None;
    for _ in 0..STARTS_MAX {
        let Some(at) = rest.find('{') else {
            break;
        };
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let read = values.next();
        let end = values.byte_offset();
        match read {
            Some(Ok(value)) => {
                rest = &rest[end..];
                if value.get("verdict").is_some() {
                    last = Some((value, rest));
                }
            }
            Some(Err(_)) | None => rest = &rest[1..],
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expect: Result<(ReviewVerdict, Option<&str>), &str>) {
        let read = parse_review(output);
        let words = read
            .as_ref()
            .map(|review| (review.verdict, review.describe_review()));
        match (words, expect) {
            (Ok((verdict, words)), Ok(expect)) => {
                assert_eq!((verdict, words.as_deref()), expect);
            }
            (Err(why), Err(expect)) => assert!(why.contains(expect), "{why}"),
            (read, expect) => panic!("{read:?} is not {expect:?}"),
        }
    }

    #[test]
    fn the_last_object_with_a_verdict_counts() {
        use ReviewVerdict::{Approve, RequestChanges};
        check(r#"{"verdict": "APPROVE"}"#, Ok((Approve, None)));
        check(
            "I read {all} of it.\n```json\n{\"verdict\": \"request_changes\", \"summary\": \"no bound\", \"observations\": [{\"file\": \"a.py\", \"line\": \"3\", \"severity\": \"error\", \"message\": \"endless\"}, \"no test\", {\"line\": 1}]}\n```\n",
            Ok((
                RequestChanges,
                Some("no bound\n- [error] a.py:3: endless\n- no test"),
            )),
        );
        check(
            r#"{"verdict": "APPROVE"} on second thought {"verdict": "REQUEST_CHANGES"}"#,
            Ok((RequestChanges, None)),
        );
    }

    #[test]
    fn what_only_sounds_like_a_verdict_is_none() {
        check("APPROVE", Err("no JSON object"));
        check("{\"verdict\": \"APPROVE\"", Err("no JSON object"));
        check(r#"{"said": {"verdict": "APPROVE"}}"#, Err("no JSON object"));
        check(r#"{"verdict": "not approved"}"#, Err("`not approved`"));
        check(r#"{"verdict": true}"#, Err("neither"));
        // The form itself, as a prompt that is repeated.
        check(FORM, Err("`VERDICT`"));
        check(
            "{\"verdict\": \"APPROVE\"}\n{\"verdict\": \"VERDICT\"}",
            Err("`VERDICT`"),
        );
    }

    /// Its last word is not to be read in an earlier one.
    #[test]
    fn a_verdict_that_is_broken_is_not_replaced_by_one_before_it() {
        let broken = [
            r#"{"verdict": "REQUEST_CHANGES", "summary": "the "x" is gone"}"#,
            r#"{"verdict": "REQUEST_CHANGES", "summary": "cut"#,
        ];
        for broken in broken {
            check(
                &format!("as in {{\"verdict\": \"APPROVE\"}}:\n{broken}"),
                Err("stands in no whole JSON object"),
            );
        }
        let words_after = r#"{"verdict": "APPROVE"} That is my verdict."#;
        check(words_after, Ok((ReviewVerdict::Approve, None)));
    }

    #[test]
    fn an_output_full_of_braces_is_read_in_time() {
        check(&"{".repeat(1 << 20), Err("no JSON object"));
        check(&"{\"a\":".repeat(1 << 18), Err("no JSON object"));
    }
}
