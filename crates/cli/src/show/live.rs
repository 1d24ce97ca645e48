//! The live region of a run at work: a line for each lane, and one for the run.
//!
//! What stands in it is a pure function of how the run stands and of the screen. How it
//! comes to the screen is the matter of [`crate::output`].

use piton_engine::failure::notice::{RunProgress, WorkProgress};
use piton_engine::model::amount::{format_duration, format_size};
use piton_engine::model::dollars::Dollars;
use piton_engine::model::terminal::clean_line;
use piton_engine::verbs::item_view::title_of_item;
use piton_engine::verbs::status::count_items;

use super::count::format_count;
use crate::output::{
    BOLD, DIM, MarkSet, OutputStyle, PLAIN, RED, Screen, YELLOW, count_columns, cut_columns,
};

/// How a run at work stands, as far as it is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunView {
    /// Items that are done.
    pub(crate) done: usize,
    /// All that are to be done, those included.
    pub(crate) all: usize,
    pub(crate) failed: usize,
    pub(crate) waiting: usize,
    pub(crate) lanes: Vec<LaneView>,
    /// What the run used so far; nothing where that is not known.
    pub(crate) cost: Dollars,
    pub(crate) budget_percent: Option<u64>,
    /// What else there is to know.
    pub(crate) note: Option<String>,
}

/// An item at work.
#[derive(Clone, Debug)]
pub(crate) struct LaneView {
    pub(crate) item: String,
    pub(crate) title: Option<String>,
    /// Its work is being merged, in no lane.
    pub(crate) is_merge: bool,
    /// For how long, in seconds.
    pub(crate) since_s: u64,
    /// What its agent does.
    pub(crate) activity: Option<String>,
}

impl RunView {
    pub(crate) fn of_progress(progress: &RunProgress<'_>) -> Self {
        let row = progress.tables.run(progress.run);
        let counters = row.map(|row| count_items(progress.tables, row));
        let counters = counters.unwrap_or_default();
        let left_out = counters.nodes_skipped + counters.nodes_dropped;
        let stopping = progress.stopping.map(|signal| format!("ends: {signal}"));
        let asked = progress.asked;
        let asked = asked.map(|file| format!("1 question about {file} waits: `piton inbox`"));
        Self {
            done: counters.nodes_done,
            all: counters.nodes.saturating_sub(left_out),
            failed: counters.nodes_failed + counters.nodes_blocked,
            waiting: counters.nodes_waiting,
            lanes: progress
                .works
                .iter()
                .map(|work| LaneView::of_work(work, progress))
                .collect(),
            cost: progress.used.usd,
            budget_percent: progress.budget_percent,
            note: stopping.or(asked),
        }
    }
}

impl LaneView {
    fn of_work(work: &WorkProgress<'_>, progress: &RunProgress<'_>) -> Self {
        let item = progress.tables.item(progress.run, work.node);
        let printed =
            || (work.printed > 0).then(|| format!("{} printed", format_size(work.printed)));
        let since = progress.now.duration_since(work.since).as_secs();
        Self {
            item: work.node.to_string(),
            title: item.and_then(title_of_item),
            is_merge: work.is_merge,
            since_s: u64::try_from(since).unwrap_or(0),
            activity: work.activity.map(str::to_owned).or_else(printed),
        }
    }
}

/// The lines of the region: where one item is at work, all is in one line.
pub(crate) fn region_lines(run: &RunView, screen: &Screen) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pieces = vec![Piece::new(PLAIN, &format!("{}/{}", run.done, run.all))];
    let mut hidden = 0;
    if let [lane] = run.lanes.as_slice() {
        pieces.extend(lane_pieces(lane));
    } else {
        // The lines above the region are to be seen as well.
        let shown_max = (screen.rows / 2).max(1);
        for lane in run.lanes.iter().take(shown_max) {
            lines.push(fit_line(lane_pieces(lane), screen));
        }
        hidden = run.lanes.len() - lines.len();
    }
    pieces.extend(summary_pieces(run, hidden));
    lines.push(fit_line(pieces, screen));
    lines
}

fn lane_pieces(lane: &LaneView) -> Vec<Piece> {
    let mut pieces = vec![Piece::new(BOLD, &lane.item)];
    if let Some(title) = &lane.title {
        pieces.push(Piece {
            kind: PieceKind::Title,
            ..Piece::new(PLAIN, title)
        });
    }
    let time = format_duration(lane.since_s).replace(' ', "");
    pieces.push(Piece::new(PLAIN, &time));
    if let Some(activity) = &lane.activity {
        pieces.push(Piece {
            kind: PieceKind::Activity,
            ..Piece::new(DIM, activity)
        });
    }
    pieces
}

/// `hidden` lanes have no line: the screen has no room for them.
fn summary_pieces(run: &RunView, hidden: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if let Some(note) = &run.note {
        pieces.push(Piece::new(YELLOW, note));
    }
    if run.failed > 0 {
        pieces.push(Piece::new(RED, &format!("{} failed", run.failed)));
    }
    if run.waiting > 0 {
        pieces.push(Piece::new(YELLOW, &format!("{} waiting", run.waiting)));
    }
    if run.cost > Dollars::default() {
        pieces.push(Piece::new(PLAIN, &run.cost.to_string()));
    }
    let lanes = run.lanes.iter().filter(|lane| !lane.is_merge).count();
    if run.lanes.len() > 1 && lanes > 0 {
        pieces.push(Piece::new(PLAIN, &format_count(lanes, "lane")));
    }
    if hidden > 0 {
        pieces.push(Piece::new(PLAIN, &format!("{hidden} not shown")));
    }
    if let Some(percent) = run.budget_percent {
        pieces.push(Piece::new(PLAIN, &format!("{percent} % of the budget")));
    }
    pieces
}

/// A part of a line.
struct Piece {
    kind: PieceKind,
    style: OutputStyle,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PieceKind {
    /// It is shown whole, or not at all.
    Fixed,
    /// It stands in quotation marks behind the item, and may be shortened.
    Title,
    /// It may be shortened.
    Activity,
}

/// A text that would be shorter than that, in columns, is left out.
const SHORTENED_MIN: usize = 8;

impl Piece {
    /// A fixed one. A text from outside is letters in one line from here on.
    fn new(style: OutputStyle, text: &str) -> Self {
        Self {
            kind: PieceKind::Fixed,
            style,
            text: clean_line(text).trim().to_owned(),
        }
    }

    /// Columns of it, with its quotation marks.
    fn columns(&self) -> usize {
        let quotes = if self.kind == PieceKind::Title { 2 } else { 0 };
        count_columns(&self.text) + quotes
    }

    fn separator(&self, marks: MarkSet) -> &'static str {
        match (self.kind, marks) {
            (PieceKind::Title, _) => " ",
            (PieceKind::Fixed | PieceKind::Activity, MarkSet::Symbols) => " · ",
            (PieceKind::Fixed | PieceKind::Activity, MarkSet::Words) => " | ",
        }
    }

    /// Takes `excess` columns off its end, if enough of it stays.
    fn shorten(&mut self, excess: usize, marks: MarkSet) -> bool {
        let ellipsis = ellipsis(marks);
        let columns = count_columns(&self.text);
        let wanted = columns.saturating_sub(excess);
        if wanted < SHORTENED_MIN.min(columns) {
            return false;
        }
        let kept = cut_columns(&self.text, wanted.saturating_sub(count_columns(ellipsis)));
        self.text = format!("{}{ellipsis}", kept.trim_end());
        true
    }

    fn render(&self) -> String {
        let (style, text) = (self.style, &self.text);
        match self.kind {
            PieceKind::Title => format!("{style}\"{text}\"{style:#}"),
            PieceKind::Fixed | PieceKind::Activity => format!("{style}{text}{style:#}"),
        }
    }
}

fn ellipsis(marks: MarkSet) -> &'static str {
    match marks {
        MarkSet::Symbols => "…",
        MarkSet::Words => "...",
    }
}

/// A line of pieces that fits the screen. What an agent does is shortened first and left
/// out first, then the title, then what stands last.
fn fit_line(mut pieces: Vec<Piece>, screen: &Screen) -> String {
    let marks = screen.marks;
    let excess = |pieces: &[Piece]| {
        let separators = pieces.iter().skip(1).map(|piece| piece.separator(marks));
        let columns: usize = pieces.iter().map(Piece::columns).sum();
        (columns + separators.map(count_columns).sum::<usize>()).saturating_sub(screen.columns)
    };
    for kind in [PieceKind::Activity, PieceKind::Title] {
        let over = excess(&pieces);
        let at = pieces.iter().position(|piece| piece.kind == kind);
        let Some(at) = at.filter(|_| over > 0) else {
            continue;
        };
        if !pieces[at].shorten(over, marks) {
            pieces.remove(at);
        }
    }
    while excess(&pieces) > 0 && pieces.len() > 1 {
        pieces.pop();
    }
    let mut line = String::new();
    for (nth, piece) in pieces.iter_mut().enumerate() {
        if count_columns(&piece.text) > screen.columns {
            piece.text = cut_columns(&piece.text, screen.columns).to_owned();
        }
        if nth > 0 {
            line.push_str(piece.separator(marks));
        }
        line.push_str(&piece.render());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: MarkSet = MarkSet::Symbols;

    fn lane(item: &str, title: &str, since_s: u64, activity: &str) -> LaneView {
        LaneView {
            item: item.to_owned(),
            title: (!title.is_empty()).then(|| title.to_owned()),
            is_merge: false,
            since_s,
            activity: (!activity.is_empty()).then(|| activity.to_owned()),
        }
    }

    fn one() -> RunView {
        RunView {
            done: 3,
            all: 12,
            lanes: vec![lane("T012", "Wire the login", 252, "Bash: pytest -q")],
            cost: "0.31".parse().expect("an amount"),
            budget_percent: Some(41),
            ..RunView::default()
        }
    }

    fn three() -> RunView {
        let long = "Edit: src/components/settings/notifications/PreferencesPanel.test.tsx";
        RunView {
            failed: 1,
            waiting: 2,
            lanes: vec![
                lane("T012", "Wire the login", 252, "Bash: pytest -q"),
                lane("T013", "Show the preferences of notifications", 4_000, long),
                lane("T014", "", 1, ""),
            ],
            ..one()
        }
    }

    /// Lines without colours, each with how many columns it takes.
    fn shown(run: &RunView, columns: usize, marks: MarkSet) -> String {
        let screen = Screen {
            columns: columns - 1,
            rows: 24,
            marks,
        };
        let lines = region_lines(run, &screen).into_iter().map(|line| {
            let line = clean_line(&line).into_owned();
            assert!(count_columns(&line) < columns, "{line}");
            line + "\n"
        });
        lines.collect()
    }

    #[test]
    fn one_item_at_work_stands_in_one_line_with_the_run() {
        insta::assert_snapshot!(shown(&one(), 120, SYMBOLS), @r#"
        3/12 · T012 "Wire the login" · 4m12s · Bash: pytest -q · $0.31 · 41 % of the budget
        "#);
        insta::assert_snapshot!(shown(&one(), 80, SYMBOLS), @r#"
        3/12 · T012 "Wire the login" · 4m12s · Bash: pyte… · $0.31 · 41 % of the budget
        "#);
        insta::assert_snapshot!(shown(&one(), 40, SYMBOLS), @r"
        3/12 · T012 · 4m12s · $0.31
        ");
    }

    #[test]
    fn each_lane_has_a_line_above_that_of_the_run() {
        insta::assert_snapshot!(shown(&three(), 120, SYMBOLS), @r#"
        T012 "Wire the login" · 4m12s · Bash: pytest -q
        T013 "Show the preferences of notifications" · 1h06m · Edit: src/components/settings/notifications/PreferencesPanel.te…
        T014 · 1s
        3/12 · 1 failed · 2 waiting · $0.31 · 3 lanes · 41 % of the budget
        "#);
        insta::assert_snapshot!(shown(&three(), 80, SYMBOLS), @r#"
        T012 "Wire the login" · 4m12s · Bash: pytest -q
        T013 "Show the preferences of notifications" · 1h06m · Edit: src/components/se…
        T014 · 1s
        3/12 · 1 failed · 2 waiting · $0.31 · 3 lanes · 41 % of the budget
        "#);
        insta::assert_snapshot!(shown(&three(), 40, SYMBOLS), @r#"
        T012 "Wire the login" · 4m12s
        T013 "Show the preferences of…" · 1h06m
        T014 · 1s
        3/12 · 1 failed · 2 waiting · $0.31
        "#);
    }

    #[test]
    fn a_terminal_without_the_characters_gets_letters() {
        insta::assert_snapshot!(shown(&three(), 80, MarkSet::Words), @r#"
        T012 "Wire the login" | 4m12s | Bash: pytest -q
        T013 "Show the preferences of notifications" | 1h06m | Edit: src/components/...
        T014 | 1s
        3/12 | 1 failed | 2 waiting | $0.31 | 3 lanes | 41 % of the budget
        "#);
    }

    #[test]
    fn wide_characters_count_twice_and_orders_to_a_terminal_are_nothing() {
        let title = "登录页面接上后端\u{1b}[2J并处理错误\nnext";
        let activity = "Bash: echo \u{1b}]52;c;x\u{7}🎉🎉\u{202e}";
        let run = RunView {
            lanes: vec![lane("T012", title, 5, activity)],
            ..one()
        };
        insta::assert_snapshot!(shown(&run, 120, SYMBOLS), @r#"
        3/12 · T012 "登录页面接上后端并处理错误 next" · 5s · Bash: echo 🎉🎉<U+202E> · $0.31 · 41 % of the budget
        "#);
        insta::assert_snapshot!(shown(&run, 80, SYMBOLS), @r#"
        3/12 · T012 "登录页面接上后端并处理错误 next" · 5s · $0.31 · 41 % of the budget
        "#);
        insta::assert_snapshot!(shown(&run, 40, SYMBOLS), @r"
        3/12 · T012 · 5s · $0.31
        ");
    }

    #[test]
    fn no_line_is_wider_than_its_screen() {
        let note = Some("1 question about prd.json waits: `piton inbox`".to_owned());
        let run = RunView { note, ..three() };
        for columns in 2..200 {
            for marks in [SYMBOLS, MarkSet::Words] {
                shown(&run, columns, marks);
                shown(&one(), columns, marks);
            }
        }
    }

    #[test]
    fn a_run_with_nothing_at_work_says_how_it_stands() {
        let run = RunView {
            lanes: Vec::new(),
            note: Some("ends: SIGINT".to_owned()),
            ..three()
        };
        insta::assert_snapshot!(shown(&run, 80, SYMBOLS), @r"
        3/12 · ends: SIGINT · 1 failed · 2 waiting · $0.31 · 41 % of the budget
        ");
    }

    #[test]
    fn more_lanes_than_fit_half_of_the_screen_are_counted() {
        let lanes = (0..20).map(|nth| lane(&format!("T{nth:03}"), "", 1, ""));
        let run = RunView {
            lanes: lanes.collect(),
            ..one()
        };
        let screen = Screen {
            columns: 79,
            rows: 10,
            marks: SYMBOLS,
        };
        let lines = region_lines(&run, &screen);
        assert_eq!(lines.len(), 6);
        assert!(lines[5].contains("20 lanes · 15 not shown"), "{}", lines[5]);
    }
}
