//! The HTML of a report in a browser. Takes Chromium; skipped aloud without it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long the browser may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The names under which Chromium is found.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What is measured of a page: how wide it is, the texts with too little contrast, the texts
/// that cannot be scrolled to, and what hides a part of itself.
const MEASURE: &str = r"(() => {
    const parts = color => color.match(/[\d.]+/g).map(Number);
    const light = color => parts(color).slice(0, 3).map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = element => {
        for (; element; element = element.parentElement) {
            const color = getComputedStyle(element).backgroundColor;
            if ((parts(color)[3] ?? 1) > 0) return color;
        }
        return 'rgb(255, 255, 255)';
    };
    const contrast = element => {
        const pair = [getComputedStyle(element).color, behind(element)].map(light);
        return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    };
    const shown = { texts: 0, lowest: 21, faint: [], outside: [], hidden: [] };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text; (text = walker.nextNode());) {
        if (!text.data.trim()) continue;
        shown.texts += 1;
        const element = text.parentElement, ratio = contrast(element);
        shown.lowest = Math.min(shown.lowest, ratio);
        if (ratio < 4.5) shown.faint.push([text.data.slice(0, 40), ratio]);
        const range = document.createRange();
        range.selectNodeContents(text);
        const box = range.getBoundingClientRect();
        const scrolls = element.closest('.wide');
        if (box.width === 0 || (!scrolls && (box.left < 0 || box.right > innerWidth)))
            shown.outside.push(text.data.slice(0, 40));
    }
    for (const element of document.querySelectorAll('body, body *:not(rect)')) {
        const wide = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
        if (wide && ['hidden', 'clip'].includes(getComputedStyle(element).overflowX))
            shown.hidden.push(element.outerHTML.slice(0, 80));
    }
    return { ...shown, innerWidth, scrollWidth: document.documentElement.scrollWidth,
        page: getComputedStyle(document.body).backgroundColor, title: document.title };
})()";

/// A browser that is driven over two pipes.
struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    last: u64,
    /// What it reported between the answers.
    events: Vec<Value>,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// None where there is no browser.
    fn start() -> Option<Self> {
        let is_there = |program: &&str| {
            let mut command = Command::new(program);
            command.arg("--version").stdin(Stdio::null());
            command.output().is_ok_and(|said| said.status.success())
        };
        let program = PROGRAMS.into_iter().find(is_there)?;
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = |name: &str| folder.path().join(name);
        let made = Command::new("mkfifo")
            .args([pipe("to"), pipe("from")])
            .status();
        assert!(made.expect("mkfifo starts").success());
        let flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
                     --no-first-run --disable-background-networking --disable-component-update";
        let line = format!(
            "exec {program} {flags} --user-data-dir=user --remote-debugging-pipe 3<to 4>from"
        );
        let child = Command::new("sh")
            .args(["-c", &line])
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        // Each of these waits until the shell has opened the other end.
        let to = OpenOptions::new().write(true).open(pipe("to"));
        let from = File::open(pipe("from")).expect("the browser writes");
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let messages = BufReader::new(from).split(0);
            for message in messages.map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Some(Self {
            child,
            to: to.expect("the browser reads"),
            from: receiver,
            last: 0,
            events: Vec::new(),
            _folder: folder,
        })
    }

    fn next_message(&self) -> Value {
        self.from
            .recv_timeout(PATIENCE)
            .expect("the browser answers")
    }

    /// Gives a command, and waits for its answer.
    fn call(&mut self, session: Option<&str>, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        write!(self.to, "{message}\0").expect("the browser reads");
        loop {
            let message = self.next_message();
            if message["id"] == self.last {
                assert_eq!(message.get("error"), None, "{method}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Waits until this was reported since the events were cleared.
    fn wait_for(&mut self, event: &str) {
        while self.events.iter().all(|one| one["method"] != event) {
            let message = self.next_message();
            self.events.push(message);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A page that is open.
struct Page {
    browser: Browser,
    session: String,
}

impl Page {
    fn open(mut browser: Browser) -> Self {
        let target = browser.call(None, "Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call(None, "Target.attachToTarget", &attach);
        let session = attached["sessionId"]
            .as_str()
            .expect("a session")
            .to_owned();
        let mut page = Self { browser, session };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.browser.call(Some(&self.session), method, params)
    }

    /// Shows a file at this width and in this scheme; what is measured of it, and what it
    /// requested and complained about meanwhile.
    fn show(&mut self, file: &Path, width: u32, scheme: &str) -> (Value, Vec<Value>) {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", &scheme);
        self.browser.events.clear();
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", &json!({"url": url}));
        self.browser.wait_for("Page.loadEventFired");
        let measure = json!({"expression": MEASURE, "returnByValue": true});
        let measured = self.call("Runtime.evaluate", &measure);
        let is_complaint = |event: &&Value| match event["method"].as_str() {
            Some("Network.requestWillBeSent") => event["params"]["request"]["url"] != url.as_str(),
            Some(
                "Runtime.consoleAPICalled"
                | "Runtime.exceptionThrown"
                | "Log.entryAdded"
                | "Network.webSocketCreated",
            ) => true,
            _ => false,
        };
        let complaints = self.browser.events.iter().filter(is_complaint);
        (
            measured["result"]["value"].clone(),
            complaints.cloned().collect(),
        )
    }
}

#[test]
fn a_browser_shows_a_report_whole_at_each_width_and_in_each_scheme() {
    let Some(browser) = Browser::start() else {
        eprintln!("skipped: the HTML of a report is looked at in Chromium");
        return;
    };
    let scratch = super::night();
    let write = ["report", "--format", "html", "--output", "night.html"];
    assert_eq!(scratch.piton(&write).exit, 0);
    let mut page = Page::open(browser);
    let mut pages = std::collections::BTreeSet::new();
    for width in [360, 1280] {
        for scheme in ["light", "dark"] {
            let (shown, complaints) = page.show(&scratch.file("night.html"), width, scheme);
            let what = format!("at {width} in {scheme}: {shown}");
            assert_eq!(complaints, [] as [Value; 0], "{what}");
            assert_eq!(shown["innerWidth"], width, "{what}");
            assert!(
                shown["scrollWidth"].as_u64() <= Some(width.into()),
                "{what}"
            );
            assert!(shown["texts"].as_u64() > Some(200), "{what}");
            for wrong in ["faint", "outside", "hidden"] {
                assert_eq!(shown[wrong], json!([]), "{wrong} {what}");
            }
            assert!(
                shown["title"]
                    .as_str()
                    .is_some_and(|title| title.starts_with("piton report"))
            );
            pages.insert(shown["page"].as_str().map(str::to_owned));
        }
    }
    assert_eq!(pages.len(), 2, "light and dark are two: {pages:?}");
}
