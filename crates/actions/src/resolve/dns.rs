//! Asks the name servers of the system's configuration, without a thread for each question.
//!
//! Follows `/etc/resolv.conf` and `/etc/hosts`, and reads them again when they change. Where the system has no such
//! configuration, its own resolver is asked, on few threads.

use std::fs;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolveHosts, ResolverOpts};
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::Unresolved;

/// The files that say how names are resolved.
const FILES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];

/// How often it is looked whether they have changed.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Threads for the system's own resolver, each of which a name server that does not answer occupies.
const THREADS_MAX: usize = 128;

/// Asks name servers.
pub(super) struct Dns {
    current: Mutex<Current>,
    threads: Arc<Semaphore>,
}

struct Current {
    /// None if the system has no configuration that can be read.
    resolver: Option<Arc<TokioResolver>>,
    /// When the files were last changed.
    changed_at: [Option<SystemTime>; 2],
    /// None if this resolver is for good.
    look_again_at: Option<Instant>,
}

impl Dns {
    /// By the system's configuration.
    pub(super) fn of_system() -> Self {
        let current = Current {
            resolver: read_configuration(),
            changed_at: changed_at(),
            look_again_at: Some(Instant::now() + LOOK_INTERVAL),
        };
        Self::new(current)
    }

    /// By another configuration.
    #[cfg(test)]
    pub(super) fn of(resolver: TokioResolver) -> Self {
        let resolver = Some(Arc::new(resolver));
        Self::new(Current { resolver, changed_at: [None; 2], look_again_at: None })
    }

    fn new(current: Current) -> Self {
        Self { current: Mutex::new(current), threads: Arc::new(Semaphore::new(THREADS_MAX)) }
    }

    /// Returns the addresses of a name, those of IPv6 first.
    pub(super) async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        let addresses = match self.resolver() {
            Some(resolver) => match resolver.lookup_ip(name).await {
                Ok(found) => found.iter().collect(),
                Err(error) => return Err(unresolved(&error)),
            },
            None => self.ask_system(name).await?,
        };
        if addresses.is_empty() { Err(Unresolved::NoSuchName) } else { Ok(addresses) }
    }

    /// The resolver of the configuration as it is now.
    fn resolver(&self) -> Option<Arc<TokioResolver>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if current.look_again_at.is_some_and(|at| at <= now) {
            current.look_again_at = Some(now + LOOK_INTERVAL);
            let changed_at = changed_at();
            if changed_at != current.changed_at {
                current.changed_at = changed_at;
                current.resolver = read_configuration();
            }
        }
        current.resolver.clone()
    }

    /// Asks the system's own resolver, which blocks a thread and can't be cancelled.
    async fn ask_system(&self, name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        let permit = Arc::clone(&self.threads).acquire_owned().await.map_err(|_| Unresolved::NoAnswer)?;
        let name = name.to_owned();
        let asking = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), 0).to_socket_addrs();
            // The thread holds the permit: it is busy even if the attempt has given up.
            drop(permit);
            found.map(|addresses| addresses.map(|address| address.ip()).collect::<Vec<_>>())
        });
        match asking.await {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(Unresolved::of(&error)),
            // The look-up panicked.
            Err(_) => Err(Unresolved::NoAnswer),
        }
    }
}

impl Unresolved {
    /// Translates an error of the system's resolver. Rust gives only its text, so `EAI_AGAIN` is recognized by the
    /// texts of glibc and musl. Every other error means that the name has no address.
    fn of(error: &io::Error) -> Self {
        let text = error.to_string();
        let temporary = ["Temporary failure in name resolution", "Try again"];
        if temporary.iter().any(|part| text.contains(part)) { Self::NoAnswer } else { Self::NoSuchName }
    }
}

fn unresolved(error: &NetError) -> Unresolved {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(answer))
            if matches!(answer.response_code, ResponseCode::NoError | ResponseCode::NXDomain) =>
        {
            Unresolved::NoSuchName
        }
        // What can't be the name of a host is not asked for.
        NetError::Proto(_) => Unresolved::NoSuchName,
        _ => Unresolved::NoAnswer,
    }
}

fn read_configuration() -> Option<Arc<TokioResolver>> {
    let mut builder = TokioResolver::builder_tokio().ok()?;
    set(builder.options_mut());
    builder.build().ok().map(Arc::new)
}

/// What is ours to say. The rest (time-outs, attempts, search) is the system's.
fn set(options: &mut ResolverOpts) {
    options.ip_strategy = LookupIpStrategy::Ipv6AndIpv4;
    options.use_hosts_file = ResolveHosts::Always;
    // Results are cached by whoever asks.
    options.cache_size = 0;
}

fn changed_at() -> [Option<SystemTime>; 2] {
    FILES.map(|file| fs::metadata(file).and_then(|file| file.modified()).ok())
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
    use hickory_resolver::net::runtime::TokioRuntimeProvider;
    use tokio::net::UdpSocket;

    use super::*;

    /// A name server that knows one name, and answers no question about others.
    pub(crate) struct NameServer {
        address: SocketAddr,
        asked: Arc<AtomicUsize>,
    }

    impl NameServer {
        pub(crate) async fn start(known: &'static str, address: [u8; 4]) -> Self {
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let server = Self { address: socket.local_addr().unwrap(), asked: Arc::new(AtomicUsize::new(0)) };
            let asked = Arc::clone(&server.asked);
            tokio::spawn(async move {
                let mut question = [0; 1500];
                while let Ok((length, caller)) = socket.recv_from(&mut question).await {
                    asked.fetch_add(1, Ordering::Relaxed);
                    if let Some(answer) = answer(&question[..length], known, address) {
                        socket.send_to(&answer, caller).await.unwrap();
                    }
                }
            });
            server
        }

        /// How many questions have come.
        pub(crate) fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }

        pub(crate) fn dns(&self) -> Dns {
            let mut connection = ConnectionConfig::udp();
            connection.port = self.address.port();
            let server = NameServerConfig::new(self.address.ip(), true, vec![connection]);
            let config = ResolverConfig::from_parts(None, vec![], vec![server]);
            let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
            set(builder.options_mut());
            Dns::of(builder.build().unwrap())
        }
    }

    /// The answer to a question for an address of the known name.
    fn answer(question: &[u8], known: &str, address: [u8; 4]) -> Option<Vec<u8>> {
        const HEAD: usize = 12;
        let mut name = Vec::new();
        for label in known.split('.') {
            name.push(u8::try_from(label.len()).unwrap());
            name.extend_from_slice(label.as_bytes());
        }
        name.push(0);
        let end = HEAD + name.len() + 4;
        let section = question.get(HEAD..end)?;
        if !section[..name.len()].eq_ignore_ascii_case(&name) {
            return None;
        }
        let of_ipv4 = section[name.len() + 1] == 1;
        let mut answer = question[..2].to_vec();
        answer.extend_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(of_ipv4), 0, 0, 0, 0]);
        answer.extend_from_slice(section);
        if of_ipv4 {
            answer.extend_from_slice(&[0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            answer.extend_from_slice(&address);
        }
        Some(answer)
    }

    #[tokio::test]
    async fn a_name_server_is_asked() {
        let server = NameServer::start("known.example", [127, 0, 0, 7]).await;
        let found = server.dns().look_up("Known.example").await;
        assert_eq!(found.unwrap(), [IpAddr::from([127, 0, 0, 7])]);
    }

    #[tokio::test]
    async fn what_can_not_be_a_name_is_not_asked_for() {
        let server = NameServer::start("known.example", [127, 0, 0, 7]).await;
        let found = server.dns().look_up(&format!("{}.example", "x".repeat(64))).await;
        assert_eq!(found, Err(Unresolved::NoSuchName));
        assert_eq!(server.asked(), 0);
    }

    #[test]
    fn a_name_that_is_not_there_is_told_from_name_servers_that_do_not_answer() {
        let check = |text: &str, expected| assert_eq!(Unresolved::of(&io::Error::other(text)), expected);
        let lookup = "failed to lookup address information: ";
        check(&format!("{lookup}Name or service not known"), Unresolved::NoSuchName);
        check(&format!("{lookup}No address associated with hostname"), Unresolved::NoSuchName);
        check(&format!("{lookup}Temporary failure in name resolution"), Unresolved::NoAnswer);
        check(&format!("{lookup}Try again"), Unresolved::NoAnswer);
        assert_eq!(unresolved(&NetError::Timeout), Unresolved::NoAnswer);
    }
}
