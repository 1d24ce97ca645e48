//! A report as one HTML file: no script, nothing that is loaded, light or dark as the
//! reader has it, for a telephone as for a wide screen.

mod markup;

use piton_engine::model::terminal::clean_line;

use self::markup::Html;
use super::document::{Block, Line, Span, Tone};

/// How the file begins: what it needs is in it, and nothing else may be fetched.
const BEGIN: &str = concat!(
    include_str!("html/head.html"),
    "<style>\n",
    include_str!("html/report.css"),
    "</style>\n<title>",
);

/// The blocks as a file with this title.
pub(crate) fn render(title: &str, blocks: &[Block]) -> String {
    let mut html = Html::default();
    html.markup(BEGIN);
    html.text(title);
    html.markup("</title>\n</head>\n<body>\n<main>\n");
    for block in blocks {
        push_block(&mut html, block);
    }
    html.markup("</main>\n</body>\n</html>\n");
    html.into_string()
}

fn push_block(html: &mut Html, block: &Block) {
    match block {
        Block::Heading(level, line) => {
            let tag = match level {
                1 => "h1",
                2 => "h2",
                _ => "h3",
            };
            html.element(tag, "", |html| push_line(html, line));
        }
        Block::Paragraph(line) => html.element("p", "", |html| push_line(html, line)),
        Block::List(lines) => html.element("ul", "", |html| {
            for line in lines {
                html.element("li", "", |html| push_line(html, line));
            }
        }),
        Block::Output(lines) => html.element("pre", "", |html| {
            for line in lines {
                html.text(&clean_line(line));
                html.markup("\n");
            }
        }),
        Block::Shares(shares) => push_shares(html, shares),
        Block::Table { head, rows } => {
            push_table(html, head, rows.iter().map(|cells| (None, cells)));
        }
        Block::Bars { head, rows } => {
            let most = rows.iter().filter_map(|(value, _)| *value);
            let most = most.fold(f64::MIN_POSITIVE, f64::max);
            let rows = rows.iter();
            let share = |value: f64| value / most;
            push_table(
                html,
                head,
                rows.map(|(value, cells)| (Some(value.map(share)), cells)),
            );
        }
    }
    html.markup("\n");
}

/// A table; a bar stands behind the first cell of a row that may have one.
fn push_table<'r>(
    html: &mut Html,
    head: &[&'static str],
    rows: impl Iterator<Item = (Option<Option<f64>>, &'r Vec<Line>)>,
) {
    html.element("div", "wide", |html| {
        html.element("table", "", |html| {
            html.markup("<thead><tr>");
            let mut rows = rows.peekable();
            let has_bars = rows.peek().is_some_and(|(bar, _)| bar.is_some());
            for (at, name) in head.iter().enumerate() {
                html.element("th", "", |html| html.text(name));
                if at == 0 && has_bars {
                    html.markup("<td></td>");
                }
            }
            html.markup("</tr></thead>\n<tbody>\n");
            for (bar, cells) in rows {
                html.markup("<tr>");
                for (at, line) in cells.iter().enumerate() {
                    html.element("td", "", |html| push_line(html, line));
                    if let (0, Some(share)) = (at, bar) {
                        html.element("td", "bar", |html| push_bar(html, share));
                    }
                }
                html.markup("</tr>\n");
            }
            html.markup("</tbody>");
        });
    });
}

/// A bar whose length is a share of the longest.
fn push_bar(html: &mut Html, share: Option<f64>) {
    let Some(share) = share else { return };
    html.markup("<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect height=\"10\" width=\"");
    html.share(share);
    html.markup("\"/></svg>");
}

/// The parts of a whole side by side.
fn push_shares(html: &mut Html, shares: &[(Tone, usize)]) {
    let all: usize = shares.iter().map(|(_, count)| count).sum();
    if all == 0 {
        return;
    }
    html.markup("<svg class=\"shares\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    let mut from = 0;
    for (tone, count) in shares.iter().filter(|(_, count)| *count > 0) {
        html.markup("<rect height=\"10\" class=\"");
        html.markup(class_of_tone(*tone));
        html.markup("\" x=\"");
        html.share(share_of(from, all));
        html.markup("\" width=\"");
        html.share(share_of(*count, all));
        html.markup("\"/>");
        from += count;
    }
    html.markup("</svg>");
}

fn share_of(part: usize, all: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(part) / number(all)
}

fn push_line(html: &mut Html, line: &[Span]) {
    for span in line {
        match span {
            Span::Text(text) => html.text(&clean_line(text)),
            Span::Strong(text) => html.element("strong", "", |html| html.text(&clean_line(text))),
            Span::Code(text) => html.element("code", "", |html| html.text(&clean_line(text))),
            Span::State(tone, text) => html.element("strong", class_of_tone(*tone), |html| {
                html.text(&clean_line(text));
            }),
        }
    }
}

fn class_of_tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Waiting => "waiting",
        Tone::Plain => "plain",
    }
}
