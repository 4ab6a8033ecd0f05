//! A client as a load balancer is one: each request to the next replica, and to another one where nobody answers.

use std::collections::{HashMap, HashSet};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::support::{Connection, wait_until};

/// Clients that ask without a pause until they are told to stop.
pub(super) struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

struct Shared {
    replicas: Mutex<Vec<SocketAddr>>,
    targets: Vec<&'static str>,
    stop: AtomicBool,
    answered: AtomicU64,
    /// The bodies seen, by target.
    bodies: Mutex<HashMap<&'static str, HashSet<Vec<u8>>>>,
    lost: Mutex<Vec<String>>,
}

/// What became of the requests.
pub(super) struct Outcome {
    pub(super) answered: u64,
    pub(super) bodies: HashMap<&'static str, HashSet<Vec<u8>>>,
}

impl Load {
    /// Begins to ask for `targets` in turn, with this many clients.
    pub(super) fn start(
        replicas: Vec<SocketAddr>,
        targets: &[&'static str],
        clients: usize,
    ) -> Load {
        let shared = Arc::new(Shared {
            replicas: Mutex::new(replicas),
            targets: targets.to_vec(),
            stop: AtomicBool::new(false),
            answered: AtomicU64::new(0),
            bodies: Mutex::default(),
            lost: Mutex::default(),
        });
        let clients = (0..clients).map(|number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.run(number))
        });
        let clients = clients.collect();
        Load { shared, clients }
    }

    /// Puts another address in the place of one.
    pub(super) fn replace(&self, index: usize, address: SocketAddr) {
        self.shared.replicas.lock().unwrap()[index] = address;
    }

    /// Waits until this many more requests were answered.
    pub(super) fn wait_for(&self, more: u64) {
        let goal = self.shared.answered.load(Ordering::SeqCst) + more;
        wait_until("requests are answered", || {
            self.shared.answered.load(Ordering::SeqCst) >= goal || self.has_lost()
        });
    }

    fn has_lost(&self) -> bool {
        !self.shared.lost.lock().unwrap().is_empty()
    }

    /// Ends, and panics if a request was lost.
    pub(super) fn stop(self) -> Outcome {
        self.shared.stop.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.join().expect("a client ends");
        }
        let lost = self.shared.lost.lock().unwrap();
        assert!(lost.is_empty(), "{} lost: {:?}", lost.len(), lost.first());
        Outcome {
            answered: self.shared.answered.load(Ordering::SeqCst),
            bodies: std::mem::take(&mut self.shared.bodies.lock().unwrap()),
        }
    }
}

impl Shared {
    fn run(&self, number: usize) {
        let mut turn = number;
        while !self.stop.load(Ordering::SeqCst) {
            turn += 1;
            let target = self.targets[turn % self.targets.len()];
            match self.ask(turn, target) {
                Ok(body) => {
                    self.answered.fetch_add(1, Ordering::SeqCst);
                    let mut bodies = self.bodies.lock().unwrap();
                    bodies.entry(target).or_default().insert(body);
                }
                Err(reason) => return self.lost.lock().unwrap().push(reason),
            }
        }
    }

    /// Asks one replica after the other until one answers; an answer is never asked for twice.
    fn ask(&self, turn: usize, target: &str) -> Result<Vec<u8>, String> {
        let mut reasons = Vec::new();
        for step in 0..3 {
            let address = {
                let replicas = self.replicas.lock().unwrap();
                replicas[(turn + step) % replicas.len()]
            };
            let stream = match TcpStream::connect(address) {
                Ok(stream) => stream,
                Err(error) => {
                    reasons.push(error.to_string());
                    continue;
                }
            };
            let mut connection = Connection::over(stream);
            let fields = [("Host", "reviews.example"), ("Connection", "close")];
            let head = connection.head("GET", target, &fields, 0);
            let written = connection.try_write(head.as_bytes());
            match written.and_then(|()| connection.try_response("GET")) {
                Ok(response) if response.status == 200 => return Ok(response.body),
                Ok(response) => return Err(format!("{target}: {}", response.status)),
                // The connection ended before an answer began: it stood in the queue of a socket that was closed.
                Err(error) => {
                    reasons.push(error.to_string());
                }
            }
        }
        Err(format!("{target}: {reasons:?}"))
    }
}
