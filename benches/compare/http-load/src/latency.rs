//! What single requests take at a steady rate, below what the server can do.

use std::thread;
use std::time::{Duration, Instant};

use load::{Connection, Expected, Result, Target};

/// Connections with a thread each, which take turns with the schedule's requests.
const CLIENTS: u32 = 8;

/// Times from when a request was due until its answer was read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

/// The medians of rounds; of an even number, the larger in the middle.
pub(crate) fn median(rounds: &[Times]) -> Times {
    let middle = |figure: fn(&Times) -> Duration| {
        let mut figures: Vec<Duration> = rounds.iter().map(figure).collect();
        figures.sort_unstable();
        figures.get(figures.len() / 2).copied().unwrap_or_default()
    };
    Times {
        p50: middle(|times| times.p50),
        p99: middle(|times| times.p99),
    }
}

/// Sends `rate` requests a second for `time`. A request that is sent late, because an answer was late, counts from
/// when it was due.
pub(crate) fn paced(
    target: &Target,
    request: &[u8],
    expected: Expected,
    rate: f64,
    time: Duration,
) -> Result<Times> {
    let interval = Duration::from_secs_f64(f64::from(CLIENTS) / rate.max(1.0));
    let begin = Instant::now() + Duration::from_millis(20);
    let mut times = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let first = begin + interval * number / CLIENTS;
                scope.spawn(move || client(target, request, expected, first, interval, time))
            })
            .collect();
        let mut all = Vec::new();
        for client in clients {
            let times = client.join().map_err(|_| "a client panicked")?;
            all.extend(times.map_err(|error| error.to_string())?);
        }
        Ok::<_, String>(all)
    })?;
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied();
    match (at(50), at(99)) {
        (Some(p50), Some(p99)) => Ok(Times { p50, p99 }),
        _ => Err("no request was due in the time".into()),
    }
}

fn client(
    target: &Target,
    request: &[u8],
    expected: Expected,
    first: Instant,
    interval: Duration,
    time: Duration,
) -> std::io::Result<Vec<Duration>> {
    let mut connection = Connection::new(target.address, expected);
    let mut times = Vec::new();
    let mut due = first;
    while due < first + time {
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            thread::sleep(early);
        }
        connection.send(request)?;
        connection.receive()?;
        times.push(due.elapsed());
        due += interval;
    }
    Ok(times)
}
