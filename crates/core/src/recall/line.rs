//! What each line of a tool's output is worth.
//!
//! Two sources: a table of forms that known tools print, and the shape of the
//! text itself, which needs to know no tool: what goes on and on in one shape
//! is progress, and what has a low level in a log is not the failure.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::line_pattern::LinePattern;
use super::text;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineClass {
    /// Progress, passing tests, what surrounds a command.
    Noise,
    /// A consequence: that the build failed, how many tests did.
    Trail,
    /// Where it happened: a frame of a stack, a file and a line.
    Frame,
    /// Source code shown beside a message.
    Code,
    /// The command that was typed.
    Command,
    /// What a tool proposes, or adds to its message.
    Hint,
    /// A warning.
    Warn,
    /// Nothing known.
    Plain,
    /// The failure itself.
    Error,
}

impl LineClass {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "noise" => Self::Noise,
            "trail" => Self::Trail,
            "frame" => Self::Frame,
            "code" => Self::Code,
            "command" => Self::Command,
            "hint" => Self::Hint,
            "warn" => Self::Warn,
            "plain" => Self::Plain,
            "error" => Self::Error,
            _ => return None,
        })
    }

    /// Whether the shape of the text may say otherwise. What is known to be the
    /// failure stays it, however often it is said.
    fn can_be_progress(self) -> bool {
        matches!(self, Self::Plain | Self::Warn | Self::Command | Self::Code)
    }

    /// What its words are worth beside those of a line of which nothing is known.
    /// Those of noise are not read at all.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Noise => 0.0,
            Self::Trail => 0.2,
            Self::Frame => 0.35,
            Self::Code => 0.6,
            Self::Command => 0.7,
            Self::Hint | Self::Warn => 0.8,
            Self::Plain => 1.0,
            Self::Error => 1.6,
        }
    }
}

/// A line of a query.
#[derive(Debug)]
pub(super) struct ClassifiedLine {
    /// What it says, without what a runner put in front.
    pub(super) text: String,
    /// What it is.
    pub(super) class: LineClass,
}

/// So many lines of one shape are progress, not a message.
const LINES_OF_ONE_SHAPE: usize = 4;

/// The lines of a text, each with what it is.
pub(super) fn classify_lines(text: &str) -> Vec<ClassifiedLine> {
    let lines: Vec<String> = text::plain_lines(text);
    let mut shapes: HashMap<LineShape, usize> = HashMap::new();
    for line in &lines {
        *shapes.entry(shape_of_line(line)).or_default() += 1;
    }
    let classed = lines.iter().map(|line| {
        let bare = text::strip_runner_prefix(line);
        let by_form = classify_line(bare);
        let goes_on = shapes[&shape_of_line(line)] >= LINES_OF_ONE_SHAPE || has_low_level(line);
        let class = if goes_on && by_form.can_be_progress() {
            LineClass::Noise
        } else {
            by_form
        };
        ClassifiedLine {
            text: bare.to_owned(),
            class,
        }
    });
    let mut classed: Vec<ClassifiedLine> = classed.filter(|line| !line.text.is_empty()).collect();
    // A query may be about what is noise elsewhere.
    if classed.iter().all(|line| line.class == LineClass::Noise) {
        for line in &mut classed {
            line.class = LineClass::Plain;
        }
    }
    classed
}

/// What a line is by its form alone.
/// So much of the beginning of a line is compared with the forms; what they
/// tell of stands there, and a line without end costs no more than one.
const CLASSED_BYTES: usize = 400;

fn classify_line(bare: &str) -> LineClass {
    let bare = &bare[..bare.floor_char_boundary(CLASSED_BYTES)];
    let first = bare.chars().next();
    let mut rules = line_rules().iter();
    let rule = rules.find(|(_, form)| {
        (form.first_char().is_none() || form.first_char() == first) && form.is_match(bare)
    });
    rule.map_or(LineClass::Plain, |(class, _)| *class)
}

fn line_rules() -> &'static Vec<(LineClass, LinePattern)> {
    static RULES: OnceLock<Vec<(LineClass, LinePattern)>> = OnceLock::new();
    RULES.get_or_init(|| {
        let lines = include_str!("lines.txt").lines();
        let rules = lines.filter(|line| !line.starts_with("# "));
        rules
            .filter_map(|rule| rule.split_once(' '))
            .filter_map(|(class, form)| Some((LineClass::parse(class)?, LinePattern::parse(form))))
            .collect()
    })
}

/// How a line looks from afar: its first three words where they are words, and
/// how many there are.
type LineShape = ([String; 3], usize);

fn shape_of_line(line: &str) -> LineShape {
    let mut words = line.split_whitespace();
    let first = std::array::from_fn(|_| {
        let word = words.next().unwrap_or_default();
        let letters = word.trim_end_matches([':', '.', ',', '…']);
        if letters.chars().all(char::is_alphabetic) {
            word.to_lowercase()
        } else {
            "#".to_owned()
        }
    });
    (first, words.take(5).count())
}

/// Whether a log gives it a level below a warning.
fn has_low_level(line: &str) -> bool {
    let words = line.split_whitespace().take(6);
    let mut parts = words.flat_map(|word| word.split(['[', ']', '|', '<', '>', '(', ')', ':']));
    parts.any(|part| {
        matches!(
            part,
            "INFO" | "DEBUG" | "TRACE" | "level=info" | "level=debug" | "level=trace"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_costs_no_more_than_a_long_one() {
        // With forms that are tried at every place it took hours.
        let text = format!("error: {}", "a".repeat(1 << 20));
        let classed = classify_lines(&text);
        assert_eq!(classed.len(), 1);
    }

    #[track_caller]
    fn check(line: &str, expected: LineClass) {
        assert_eq!(
            classify_line(text::strip_runner_prefix(line)),
            expected,
            "{line}"
        );
    }

    #[test]
    fn the_table_is_whole() {
        let lines = include_str!("lines.txt")
            .lines()
            .filter(|line| !line.starts_with("# "));
        for rule in lines {
            let (class, form) = rule.split_once(' ').expect("a class and a form");
            assert!(LineClass::parse(class).is_some(), "{rule}");
            assert_eq!(form, form.trim(), "{rule}");
        }
    }

    /// A line that a form fits.
    fn example(form: &str) -> String {
        let mut line = String::new();
        let mut signs = form.chars();
        while let Some(sign) = signs.next() {
            match sign {
                '*' => line.push_str("any thing"),
                '#' => line.push('7'),
                '~' => line.push_str("word"),
                '\\' => line.extend(signs.next()),
                sign => line.push(sign),
            }
        }
        line
    }

    #[test]
    fn no_form_is_hidden_by_an_earlier_one_that_says_otherwise() {
        let lines = include_str!("lines.txt").lines();
        let rules = lines.filter(|line| !line.starts_with("# "));
        let hidden: Vec<String> = rules
            .filter_map(|rule| rule.split_once(' '))
            .map(|(expected, form)| (expected, example(form)))
            .filter(|(expected, line)| Some(classify_line(line)) != LineClass::parse(expected))
            .map(|(expected, line)| {
                format!(
                    "`{line}` should be {expected}, is {:?}",
                    classify_line(&line)
                )
            })
            .collect();
        assert_eq!(hidden, [] as [String; 0]);
    }

    #[test]
    fn the_failure_is_told_from_what_surrounds_it() {
        check("   Compiling serde v1.0.210", LineClass::Noise);
        check("error[E0382]: borrow of moved value: `x`", LineClass::Error);
        check("  --> src/lib.rs:4:5", LineClass::Frame);
        check(
            "error: could not compile `shop` due to 1 previous error",
            LineClass::Trail,
        );
        check("tests/test_cli.py ......      [ 18%]", LineClass::Noise);
        check("E   AssertionError: assert 1 == 2", LineClass::Error);
        check("npm warn deprecated inflight@1.0.6: no", LineClass::Noise);
        check("npm error code ERESOLVE", LineClass::Error);
        check(
            "src/a.ts(3,7): error TS2322: Type 'a' is not",
            LineClass::Error,
        );
        check("ok  \texample.com/shop/cart\t0.01s", LineClass::Noise);
        check(
            "> Task :app:compileDebugKotlin UP-TO-DATE",
            LineClass::Noise,
        );
        check("> Task :app:compileDebugKotlin FAILED", LineClass::Plain);
        check("#7 [runtime 3/9] CACHED", LineClass::Noise);
        check(
            "CMake Error at CMakeLists.txt:3 (find_package):",
            LineClass::Error,
        );
        check("PHP Fatal error:  Uncaught Error: no", LineClass::Error);
        check("│ Error: Unauthorized", LineClass::Error);
        check(
            "##[error]Process completed with exit code 1.",
            LineClass::Noise,
        );
        check(
            "aws_vpc.main: Refreshing state... [id=vpc-1]",
            LineClass::Noise,
        );
        check("fatal: not a git repository", LineClass::Error);
        check("the tiles stay white", LineClass::Plain);
    }

    #[test]
    fn what_goes_on_and_on_in_one_shape_is_progress() {
        let mut text = String::new();
        for step in 0..5 {
            text += &format!("frobnicating part-{step} of the whole\n");
        }
        text += "the whole was not there\n";
        let lines = classify_lines(&text);
        assert_eq!(lines[0].class, LineClass::Noise);
        assert_eq!(lines[5].class, LineClass::Plain);
    }

    #[test]
    fn where_all_is_noise_nothing_is() {
        let lines = classify_lines("   Compiling serde v1.0.210");
        assert_eq!(lines[0].class, LineClass::Plain);
    }

    #[test]
    fn a_low_level_in_a_log_is_no_failure() {
        let lines =
            classify_lines("10:00:01 [app] INFO cache is warm\n10:00:02 [app] the cache is gone");
        assert_eq!(lines[0].class, LineClass::Noise);
        assert_eq!(lines[1].class, LineClass::Plain);
    }
}
