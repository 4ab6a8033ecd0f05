//! Clients that send requests without a pause, each on a new connection.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use super::{Connection, wait_until};

/// Four clients, which run until [`Load::end`].
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: [JoinHandle<()>; 4],
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    answered: AtomicU64,
    /// Results of requests that were not answered with 200.
    lost: Mutex<Vec<String>>,
}

impl Load {
    /// Starts requests for `target`.
    pub(crate) fn on(address: SocketAddr, target: &'static str) -> Load {
        let shared = Arc::new(Shared::default());
        let clients = [(); 4].map(|()| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.run(address, target))
        });
        Load { shared, clients }
    }

    /// Waits for `more` further responses.
    pub(crate) fn wait_for(&self, more: u64) {
        let answered = &self.shared.answered;
        let goal = answered.load(SeqCst) + more;
        wait_until("requests are answered", || answered.load(SeqCst) >= goal);
    }

    /// Stops the clients, and returns the results of requests that were not answered with 200.
    pub(crate) fn end(self) -> Vec<String> {
        self.shared.stop.store(true, SeqCst);
        for client in self.clients {
            client.join().expect("a client ends");
        }
        std::mem::take(&mut self.shared.lost.lock().unwrap())
    }
}

impl Shared {
    fn run(&self, address: SocketAddr, target: &str) {
        let fields = [("Connection", "close")];
        while !self.stop.load(SeqCst) {
            let stream = TcpStream::connect(address);
            let answer =
                stream.and_then(|stream| Connection::over(stream).try_get(target, &fields));
            match answer {
                Ok(response) if response.status == 200 => drop(self.answered.fetch_add(1, SeqCst)),
                other => self.lost.lock().unwrap().push(format!("{other:?}")),
            }
        }
    }
}
