//! A report as Markdown: CommonMark, with the tables of GitHub.

use piton_engine::model::terminal::clean_line;

use super::document::{Block, Line, Span};

/// Characters that begin something in the middle of a line.
const SPECIAL: &[char] = &[
    '\\', '`', '*', '_', '[', ']', '<', '>', '|', '&', '~', '#', '!',
];

/// The blocks, one below the other.
pub(crate) fn render(blocks: &[Block]) -> String {
    let blocks: Vec<String> = blocks.iter().map(render_block).collect();
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
    let blocks = blocks.into_iter().filter(|block| !block.is_empty());
    blocks.collect::<Vec<_>>().join("\n")
}

fn render_block(block: &Block) -> String {
    match block {
        Block::Heading(level, line) => {
            format!("{} {}\n", "#".repeat((*level).into()), render_line(line))
        }
        Block::Paragraph(line) => format!("{}\n", render_line(line)),
        Block::List(lines) => {
            let lines = lines.iter();
            lines
                .map(|line| format!("- {}\n", render_line(line)))
                .collect()
        }
        Block::Output(lines) => render_output(lines),
        // The sentence beside it says the same.
        Block::Shares(_) => String::new(),
        Block::Table { head, rows } => render_table(head, rows.iter()),
        Block::Bars { head, rows } => render_table(head, rows.iter().map(|(_, cells)| cells)),
    }
}

fn render_table<'r>(head: &[&str], rows: impl Iterator<Item = &'r Vec<Line>>) -> String {
    let mut table = format!(
        "| {} |\n|{}\n",
        head.join(" | "),
        " --- |".repeat(head.len())
    );
    for cells in rows {
        // A bar that ends a cell does so within code, too.
        let cells = cells.iter().map(|line| match line.as_slice() {
            [] => String::new(),
            line => render_spans(line, |code| code.replace('|', "\\|")),
        });
        let cells: Vec<String> = cells.collect();
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    table
}

fn render_line(line: &[Span]) -> String {
    render_spans(line, |code| code)
}

fn render_spans(line: &[Span], finish_code: impl Fn(String) -> String) -> String {
    let spans = line.iter().map(|span| match span {
        Span::Text(text) => escape_text(text),
        Span::Strong(text) | Span::State(_, text) => match escape_text(text.trim()) {
            text if text.is_empty() => text,
            text => format!("**{text}**"),
        },
        Span::Code(text) => finish_code(render_code(text)),
    });
    let line: String = spans.collect();
    escape_begin(&line)
}

/// Text that is nothing but text.
fn escape_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in clean_line(text).chars() {
        if SPECIAL.contains(&c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A line that begins no list, no rule and no heading.
fn escape_begin(line: &str) -> String {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let is_number = digits > 0 && line[digits..].starts_with(['.', ')']);
    match line.chars().next() {
        Some('-' | '+' | '=') => format!("\\{line}"),
        _ if is_number => format!("{}\\{}", &line[..digits], &line[digits..]),
        _ => line.to_owned(),
    }
}

fn render_code(text: &str) -> String {
    let text = clean_line(text);
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn render_output(lines: &[String]) -> String {
    let longest = lines.iter().map(|line| longest_run(line)).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let lines: String = lines
        .iter()
        .map(|line| format!("{}\n", clean_line(line)))
        .collect();
    format!("{fence}text\n{lines}{fence}\n")
}

/// How many backticks stand side by side at most.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::document::{code, text};
    use super::*;

    #[track_caller]
    fn check(span: Span, expected: &str) {
        assert_eq!(render_line(&[span]), expected);
    }

    #[test]
    fn text_is_nothing_but_text() {
        check(
            text("<script>alert(1)</script>"),
            "\\<script\\>alert(1)\\</script\\>",
        );
        check(
            text("a [b](c) *d* _e_ `f`"),
            "a \\[b\\](c) \\*d\\* \\_e\\_ \\`f\\`",
        );
        check(text("- no list"), "\\- no list");
        check(text("# no heading"), "\\# no heading");
        check(text("12. no list"), "12\\. no list");
        check(text("two\nlines"), "two lines");
        check(text("\u{202e}odd\u{1b}[31m"), "\\<U+202E\\>odd");
    }

    #[test]
    fn code_ends_where_it_ends() {
        check(code("a `b` ``c``"), "``` a `b` ``c`` ```");
        check(code("a `b` c"), "``a `b` c``");
        assert_eq!(render_output(&["```".to_owned()]), "````text\n```\n````\n");
    }

    #[test]
    fn a_cell_stays_in_its_column() {
        let row = vec![vec![text("a|b")], vec![code("c|d")]];
        let table = render_table(&["X", "Y"], std::iter::once(&row));
        assert_eq!(table, "| X | Y |\n| --- | --- |\n| a\\|b | `c\\|d` |\n");
    }
}
