//! The lines at the end of a terminal that are drawn anew as a run goes on.
//!
//! There is one terminal, and so one region, whoever prints. Each change is one write:
//! whoever looks at the screen sees the region before it or after it. What belongs into
//! the lines is the matter of [`crate::show::live`].

use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use unicode_width::UnicodeWidthChar as _;

use super::terminal::{self, MarkSet};

/// What a region is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// So many columns a line may take.
    pub(crate) columns: usize,
    /// Rows of the whole screen.
    pub(crate) rows: usize,
    pub(crate) marks: MarkSet,
}

impl Screen {
    /// Of the terminal as it is now. A line leaves the last column free: behind a
    /// character there, terminals differ in where the cursor is.
    pub(super) fn of_terminal(marks: MarkSet) -> Self {
        let (columns, rows) = terminal::size();
        Self {
            columns: columns.saturating_sub(1),
            rows,
            marks,
        }
    }
}

/// How many columns a text takes; rather too many where terminals differ.
pub(crate) fn count_columns(text: &str) -> usize {
    text.chars().map(columns_of_char).sum()
}

/// The beginning of a text, at most so many columns.
pub(crate) fn cut_columns(text: &str, columns_max: usize) -> &str {
    let mut columns = 0;
    let end = text.char_indices().find(|(_, c)| {
        columns += columns_of_char(*c);
        columns > columns_max
    });
    end.map_or(text, |(end, _)| &text[..end])
}

fn columns_of_char(c: char) -> usize {
    match c {
        // It makes an emoji of the character before it, which is wider than that alone.
        '\u{fe0f}' => 1,
        c => c.width().unwrap_or(0),
    }
}

static REGION: Mutex<Region> = Mutex::new(Region {
    lines: Vec::new(),
    columns: Vec::new(),
    width: 0,
});

fn region() -> MutexGuard<'static, Region> {
    REGION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows `lines`, which hold no control sequences but colours.
pub(super) fn show(lines: &[String]) {
    let mut region = region();
    let width = terminal::size().0;
    let lines: Vec<String> = lines.iter().map(|line| in_colours(line)).collect();
    if region.lines == lines && region.width == width {
        return;
    }
    let erased = region.erase(width);
    region.lines = lines;
    let drawn = region.draw(width);
    write_whole(&(erased + &drawn));
}

/// Takes the region away, if there is one.
pub(super) fn clear() {
    let mut region = region();
    let erased = region.erase(terminal::size().0);
    region.lines.clear();
    if !erased.is_empty() {
        write_whole(&erased);
    }
}

/// Writes whole lines to stderr, above the region. A failed write there cannot be
/// reported.
pub(super) fn write_above(text: &str) {
    let mut region = region();
    if region.lines.is_empty() {
        let mut stderr = anstream::stderr().lock();
        stderr
            .write_all(text.as_bytes())
            .and_then(|()| stderr.flush())
            .ok();
        return;
    }
    let width = terminal::size().0;
    let erased = region.erase(width);
    let drawn = region.draw(width);
    write_whole(&(erased + &in_colours(text) + &drawn));
}

/// A text with its colours, where stderr shows colours.
fn in_colours(text: &str) -> String {
    match anstream::AutoStream::choice(&io::stderr()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        anstream::ColorChoice::Auto
        | anstream::ColorChoice::Always
        | anstream::ColorChoice::AlwaysAnsi => text.to_owned(),
    }
}

fn write_whole(text: &str) {
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

struct Region {
    lines: Vec<String>,
    /// How many columns each line on the screen takes. The cursor is at the beginning
    /// of the last one: what a terminal echoes of Ctrl-C is drawn over.
    columns: Vec<usize>,
    /// How wide the screen was then.
    width: usize,
}

impl Region {
    /// What takes the region off a screen of `width` columns. After a change of the width,
    /// a line may stand in several rows.
    fn erase(&mut self, width: usize) -> String {
        let columns = std::mem::take(&mut self.columns);
        let Some((_, above)) = columns.split_last() else {
            return String::new();
        };
        let rows_of = |columns: &usize| columns.div_ceil(width.max(1)).max(1);
        let up = match above.iter().map(rows_of).sum() {
            0 => String::new(),
            rows => format!("\u{1b}[{rows}A"),
        };
        format!("\r{up}\u{1b}[J")
    }

    /// What draws the region where the cursor is.
    fn draw(&mut self, width: usize) -> String {
        self.width = width;
        if self.lines.is_empty() {
            return String::new();
        }
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        let columns = self.lines.iter().map(|line| count_columns(&plain(line)));
        self.columns = columns.collect();
        self.lines.join("\r\n") + "\r"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lines: &[&str]) -> Region {
        let mut region = Region {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            columns: Vec::new(),
            width: 0,
        };
        region.draw(80);
        region
    }

    #[test]
    fn a_region_is_erased_from_its_first_row_on() {
        assert_eq!(drawn(&[]).erase(80), "");
        assert_eq!(drawn(&["a"]).erase(80), "\r\u{1b}[J");
        assert_eq!(drawn(&["a", "b", ""]).erase(80), "\r\u{1b}[2A\u{1b}[J");
    }

    #[test]
    fn lines_that_a_narrower_terminal_wraps_are_erased_whole() {
        let line = "x".repeat(79);
        let mut region = drawn(&[&line, "\u{1b}[1mb\u{1b}[0m", &line]);
        assert_eq!(region.erase(40), "\r\u{1b}[3A\u{1b}[J");
        assert_eq!(region.erase(40), "");
    }

    #[test]
    fn a_text_is_cut_between_its_characters_by_columns() {
        assert_eq!(cut_columns("abc", 2), "ab");
        assert_eq!(cut_columns("abc", 3), "abc");
        // Each of these takes two columns.
        assert_eq!(cut_columns("你好", 3), "你");
        assert_eq!(count_columns("你好e\u{301}"), 5);
        assert_eq!(count_columns("\u{2764}\u{fe0f}"), 2);
    }
}
