//! Columns, as wide as what stands in them.

use piton_engine::model::terminal::clean_text;

/// Rows as lines; a column that is empty everywhere is left out.
pub(crate) fn render<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| visible_width(&row[column])).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - visible_width(cell) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// How many characters of a text are seen: those of styles are not.
fn visible_width(text: &str) -> usize {
    clean_text(text).chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_seen_in_them() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [
            row(["a", "", "\u{1b}[1mlong\u{1b}[0m"]),
            row(["three", "", "x"]),
        ];
        assert_eq!(
            render(rows.into_iter()),
            "a      \u{1b}[1mlong\u{1b}[0m\nthree  x\n"
        );
        assert_eq!(render(std::iter::empty::<[String; 3]>()), "");
    }
}
