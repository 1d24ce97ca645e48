#!/usr/bin/env python3
"""Records a session of piton in a terminal: session.cast and session.svg beside this script.

What is shown is typed by this script into a shell, and run for real. Needs git, sh, and
`piton` on PATH.

    python3 docs/guide/pictures/session.py
"""

import codecs
import html
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

COLUMNS, ROWS = 92, 26
HERE = Path(__file__).resolve().parent

# The agent: what it says is true of one item, a claim for another one, and takes long for the
# third, so that the runner can be killed meanwhile.
AGENT = r"""#!/bin/sh
cat >/dev/null
done='{"status": "completed", "summary": "'
case $PITON_ITEM in
write-greet-sh*)
    sleep 1
    printf '#!/bin/sh\necho "Hello, $1!"\n' >greet.sh ;;
greet-by-name*)
    sleep 1
    if [ -e .git/tried ]; then
        printf '#!/bin/sh\necho "Hello, ${1:-world}!"\n' >greet.sh
    else
        touch .git/tried
        echo '# greets the world, too' >>greet.sh
    fi ;;
*)
    sleep 3
    echo 'Say `sh greet.sh NAME`.' >MANUAL.md ;;
esac
echo "$done$PITON_ITEM\"}"
"""

# What is typed, and how long is waited before the next: seconds, or until the command ends.
STEPS = [
    ("piton init", None),
    ("piton add 'Write greet.sh' --check 'sh greet.sh Ada | grep Ada'", None),
    ("piton add 'Greet by name' --after write-greet-sh --check 'sh greet.sh | grep world'", None),
    ("piton add 'Write the manual' --after greet-by-name --check 'grep greet MANUAL.md'", None),
    ("piton run --agent ./agent.sh", "Write the manual"),
    ("# the power goes: kill -9", None),
    ("piton run", None),
    ("piton status", None),
]
PROMPT = "$ "


class Screen:
    """What a terminal shows: as much of one as piton and sh use."""

    def __init__(self):
        self.lines = [[]]
        self.row = self.column = 0
        self.style = ""

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[^\x1b]", text):
            if part.startswith("\x1b]"):
                continue
            if part.startswith("\x1b["):
                self.control(part[2:-1], part[-1])
            elif part == "\r":
                self.column = 0
            elif part == "\n":
                self.move(1)
            elif part >= " ":
                if self.column == COLUMNS:
                    self.column = 0
                    self.move(1)
                line = self.lines[self.row]
                line.extend([(" ", "")] * (self.column + 1 - len(line)))
                line[self.column] = (part, self.style)
                self.column += 1

    def move(self, rows):
        self.row = max(self.row + rows, 0)
        while self.row >= len(self.lines):
            self.lines.append([])

    def control(self, argument, verb):
        count = int(argument) if argument.isdigit() else 1
        if verb == "A":
            self.move(-count)
        elif verb == "B":
            self.move(count)
        elif verb == "G":
            self.column = count - 1
        elif verb == "K":
            del self.lines[self.row][0 if argument == "2" else self.column :]
        elif verb == "J":
            del self.lines[self.row][self.column :]
            del self.lines[self.row + 1 :]
        elif verb == "m":
            for code in argument.split(";"):
                self.style = "" if code in ("", "0", "39", "22") else STYLES.get(code, self.style)

    def shown(self):
        return [tuple(line) for line in self.lines[-ROWS:]]


STYLES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "34": "c", "36": "c", "90": "d"}


def record(folder):
    """What the terminal showed, as pairs of seconds and text."""
    environment = dict(
        os.environ, TERM="xterm-256color", LANG="C.UTF-8", TZ="UTC",
        XDG_STATE_HOME=str(folder / "state"), HOME=str(folder),
        COLUMNS=str(COLUMNS), LINES=str(ROWS),
    )
    shop = folder / "greeter"
    shop.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=shop, check=True)
    (shop / "agent.sh").write_text(AGENT)
    (shop / "agent.sh").chmod(0o755)
    events, began = [], time.monotonic()

    def print_text(text):
        events.append((time.monotonic() - began, text))

    def type_line(line):
        print_text(PROMPT)
        for character in line:
            time.sleep(0.02)
            print_text(character)
        time.sleep(0.3)
        print_text("\r\n")

    for line, until in STEPS:
        type_line(line)
        if not line.startswith("#"):
            run(line, until, shop, environment, print_text)
    print_text(PROMPT)
    return events


def run(line, until, folder, environment, print_text):
    """Runs a line in a terminal; kills it with SIGKILL two seconds after `until` is printed."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe("sh", ["sh", "-c", "stty columns %d rows %d; exec %s" % (COLUMNS, ROWS, line)], environment)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    seen, deadline = "", None
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        if ready:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            text = decode(data)
            seen += text
            print_text(text)
        if until and deadline is None and re.search(until, seen):
            deadline = time.monotonic() + 1.5
        if deadline and time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            print_text("\r\nKilled\r\n")
            break
    os.waitpid(child, 0)
    os.close(terminal)


def frames(events):
    """The screens that differ, each with the second in which it appears."""
    screen, shown = Screen(), []
    for second, text in events:
        screen.feed(text)
        now = screen.shown()
        if shown and second - shown[-1][0] < 0.12:
            shown[-1] = (shown[-1][0], now)
        elif not shown or shown[-1][1] != now:
            shown.append((second, now))
    return shown


def draw(shown, length):
    """An SVG that plays the screens: each row of text is one element for as long as it stands."""
    width, height, line, cell = COLUMNS * 8.4 + 24, ROWS * 18 + 24, 18, 8.4
    spans = []
    for row in range(ROWS):
        since, text = 0.0, None
        for second, lines in [*shown, (length, None)]:
            now = lines[row] if lines and row < len(lines) else ()
            if lines is None or now != text:
                if text:
                    spans.append((row, since, second, text))
                since, text = second, now
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">',
        "<style>text{white-space:pre;fill:#d8dee9}.b{font-weight:bold}.d{fill:#8b95a7}"
        ".r{fill:#ff8b8b}.g{fill:#a3d98a}.y{fill:#f0cf80}.c{fill:#8fc7e8}</style>",
        f'<rect width="100%" height="100%" rx="6" fill="#1d232f"/>',
    ]
    for row, since, until, text in spans:
        runs = []
        for character, style in text:
            if runs and runs[-1][1] == style:
                runs[-1][0] += character
            else:
                runs.append([character, style])
        body = "".join(
            f'<tspan class="{style}">{html.escape(part)}</tspan>' if style else html.escape(part)
            for part, style in runs
        )
        end = min(until, length)
        times = f"0;{since / length:.4f};{end / length:.4f};1"
        values = "none;inline;none;none" if since > 0 else "inline;inline;none;none"
        if until >= length:
            values = values.replace("none;none", "inline;inline", 1) if since == 0 else "none;inline;inline;inline"
        # Where nothing plays, the last screen is shown.
        shown_still = "inline" if until >= length else "none"
        parts.append(
            f'<text x="12" y="{row * line + 26}" textLength="{len(text) * cell:.1f}" display="{shown_still}">{body}'
            f'<animate attributeName="display" calcMode="discrete" dur="{length:.2f}s" '
            f'repeatCount="indefinite" keyTimes="{times}" values="{values}"/></text>'
        )
    parts.append("</svg>\n")
    return "\n".join(parts)


def main():
    folder = Path(tempfile.mkdtemp())
    try:
        events = record(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    events = [(second, text.replace(str(folder), "/home/ada")) for second, text in events]
    length = events[-1][0] + 5
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "piton"}
    lines = [header, *([round(second, 3), "o", text] for second, text in events)]
    (HERE / "session.cast").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (HERE / "session.svg").write_text(draw(frames(events), length))


if __name__ == "__main__":
    main()
