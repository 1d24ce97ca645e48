//! The lines at the end of a terminal that are drawn anew as a run goes on.
//!
//! There is one terminal, and so one region in the process. Each change is one write: the
//! screen shows the region before it or after it. What belongs into the lines is the
//! matter of [`crate::show::live`].

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use unicode_width::UnicodeWidthChar as _;

use super::terminal::{self, MarkSet};
use crate::show::count::format_count;

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

/// What is on the screen. It is held while the terminal takes something.
static REGION: Mutex<Region> = Mutex::new(Region::new());

/// What is to come to the screen. It is held for moments only.
static QUEUE: Mutex<ScreenQueue> = Mutex::new(ScreenQueue::new());
static QUEUE_CHANGED: Condvar = Condvar::new();

fn region() -> MutexGuard<'static, Region> {
    REGION.lock().unwrap_or_else(PoisonError::into_inner)
}

fn queue() -> MutexGuard<'static, ScreenQueue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes from now on in a thread of its own: a terminal that does not read (Ctrl-S, a
/// connection that hangs) holds up no one who prints.
pub(super) fn write_in_background() {
    if std::mem::replace(&mut queue().is_in_background, true) {
        return;
    }
    let thread = std::thread::Builder::new().spawn(|| {
        loop {
            let waiting = QUEUE_CHANGED.wait_while(queue(), |queue| !queue.has_news());
            drop(waiting.unwrap_or_else(PoisonError::into_inner));
            write_queued();
        }
    });
    if thread.is_err() {
        queue().is_in_background = false;
    }
}

/// Changes what is to come to the screen, and brings it there.
fn change(change: impl FnOnce(&mut ScreenQueue)) {
    let mut queue = queue();
    change(&mut queue);
    let is_in_background = queue.is_in_background;
    drop(queue);
    match is_in_background {
        true => QUEUE_CHANGED.notify_all(),
        false => write_queued(),
    }
}

/// Writes what waits, in its order, and the newest region below it.
fn write_queued() {
    let mut region = region();
    let mut queue_now = queue();
    let text = queue_now.take_text();
    if let Some(lines) = queue_now.lines.take() {
        region.lines = lines;
    }
    queue_now.is_writing = true;
    drop(queue_now);
    let width = terminal::size().0;
    write_whole(&region.update(&text, width));
    let mut queue_now = queue();
    queue_now.is_writing = false;
    queue_now.is_stuck = false;
    drop(queue_now);
    QUEUE_CHANGED.notify_all();
}

/// How long a terminal may take for what waits, before this process goes on without it.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// Waits until all is on the screen that was printed; once for a terminal that does not
/// read.
fn flush() {
    let queue = queue();
    if !queue.is_in_background {
        return;
    }
    let is_busy = |queue: &mut ScreenQueue| queue.is_busy() && !queue.is_stuck;
    let waited = QUEUE_CHANGED.wait_timeout_while(queue, FLUSH_LIMIT, is_busy);
    let (mut queue, waited) = waited.unwrap_or_else(PoisonError::into_inner);
    queue.is_stuck |= waited.timed_out();
}

/// Shows `lines`, which hold no control sequences but colours.
pub(super) fn show(lines: &[String]) {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(stop_without_region);
    let lines: Vec<String> = lines.iter().map(|line| in_colours(line)).collect();
    change(|queue| queue.lines = Some(lines));
}

/// Stops this process at Ctrl-Z as any other, but without a region on the screen: the
/// shell goes on where the cursor is. The region is back when the process goes on.
fn stop_without_region() {
    use signal_hook::consts::SIGTSTP;
    // Without the thread, Ctrl-Z stops the process and leaves the region where it is.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGTSTP]) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            // Held while the process is stopped: nothing is drawn in between.
            let mut region = region();
            let erased = region.erase();
            write_whole(erased);
            if !is_of_session_leader() {
                signal_hook::low_level::emulate_default_handler(signal).ok();
            }
            let width = terminal::size().0;
            let drawn = region.draw(width);
            write_whole(&drawn);
        }
    });
}

/// Whether no shell put this process into a group of its own. Nothing lets it go on then,
/// and the system does not stop it either.
fn is_of_session_leader() -> bool {
    let group = rustix::process::getpgrp();
    rustix::process::getsid(None).is_ok_and(|session| session == group)
}

/// Takes the region away, if there is one, and has all on the screen that was printed.
pub(super) fn clear() {
    change(|queue| queue.lines = Some(Vec::new()));
    flush();
}

/// Writes whole lines to stderr, above the region. A failed write there cannot be
/// reported.
pub(super) fn write_above(text: &str) {
    let text = in_colours(text);
    change(|queue| queue.push_text(text));
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

/// So many bytes of lines wait for a terminal that does not read.
const QUEUED_BYTES_MAX: usize = 256 << 10;

/// What the terminal has not taken yet: the newest lines, and the newest region.
struct ScreenQueue {
    texts: VecDeque<String>,
    /// Of all texts.
    bytes: usize,
    /// So many lines before them were left out.
    lines_left_out: usize,
    /// The region, where it is another one.
    lines: Option<Vec<String>>,
    /// A thread writes it.
    is_in_background: bool,
    is_writing: bool,
    /// The terminal took nothing since it was last waited for.
    is_stuck: bool,
}

impl ScreenQueue {
    const fn new() -> Self {
        Self {
            texts: VecDeque::new(),
            bytes: 0,
            lines_left_out: 0,
            lines: None,
            is_in_background: false,
            is_writing: false,
            is_stuck: false,
        }
    }

    /// What comes last is worth most: it says how things stand.
    fn push_text(&mut self, text: String) {
        self.bytes += text.len();
        self.texts.push_back(text);
        while self.bytes > QUEUED_BYTES_MAX && self.texts.len() > 1 {
            let Some(oldest) = self.texts.pop_front() else {
                return;
            };
            self.bytes -= oldest.len();
            self.lines_left_out += oldest.lines().count();
        }
    }

    fn take_text(&mut self) -> String {
        self.bytes = 0;
        let left_out = match std::mem::take(&mut self.lines_left_out) {
            0 => String::new(),
            lines => format!("... {} left out\n", format_count(lines, "line")),
        };
        let texts = std::mem::take(&mut self.texts);
        left_out + &Vec::from(texts).concat()
    }

    fn has_news(&self) -> bool {
        !self.texts.is_empty() || self.lines.is_some()
    }

    fn is_busy(&self) -> bool {
        self.is_writing || self.has_news()
    }
}

struct Region {
    lines: Vec<String>,
    /// What is on the screen of it, and how wide that was then; none where nothing is.
    drawn: Option<(Vec<String>, usize)>,
}

/// Whether what does not fit a row goes on in the next one.
const WRAP_OFF: &str = "\u{1b}[?7l";
const WRAP_ON: &str = "\u{1b}[?7h";

impl Region {
    const fn new() -> Self {
        Self {
            lines: Vec::new(),
            drawn: None,
        }
    }

    /// What brings `text` and the region below it to the screen; nothing where both are
    /// there.
    fn update(&mut self, text: &str, width: usize) -> String {
        let is_drawn = match &self.drawn {
            Some((lines, drawn_for)) => *lines == self.lines && *drawn_for == width,
            None => self.lines.is_empty(),
        };
        if text.is_empty() && is_drawn {
            return String::new();
        }
        let erased = self.erase();
        let drawn = self.draw(width);
        format!("{erased}{text}{drawn}")
    }

    /// What takes the region off the screen. The cursor is at its beginning: a terminal
    /// that becomes narrower and wraps the lines takes the cursor along, before it tells
    /// this process of its width.
    fn erase(&mut self) -> &'static str {
        match self.drawn.take() {
            // tmux moves a screen into its history that is cleared from its first cell on.
            Some(_) => "\r \u{1b}[J\r",
            None => "",
        }
    }

    /// What draws the region where the cursor is, and leaves the cursor there. Each line
    /// is one row, also where the screen is narrower by now than it was told.
    fn draw(&mut self, width: usize) -> String {
        let Some(below) = self.lines.len().checked_sub(1) else {
            return String::new();
        };
        self.drawn = Some((self.lines.clone(), width));
        let up = match below {
            0 => String::new(),
            rows => format!("\u{1b}[{rows}A"),
        };
        let lines = self.lines.join("\r\n");
        format!("{WRAP_OFF}{lines}{WRAP_ON}\r{up}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lines: &[&str]) -> (Region, String) {
        let mut region = Region {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..Region::new()
        };
        let drawn = region.draw(80);
        (region, drawn)
    }

    #[test]
    fn the_cursor_is_at_the_beginning_of_what_is_drawn() {
        assert_eq!(drawn(&[]).1, "");
        assert_eq!(drawn(&["a"]).1, "\u{1b}[?7la\u{1b}[?7h\r");
        assert_eq!(
            drawn(&["a", "b", ""]).1,
            "\u{1b}[?7la\r\nb\r\n\u{1b}[?7h\r\u{1b}[2A"
        );
    }

    #[test]
    fn only_what_is_shown_is_erased_and_once() {
        let (mut none, _) = drawn(&[]);
        assert_eq!(none.erase(), "");
        let (mut region, _) = drawn(&["a", "b"]);
        assert_eq!(region.erase(), "\r \u{1b}[J\r");
        assert_eq!(region.erase(), "");
    }

    #[test]
    fn what_is_on_the_screen_is_not_drawn_again() {
        let (mut region, _) = drawn(&["a"]);
        assert_eq!(region.update("", 80), "");
        assert_ne!(region.update("", 79), "");
        region.lines.clear();
        assert_eq!(region.update("done\n", 79), "\r \u{1b}[J\rdone\n");
        assert_eq!(region.update("", 80), "");
    }

    #[test]
    fn a_terminal_that_does_not_read_gets_the_newest_lines_later() {
        let mut queue = ScreenQueue::new();
        for nth in 0..100 {
            queue.push_text(format!("{nth}{}\n", "x".repeat(8 << 10)));
        }
        assert!(queue.bytes <= QUEUED_BYTES_MAX);
        let text = queue.take_text();
        assert!(text.len() <= QUEUED_BYTES_MAX + 100);
        let first = text.lines().next();
        assert_eq!(first, Some("... 69 lines left out"));
        let last = text.lines().last();
        assert!(last.is_some_and(|line| line.starts_with("99x")));
        assert_eq!(queue.take_text(), "");
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
