//! Clients that ask without a pause, a connection for each request, as a load balancer has them.

use std::collections::{HashMap, HashSet};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use super::{Connection, wait_until};

/// Four clients.
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    addresses: Mutex<Vec<SocketAddr>>,
    targets: Vec<&'static str>,
    stop: AtomicBool,
    answered: AtomicU64,
    bodies: Mutex<HashMap<&'static str, HashSet<Vec<u8>>>>,
    lost: Mutex<Vec<String>>,
}

/// What became of the requests.
pub(crate) struct Ended {
    pub(crate) answered: u64,
    /// The bodies seen, by target.
    pub(crate) bodies: HashMap<&'static str, HashSet<Vec<u8>>>,
    /// Why requests had no answer.
    pub(crate) lost: Vec<String>,
}

impl Load {
    /// Begins to ask for `targets` in turn, at each of the addresses in turn.
    pub(crate) fn on(addresses: Vec<SocketAddr>, targets: &[&'static str]) -> Load {
        let shared = Arc::new(Shared {
            addresses: Mutex::new(addresses),
            targets: targets.to_vec(),
            ..Shared::default()
        });
        let clients = (0..4).map(|number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.run(number))
        });
        let clients = clients.collect();
        Load { shared, clients }
    }

    /// Puts another address in the place of one.
    pub(crate) fn replace(&self, index: usize, address: SocketAddr) {
        self.shared.addresses.lock().unwrap()[index] = address;
    }

    /// Waits for `more` further answers.
    pub(crate) fn wait_for(&self, more: u64) {
        let goal = self.shared.answered.load(SeqCst) + more;
        wait_until("requests are answered", || {
            self.shared.answered.load(SeqCst) >= goal
        });
    }

    pub(crate) fn end(self) -> Ended {
        self.shared.stop.store(true, SeqCst);
        for client in self.clients {
            client.join().expect("a client ends");
        }
        Ended {
            answered: self.shared.answered.load(SeqCst),
            bodies: std::mem::take(&mut self.shared.bodies.lock().unwrap()),
            lost: std::mem::take(&mut self.shared.lost.lock().unwrap()),
        }
    }
}

impl Shared {
    fn run(&self, number: usize) {
        let mut turn = number;
        while !self.stop.load(SeqCst) {
            turn += 1;
            let target = self.targets[turn % self.targets.len()];
            match self.ask(turn, target) {
                Ok(body) => {
                    self.answered.fetch_add(1, SeqCst);
                    let mut bodies = self.bodies.lock().unwrap();
                    bodies.entry(target).or_default().insert(body);
                }
                Err(reason) => self.lost.lock().unwrap().push(reason),
            }
        }
    }

    /// Asks one address after the other, each once, until an answer begins.
    fn ask(&self, turn: usize, target: &str) -> Result<Vec<u8>, String> {
        let addresses = self.addresses.lock().unwrap().clone();
        let mut reasons = Vec::new();
        for step in 0..addresses.len() {
            let answer = TcpStream::connect(addresses[(turn + step) % addresses.len()]);
            let answer = answer.and_then(|stream| {
                Connection::over(stream).try_get(target, &[("Connection", "close")])
            });
            match answer {
                Ok(response) if response.status == 200 => return Ok(response.body),
                Ok(response) => return Err(format!("{target}: {}", response.status)),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(format!("{target}: {reasons:?}"))
    }
}
