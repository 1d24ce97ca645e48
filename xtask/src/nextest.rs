//! How nextest is called, and what it leaves.

/// Builds the points at which a test can end piton.
pub(crate) const FEATURES: [&str; 2] = ["--features", "piton/failpoints"];

/// Where nextest leaves what every test printed: see `.config/nextest.toml`. It
/// is below the root wherever cargo builds.
pub(crate) const REPORT: &str = "target/nextest/default/report.xml";

pub(crate) fn unescape(text: &str) -> String {
    [
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
