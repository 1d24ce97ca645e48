//! The one door to HTML.

use piton_engine::model::terminal::clean_text;

/// HTML that is being written. Markup is what piton's own source says; everything else is
/// text, which is cleaned and escaped here, or a number.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds markup.
    pub(super) fn markup(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Adds text: it begins no markup and ends no attribute.
    pub(super) fn text(&mut self, text: &str) {
        for c in clean_text(text).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
    }

    /// Adds a share of a whole, in thousandths.
    pub(super) fn share(&mut self, share: f64) {
        self.0
            .push_str(&format!("{:.1}", share.clamp(0.0, 1.0) * 1000.0));
    }

    /// Adds an element with what is written into it. An empty class is none.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        class: &'static str,
        write: impl FnOnce(&mut Self),
    ) {
        for part in ["<", tag] {
            self.markup(part);
        }
        if !class.is_empty() {
            for part in [" class=\"", class, "\""] {
                self.markup(part);
            }
        }
        self.markup(">");
        write(self);
        for part in ["</", tag, ">"] {
            self.markup(part);
        }
    }

    /// The whole.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_nothing_but_text() {
        let mut html = Html::default();
        html.element("td", "bar", |html| {
            html.text("<script>\"a\" & 'b'\u{202e}\u{1b}[31m\u{0}</td>");
        });
        assert_eq!(
            html.into_string(),
            "<td class=\"bar\">&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;U+202E&gt;&lt;/td&gt;</td>"
        );
    }
}
