//! A server on the loopback address that answers as a model would.
//!
//! The real agent programs are tried against it, without an account, a key or a
//! network. It speaks four protocols, told apart by the path that is asked
//! for: Anthropic's Messages, `OpenAI`'s Responses and Chat Completions, Google's
//! `generateContent`.
//! What it answers is data: a [`Scenario`]. What it was asked is kept, without
//! keys, for a test to look at.
//!
//! It is no model and checks nothing: a request that a real service would
//! refuse gets its answer too.
//!
//! | what | where |
//! |---|---|
//! | what is answered, and when | [`Scenario`] |
//! | requests read, answers written | `http` |
//! | the four protocols | `messages`, `responses`, `chat`, `gemini` |

mod chat;
mod gemini;
mod http;
mod messages;
mod named;
mod protocol;
mod responses;
mod scenario;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

pub use self::named::{NAMES, named};
pub use self::scenario::{Again, Piece, Rule, Scenario, Turn, Usage};

use self::http::{Asked, Reply};

/// One request that came in.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// `POST`.
    pub method: String,
    /// With what stands behind the `?`, but without a key.
    pub path: String,
    /// Names in lower case; those that carry a key are left out.
    pub headers: BTreeMap<String, String>,
    /// As JSON; null where there was none.
    pub body: Value,
    /// Whether it took a turn of the scenario, or was a question aside.
    pub turn: bool,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct FakeApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    scenario: Scenario,
    /// How many turns each rule has given.
    given: Mutex<Vec<usize>>,
    requests: Mutex<Vec<Request>>,
    over: Mutex<bool>,
    woken: Condvar,
    come: Condvar,
}

/// A lock that a panicked test left behind is still good to read.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeApi {
    /// Starts at a free port.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(scenario: Scenario) -> io::Result<FakeApi> {
        FakeApi::start_at(scenario, 0)
    }

    /// Starts at `port`; 0 takes a free one.
    ///
    /// # Errors
    ///
    /// When the port cannot be had.
    pub fn start_at(scenario: Scenario, port: u16) -> io::Result<FakeApi> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            given: Mutex::new(vec![0; scenario.rules.len()]),
            scenario,
            requests: Mutex::default(),
            over: Mutex::new(false),
            woken: Condvar::new(),
            come: Condvar::new(),
        });
        let listening = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || listen(&listener, &shared))
        };
        Ok(FakeApi {
            address,
            shared,
            listening: Some(listening),
        })
    }

    /// `http://127.0.0.1:PORT`, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was asked so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// What took a turn: questions aside are left out.
    #[must_use]
    pub fn turns(&self) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.turn);
        requests
    }

    /// Whether any request has `text` in its body.
    #[must_use]
    pub fn was_told(&self, text: &str) -> bool {
        // Compared as JSON writes it, since a prompt of several lines is.
        let written = Value::from(text).to_string();
        let text = written.trim_matches('"');
        let requests = lock(&self.shared.requests);
        requests
            .iter()
            .any(|one| one.body.to_string().contains(text))
    }

    /// Waits until more than `count` requests were answered or begun to be;
    /// none when that takes longer than `patience`. The one after `count`.
    #[must_use]
    pub fn request_after(&self, count: usize, patience: Duration) -> Option<Request> {
        let requests = lock(&self.shared.requests);
        let come = &self.shared.come;
        let waited = come.wait_timeout_while(requests, patience, |all| all.len() <= count);
        let (requests, _) = waited.unwrap_or_else(PoisonError::into_inner);
        requests.get(count).cloned()
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        *lock(&self.shared.over) = true;
        self.shared.woken.notify_all();
        // The listener looks whether it is over only when a connection comes.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            drop(listening.join());
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if *lock(&shared.over) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // Nothing is lost with an answer that its asker did not wait for.
        std::thread::spawn(move || drop(serve(&stream, &shared)));
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    let Some(asked) = http::read(stream)? else {
        return Ok(());
    };
    let (turn, reply) = answer(&asked, shared);
    lock(&shared.requests).push(Request {
        method: asked.method,
        path: asked.path,
        headers: asked.headers,
        body: asked.body,
        turn,
    });
    shared.come.notify_all();
    http::write(stream, reply, |wait| shared.pause(wait))
}

impl Shared {
    /// Waits so long, or until the server ends. Says whether to go on.
    fn pause(&self, wait: Duration) -> bool {
        let over = lock(&self.over);
        let waited = self.woken.wait_timeout_while(over, wait, |over| !*over);
        let (over, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*over
    }

    /// The next turn for a request with this body.
    fn next_turn(&self, body: &str) -> Turn {
        let rules = self.scenario.rules.iter();
        let Some((at, rule)) = rules.enumerate().find(|(_, rule)| rule.fits(body)) else {
            return Turn::say([Piece::text("Nothing is written for this.")]);
        };
        let mut given = lock(&self.given);
        let turn = rule.turn(given[at]);
        given[at] += 1;
        turn
    }
}

/// Whether the request takes a turn, and what to say.
fn answer(asked: &Asked, shared: &Shared) -> (bool, Reply) {
    let path = asked.path.split('?').next().unwrap_or_default();
    let speak = match path {
        _ if asked.method != "POST" => None,
        _ if path.contains("ountTokens") || path.contains("count_tokens") => None,
        _ if path.ends_with("/messages") => Some(messages::PROTOCOL),
        _ if path.ends_with("/responses") => Some(responses::PROTOCOL),
        _ if path.ends_with("/chat/completions") => Some(chat::PROTOCOL),
        _ if path.contains(":generateContent") || path.contains(":streamGenerateContent") => {
            Some(gemini::PROTOCOL)
        }
        _ => None,
    };
    let Some(protocol) = speak else {
        return (false, Reply::json(200, &http::nothing_in_particular()));
    };
    if let Some(reply) = (protocol.aside)(asked) {
        return (false, reply);
    }
    let scenario = &shared.scenario;
    let turn = shared.next_turn(&asked.body.to_string());
    let turn = turn.filled(&scenario.work, http::epoch_s());
    (true, protocol.reply(asked, &turn, scenario.usage))
}
