//! Text from outside, made harmless for a terminal and for the eyes of a person.
//!
//! Agents, files, names and other programs write whatever they like, and a terminal
//! obeys: it clears its screen, writes the clipboard, shows letters in another order.
//! Behind [`clean_text`] a text is letters alone. Where it is printed, and how the
//! styles of piton are told from those of a text, is the matter of the `piton` binary.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use CharMeaning::{Control, Hidden, Plain};

/// A text without control sequences and control characters but `\n` and `\t`, in which
/// every character that has no shape of its own is written out: `<U+202E>`.
///
/// The same text twice is the same as once. What people write stays as it is: `\r\n`
/// becomes `\n`, and a joiner or a selector of a variant stays behind a character that
/// can have one (see [`BASES`]).
#[must_use]
pub fn clean_text(text: &str) -> Cow<'_, str> {
    let stays = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(stays) {
        return Cow::Borrowed(text);
    }
    let text = strip_sequences(text);
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match meaning_of_char(c, clean.chars().next_back()) {
            Plain => clean.push(c),
            Control => {}
            Hidden => clean.push_str(&format!("<U+{:04X}>", u32::from(c))),
        }
    }
    Cow::Owned(clean)
}

/// The same in one line: a blank for each line break and each tab.
#[must_use]
pub fn clean_line(text: &str) -> Cow<'_, str> {
    let clean = clean_text(text);
    if clean.contains(['\n', '\t']) {
        return Cow::Owned(clean.replace(['\n', '\t'], " "));
    }
    clean
}

/// A text in which each control character, line breaks and tabs among them, is written
/// out: `\n`, `\u{1b}`. For what must be seen whole and in one line, as an id or a line
/// of a command.
#[must_use]
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// A text whose lines have at most so many characters. Of a line that is longer the
/// beginning stays, and how much is left out is said.
#[must_use]
pub fn bound_lines(text: &str, chars_max: usize) -> Cow<'_, str> {
    let is_short = |line: &str| line.len() <= chars_max || line.chars().count() <= chars_max;
    if text.len() <= chars_max || text.split('\n').all(is_short) {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| {
        let Some((at, _)) = line.char_indices().nth(chars_max) else {
            return Cow::Borrowed(line);
        };
        let missing = line[at..].chars().count();
        Cow::Owned(format!("{}… ({missing} characters left out)", &line[..at]))
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// A text without control sequences: CSI, the strings OSC, DCS, SOS, PM and APC with what
/// they carry, and `ESC` with what belongs to it. Control characters alone stay.
///
/// No sequence reaches beyond its line, and a string that does not end in its line loses
/// what begins it and nothing else, so that it hides nothing of what stands behind it.
#[must_use]
pub fn strip_sequences(text: &str) -> Cow<'_, str> {
    let begins = |c: char| c == ESCAPE || is_c1(c);
    if !text.contains(begins) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(begins) {
        plain.push_str(&rest[..at]);
        rest = skip_sequence(&rest[at..]);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

const ESCAPE: char = '\u{1b}';

/// How `ESC` and one further character are written as one.
fn is_c1(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}')
}

/// What follows the sequence that `text` begins with.
fn skip_sequence(text: &str) -> &str {
    let mut chars = text.chars();
    let kind = match chars.next() {
        // The C1 control of the same meaning is 0x40 above.
        Some(ESCAPE) => chars.clone().next(),
        Some(c1) => char::from_u32(u32::from(c1) - 0x40),
        None => None,
    };
    if text.starts_with(ESCAPE) && kind.is_some_and(|c| (' '..='~').contains(&c)) {
        chars.next();
    }
    let body = chars.as_str();
    match kind {
        Some('[') => skip_parts(body, &['0'..='?', ' '..='/'], '@'..='~'),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(body).unwrap_or(body),
        Some(' '..='/') => skip_parts(body, &[' '..='/'], '0'..='~'),
        Some(_) | None => body,
    }
}

/// What follows any number of characters of each part in turn, and the one that ends them.
fn skip_parts<'t>(
    body: &'t str,
    parts: &[RangeInclusive<char>],
    end: RangeInclusive<char>,
) -> &'t str {
    let skip =
        |rest: &'t str, part: &RangeInclusive<char>| rest.trim_start_matches(|c| part.contains(&c));
    let rest = parts.iter().fold(body, skip);
    rest.strip_prefix(|c| end.contains(&c)).unwrap_or(rest)
}

/// What follows a string; none where it does not end in its line.
fn skip_string(body: &str) -> Option<&str> {
    // Terminals end a string at each of these, and begin a new sequence at `ESC`.
    let ends = ['\n', ESCAPE, '\u{7}', '\u{18}', '\u{1a}', '\u{9c}'];
    let (at, end) = body.char_indices().find(|(_, c)| ends.contains(c))?;
    let behind = &body[at + end.len_utf8()..];
    match end {
        '\n' => None,
        ESCAPE => behind.strip_prefix('\\'),
        _ => Some(behind),
    }
}

/// What a character does where it is shown.
enum CharMeaning {
    /// It is seen, or breaks a line, or leaves a blank.
    Plain,
    /// It gives an order to the terminal.
    Control,
    /// It is not seen, or changes how others are shown.
    Hidden,
}

fn meaning_of_char(c: char, before: Option<char>) -> CharMeaning {
    if c.is_control() {
        return if matches!(c, '\n' | '\t') {
            Plain
        } else {
            Control
        };
    }
    if c.is_ascii() || !is_within(HIDDEN, c) {
        return Plain;
    }
    let mut bases = BASES.iter().filter(|(kinds, _)| is_within(kinds, c));
    let belongs = bases.any(|(_, bases)| before.is_some_and(|base| is_within(bases, base)));
    if belongs { Plain } else { Hidden }
}

fn is_within(ranges: &CharRanges, c: char) -> bool {
    ranges.iter().any(|range| range.contains(&c))
}

type CharRanges = [RangeInclusive<char>];

/// What Unicode 16 calls default-ignorable, with the separators of lines and paragraphs
/// and the marks of annotations: each is nothing to see.
const HIDDEN: &CharRanges = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Hidden characters that belong to writing, and the characters behind which they do.
///
/// The rule looks at one character before, and so is simpler than the scripts are: it
/// never hides anything in Latin, Greek or Cyrillic text, and each base has one at most.
/// Flags of regions (England) are made of tags, and are written out.
const BASES: &[(&CharRanges, &CharRanges)] = &[
    // Joiners: from Arabic to Myanmar, Khmer, Mongolian, and emoji.
    (
        &['\u{200c}'..='\u{200d}'],
        &[
            '\u{620}'..='\u{109f}',
            '\u{1780}'..='\u{17b3}',
            '\u{17b6}'..='\u{180a}',
            '\u{1810}'..='\u{18af}',
            '\u{2190}'..='\u{2bff}',
            '\u{a8e0}'..='\u{a8ff}',
            '\u{fe0f}'..='\u{fe0f}',
            '\u{11000}'..='\u{11fff}',
            '\u{1f000}'..='\u{1faff}',
        ],
    ),
    // Shown as a picture or as a letter: `1️⃣`, `©️`, and all symbols.
    (
        &['\u{fe0e}'..='\u{fe0f}'],
        &[
            '#'..='#',
            '*'..='*',
            '0'..='9',
            '\u{a9}'..='\u{a9}',
            '\u{ae}'..='\u{ae}',
            '\u{203c}'..='\u{203c}',
            '\u{2049}'..='\u{2049}',
            '\u{2100}'..='\u{2bff}',
            '\u{3030}'..='\u{303d}',
            '\u{3297}'..='\u{3299}',
            '\u{1f000}'..='\u{1faff}',
        ],
    ),
    // Variants of Myanmar letters, of signs and of ideographs; of Mongolian letters.
    (
        &['\u{fe00}'..='\u{fe0d}', '\u{e0100}'..='\u{e01ef}'],
        &[
            '\u{1000}'..='\u{109f}',
            '\u{2205}'..='\u{2aff}',
            '\u{3001}'..='\u{3002}',
            '\u{3400}'..='\u{9fff}',
            '\u{a840}'..='\u{a87f}',
            '\u{f900}'..='\u{faff}',
            '\u{20000}'..='\u{3ffff}',
        ],
    ),
    (
        &['\u{180b}'..='\u{180d}', '\u{180f}'..='\u{180f}'],
        &['\u{1820}'..='\u{18af}'],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(clean_text(text), expected, "{text:?}");
        assert_eq!(clean_text(expected), expected, "twice: {text:?}");
    }

    #[test]
    fn control_sequences_go_whole() {
        check("\u{1b}[31mred\u{1b}[0m", "red");
        check("a\u{1b}[2J\u{1b}[H\u{1b}[?1049hb", "ab");
        check("a\u{1b}]52;c;ZXZpbA==\u{7}b", "ab");
        check("a\u{1b}]0;title\u{1b}\\b", "ab");
        check("a\u{1b}]8;;https://x\u{9c}link\u{1b}]8;;\u{7}b", "alinkb");
        check(
            "a\u{1b}P1$r0m\u{1b}\\\u{1b}_apc\u{1b}\\\u{1b}^pm\u{1b}\\\u{1b}Xsos\u{1b}\\b",
            "ab",
        );
        check("a\u{1b}cb\u{1b}7c\u{1b}(0d\u{1b}#8e\u{1b}%Gf", "abcdef");
    }

    #[test]
    fn c1_controls_are_sequences_as_well() {
        check(
            "a\u{9b}2Jb\u{9d}52;c;eA==\u{9c}c\u{90}q\u{9c}d\u{85}e\u{84}f",
            "abcdef",
        );
    }

    #[test]
    fn other_control_characters_go() {
        check("safe\revil", "safeevil");
        check("one\r\ntwo\tthree\n", "one\ntwo\tthree\n");
        check("a\u{7}\u{8}\u{0}\u{b}\u{c}\u{7f}b", "ab");
    }

    #[test]
    fn a_sequence_without_an_end_hides_nothing_behind_it() {
        check("\u{1b}]0;title\nnext", "0;title\nnext");
        check("\u{1b}]0;title\u{1b}[1mbold", "0;titlebold");
        check("a\u{1b}[12\nb", "a\nb");
        check("a\u{1b}[12", "a");
        check("a\u{1b}", "a");
        check("\u{1b}\u{7}[31m", "[31m");
        check("\u{1b}\u{1b}[31mé\u{1b}é", "éé");
    }

    #[test]
    fn what_is_not_seen_is_written_out() {
        check(
            "a\u{202e}b\u{2066}c\u{200f}d\u{61c}",
            "a<U+202E>b<U+2066>c<U+200F>d<U+061C>",
        );
        check(
            "pass\u{200b}word \u{2060}\u{feff}",
            "pass<U+200B>word <U+2060><U+FEFF>",
        );
        check(
            "a\u{200d}b, \u{441}\u{200c}\u{442}",
            "a<U+200D>b, \u{441}<U+200C>\u{442}",
        );
        check("\u{e0041}\u{e007f}", "<U+E0041><U+E007F>");
        check(
            "a\u{2028}b\u{2029}c\u{ad}d\u{2063}",
            "a<U+2028>b<U+2029>c<U+00AD>d<U+2063>",
        );
        check(
            "x\u{fe00}\u{fe0f} \u{2764}\u{fe0f}\u{fe0f}",
            "x<U+FE00><U+FE0F> \u{2764}\u{fe0f}<U+FE0F>",
        );
        check("\u{3164}\u{115f}\u{34f}", "<U+3164><U+115F><U+034F>");
    }

    #[test]
    fn what_people_write_stays() {
        let texts = [
            "plain, \ttabs and\nlines",
            "naïve café e\u{301} o\u{308}\u{304}",
            "汉字 かな 한글 葛\u{e0100}",
            "مرحبا می\u{200c}خواهم שלום",
            "क्\u{200d}ष ශ්\u{200d}රී മലയാളം്\u{200d}",
            "👩\u{200d}👩\u{200d}👧 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f} 1\u{fe0f}\u{20e3} ©\u{fe0f} 👍🏽 🇩🇪",
            "🧑🏽\u{200d}💻 ⛹🏿\u{200d}♀\u{fe0f}",
            "∮ ∑ → … “quoted” ‹x›",
        ];
        for text in texts {
            check(text, text);
        }
    }

    #[test]
    fn a_line_has_no_line_break() {
        assert_eq!(clean_line("a\nb\tc\r\nd\u{1b}[1m"), "a b c d");
    }

    #[test]
    fn a_long_line_is_cut_and_what_is_missing_is_counted() {
        let long = format!("short\n{}\nend", "é".repeat(12));
        let bounded = format!("short\n{}… (2 characters left out)\nend", "é".repeat(10));
        assert_eq!(bound_lines(&long, 10), bounded);
        assert_eq!(bound_lines(&long, 12), long);
    }
}
