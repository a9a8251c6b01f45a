//! A target in the test's own process: it answers as its path says, and notes what came.
//!
//! - `/ok…` 200, `/fail…` 500, `/created…` 201
//! - `/twice…` 500 to the first two requests with that path, then 200
//! - `/flaky…` 500 to the first attempt of one in three, by the minute of the expected time
//! - `/slow…` 200 after a while
//! - `/hang…` no answer until [`let_go`](Receiver::let_go)
//! - `/echo…` 500 with all that was sent, `/oauth…` an access token, or all that was sent if the path says `refusing`
//! - `/reset…` the connection is closed, `/redirect…` 302 to `/ok`, `/endless…` a body without end

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::server::SOON;

/// How long `/slow…` takes.
const WHILE: Duration = Duration::from_millis(400);

/// The access token that is issued to whoever asks.
pub(crate) const ACCESS_TOKEN: &str = "aad-1ssued-acc3ss-t0ken";

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
    pub(crate) arrived: Instant,
}

impl Hit {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn job(&self) -> &str {
        self.header("x-ms-scheduler-jobid")
    }

    pub(crate) fn tag(&self) -> &str {
        self.header("x-ms-execution-tag")
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.header("x-ms-scheduler-attempt").parse().unwrap()
    }

    /// The expected time, in whole seconds.
    pub(crate) fn expected_at(&self) -> Timestamp {
        format!("{}Z", self.header("x-ms-scheduler-expected-execution-time")).parse().unwrap()
    }
}

#[derive(Default)]
struct State {
    hits: Vec<Hit>,
    seen_by_path: HashMap<String, u32>,
    gone: u32,
    connections: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn wait(&self, what: &str, mut reached: impl FnMut(&State) -> bool) {
        // On a busy machine it may take long: what counts is that requests come.
        let mut state = self.state();
        while !reached(&state) {
            let count = state.hits.len();
            let pending = |state: &mut State| !reached(state) && state.hits.len() == count;
            let waited = self.changed.wait_timeout_while(state, 3 * SOON, pending).unwrap();
            assert!(!waited.1.timed_out(), "waited in vain until {what}; {count} requests came");
            state = waited.0;
        }
    }
}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let for_thread = Arc::clone(&shared);
        // Ends with the process: tests don't wait for a listener.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&for_thread);
                shared.state().connections += 1;
                std::thread::spawn(move || {
                    // A peer that is killed breaks off wherever it is.
                    let _ = converse(&stream, &shared);
                    drop(stream);
                    shared.state().connections -= 1;
                    shared.changed.notify_all();
                });
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn hits(&self) -> Vec<Hit> {
        self.shared.state().hits.clone()
    }

    /// What came for a job, in order.
    pub(crate) fn hits_of(&self, job: &str) -> Vec<Hit> {
        self.shared.state().hits.iter().filter(|hit| hit.job() == job).cloned().collect()
    }

    /// Waits until so many requests came for a job, and gives them.
    pub(crate) fn wait_for(&self, job: &str, count: usize) -> Vec<Hit> {
        let enough = |state: &State| state.hits.iter().filter(|hit| hit.job() == job).count() >= count;
        self.shared.wait(&format!("{job} was fired {count} times"), enough);
        self.hits_of(job)
    }

    /// Waits until so many more requests came for a job.
    pub(crate) fn wait_for_more(&self, job: &str, count: usize) -> Vec<Hit> {
        self.wait_for(job, self.hits_of(job).len() + count)
    }

    /// Waits until nobody is connected, so that all that was sent has arrived.
    pub(crate) fn wait_until_quiet(&self) {
        self.shared.wait("all connections are closed", |state| state.connections == 0);
    }

    /// Waits until a request has come since an instant, and says how long after.
    pub(crate) fn wait_for_any_since(&self, since: Instant) -> std::time::Duration {
        let came = |state: &State| state.hits.last().is_some_and(|hit| hit.arrived > since);
        self.shared.wait("something was fired", came);
        let state = self.shared.state();
        let first = state.hits.iter().find(|hit| hit.arrived > since).unwrap();
        first.arrived - since
    }

    /// Lets so many of those that hang go, and as many of those to come.
    pub(crate) fn let_go(&self, count: u32) {
        self.shared.state().gone += count;
        self.shared.changed.notify_all();
    }
}

/// Answers the requests of one connection.
fn converse(stream: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(hit) = read_request(&mut reader)? {
        let path = hit.path.clone();
        let minute = hit.headers.get("x-ms-scheduler-expected-execution-time").and_then(|at| at.get(14..16));
        let minute: u32 = minute.and_then(|minute| minute.parse().ok()).unwrap_or_default();
        let flaky_fails = minute.is_multiple_of(3) && hit.header("x-ms-scheduler-attempt") == "0";
        let echo = format!("{} {} {:?} {}", hit.method, hit.path, hit.headers, hit.body);
        let seen = {
            let mut state = shared.state();
            state.hits.push(hit);
            let seen = state.seen_by_path.entry(path.clone()).or_default();
            *seen += 1;
            *seen
        };
        shared.changed.notify_all();
        let kind = path.trim_start_matches('/').split(['/', '-', '?']).next().unwrap_or_default();
        let answer_with = |status: &str, more: &str, body: &str| {
            let length = body.len();
            format!(
                "HTTP/1.1 {status}\r\nServer: test\r\n{more}Content-Length: {length}\r\nContent-Type: text/plain\r\n\r\n{body}"
            )
        };
        let answer = |status: &str, more: &str| answer_with(status, more, "hi");
        let text = match kind {
            "fail" => answer("500 Internal Server Error", ""),
            "twice" if seen <= 2 => answer("500 Internal Server Error", ""),
            "flaky" if flaky_fails => answer("503 Service Unavailable", ""),
            "created" => answer("201 Created", ""),
            "oauth" if !path.contains("refusing") => {
                let token = format!("{{\"access_token\": \"{ACCESS_TOKEN}\", \"expires_in\": 3600}}");
                answer_with("200 OK", "", &token)
            }
            "echo" | "oauth" => answer_with("500 Internal Server Error", "", &echo),
            "redirect" => answer("302 Found", "Location: /ok\r\n"),
            "reset" => return Ok(()),
            "endless" => return endless(writer),
            "slow" => {
                let (_keep, moment) = std::sync::mpsc::channel::<()>();
                let _ = moment.recv_timeout(WHILE);
                answer("200 OK", "")
            }
            "hang" => {
                let state = shared.state();
                let mut state = shared.changed.wait_while(state, |state| state.gone == 0).unwrap();
                state.gone -= 1;
                drop(state);
                answer("200 OK", "")
            }
            _ => answer("200 OK", ""),
        };
        writer.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn endless(mut writer: &TcpStream) -> std::io::Result<()> {
    writer.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    loop {
        writer.write_all(b"400\r\n")?;
        writer.write_all(&[b'x'; 0x400])?;
        writer.write_all(b"\r\n")?;
    }
}

#[expect(clippy::disallowed_methods, reason = "when requests arrive is what is measured")]
fn read_request(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<Hit>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut parts = line.split(' ').map(str::to_owned);
    let (method, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length: usize = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(Hit { method, path, headers, body, arrived: Instant::now() }))
}
