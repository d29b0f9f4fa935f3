//! Headless Chromium, driven through a pipe with the DevTools protocol.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// In order of preference.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Longer than any answer takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Directory for screenshots.
const SCREENSHOTS: &str = "ASSAY_SCREENSHOTS";

#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) width: u32,
    pub(crate) is_dark: bool,
    pub(crate) runs_scripts: bool,
}

pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// Profile and pages.
    home: TempDir,
    session: Option<String>,
    sent: u64,
    /// Exceptions, policy violations and dialogs of the page.
    problems: Vec<String>,
}

impl Browser {
    /// `None`, with a message on stderr, if the machine has no browser.
    #[allow(clippy::print_stderr, reason = "a skipped test must say so")]
    pub(crate) fn start() -> Option<Self> {
        let has = |program: &&&str| {
            let version = Command::new(program).arg("--version").output();
            version.is_ok_and(|it| it.status.success())
        };
        let Some(program) = PROGRAMS.iter().find(has) else {
            eprintln!("skipped: there is no Chromium; Debian's package is `chromium`");
            return None;
        };
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        // The browser reads commands from descriptor 3 and answers on 4.
        command.args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, program]);
        command.args(["--headless=new", "--remote-debugging-pipe", "--no-first-run"]);
        // The sandbox refuses to run as root. The pages come from these tests alone.
        command.args(["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--disable-background-networking", "--disable-component-update"]);
        command.arg(format!("--user-data-dir={}", home.path().join("profile").display()));
        command.env("HOME", home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, messages) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take().unwrap();
        let (session, problems) = (None, Vec::new());
        let mut browser = Self { child, input, messages, home, session, sent: 0, problems };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == self.sent {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// Keeps the problems that messages report.
    fn next(&mut self) -> Value {
        let message = self.messages.recv_timeout(PATIENCE).expect("the browser is silent");
        let what = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.problems.push(what.to_string()),
            Some("Log.entryAdded") if what["entry"]["level"] == "error" => {
                self.problems.push(what["entry"]["text"].to_string());
            }
            Some("Page.javascriptDialogOpening") => self.problems.push(format!("dialog: {what}")),
            _ => {}
        }
        message
    }

    pub(crate) fn open(&mut self, page: &str, window: Window) {
        let file = self.home.path().join("page.html");
        fs_err::write(&file, page).unwrap();
        let Window { width, is_dark, runs_scripts } = window;
        let is_phone = width < 600;
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": is_phone});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": "", "features": features}));
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": !runs_scripts}));
        self.load(&format!("file://{}", file.display()));
    }

    /// Shows the page of `open` again, at an anchor.
    pub(crate) fn open_again(&mut self, place: &str) {
        // Only the anchor changed, so the browser would not load it again.
        self.load("about:blank");
        let file = self.home.path().join("page.html");
        self.load(&format!("file://{}{place}", file.display()));
    }

    fn load(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        while self.next()["method"] != "Page.loadEventFired" {}
    }

    /// Awaits promises.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// `Enter`, `Tab` or ` `.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text, number) = match key {
            "Enter" => ("Enter", "\r", 13),
            "Tab" => ("Tab", "", 9),
            _ => ("Space", " ", 32),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut parameters =
                json!({"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number});
            if kind == "keyDown" && !text.is_empty() {
                parameters["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", parameters);
        }
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Problems since the last call.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        // Messages come in order, so none of those before this answer is missing.
        self.call("Runtime.evaluate", json!({"expression": "0"}));
        std::mem::take(&mut self.problems)
    }

    /// Only if screenshots are wanted.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(directory) = std::env::var_os(SCREENSHOTS) else { return };
        let picture = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        let bytes = BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        fs_err::create_dir_all(&directory).unwrap();
        fs_err::write(Path::new(&directory).join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
