//! Asks HTTP servers for the same documents and compares the CPU that they spend on them.
//!
//!     http-load record DIR DOCUMENTS-ADDRESS SEARCH-ADDRESS
//!     http-load compare DIR SECONDS ROUNDS SERVER...
//!
//! `record` asks two running reviewds, one with documents of the sizes that are compared, one with many reviews, for
//! everything that the peers shall serve, and writes it to DIR for them. `compare` loads the servers in turn, a round
//! each, and prints medians; a server is `NAME=PID@ADDRESS:PORT`, the first is the one that the others are compared
//! with, and it may have a second process for the searches: `NAME=PID@ADDRESS:PORT,PID@ADDRESS:PORT`. A peer that has
//! not got a document is left out for it; one that answers with other bytes, or with other fields than validators, ends
//! the run. `ONLY` in the environment leaves only the requests whose name contains it; `CSV` names a file to which each
//! round is appended. http.sh starts everything.

mod cases;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use cases::{Case, Kind, Origin};
use load::{CONNECTIONS, Connection, Expected, ROUNDS_MAX, Result, Round, SECONDS_MAX};
use load::{Target, load, median};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &arguments[..] {
        ["record", folder, documents, search] => {
            cases::record(Path::new(folder), documents.parse()?, search.parse()?)
        }
        ["compare", folder, seconds, rounds, servers @ ..] if !servers.is_empty() => {
            let seconds = seconds.parse::<u64>()?.clamp(1, SECONDS_MAX);
            let rounds = rounds.parse::<usize>()?.clamp(1, ROUNDS_MAX);
            let servers: Vec<Server> = servers.iter().map(|s| server(s)).collect::<Result<_>>()?;
            let mut cases = cases::read(Path::new(folder))?;
            let only = std::env::var("ONLY").unwrap_or_default();
            cases.retain(|case| case.name.contains(&only));
            if cases.is_empty() {
                return Err(format!("ONLY: no request has {only:?} in its name").into());
            }
            compare(&cases, Duration::from_secs(seconds), rounds, &servers)
        }
        _ => Err("see the top of main.rs for the arguments".into()),
    }
}

/// A server with the processes that serve its documents and its searches.
struct Server {
    name: String,
    documents: Target,
    search: Target,
}

fn server(text: &str) -> Result<Server> {
    let (name, targets) = text
        .split_once('=')
        .ok_or("a server is NAME=PID@ADDRESS:PORT")?;
    let (documents, search) = targets.split_once(',').unwrap_or((targets, targets));
    Ok(Server {
        name: name.to_owned(),
        documents: documents.parse()?,
        search: search.parse()?,
    })
}

impl Server {
    fn target(&self, case: &Case) -> &Target {
        match case.origin {
            Origin::Documents => &self.documents,
            Origin::Search => &self.search,
        }
    }
}

/// A server that has a case's document, and how to ask it.
struct Contender<'s> {
    name: &'s str,
    target: &'s Target,
    request: Vec<u8>,
    rounds: Vec<Round>,
}

fn compare(cases: &[Case], time: Duration, rounds: usize, servers: &[Server]) -> Result<()> {
    println!(
        "{CONNECTIONS} connections, {rounds} rounds of {} s each, in turn; medians; CPU in us per request; ratio: CPU of \
         {} by that of the other\n",
        time.as_secs(),
        servers[0].name,
    );
    println!("| request | bytes | server | CPU | ratio | requests/s |");
    println!("|---|---:|---|---:|---:|---:|");
    for case in cases {
        let expected = case.expected();
        let mut contenders = Vec::new();
        for server in servers {
            let target = server.target(case);
            let Some(request) = ready(case, target)? else {
                continue;
            };
            load(target, &request, expected, time / 4)?;
            contenders.push(Contender {
                name: &server.name,
                target,
                request,
                rounds: Vec::new(),
            });
        }
        for _ in 0..rounds {
            for contender in &mut contenders {
                let round = load(contender.target, &contender.request, expected, time)?;
                contender.rounds.push(round);
            }
        }
        report(case, &contenders)?;
    }
    Ok(())
}

/// Checks that the server answers a case with its bytes, and returns the request; none where it has not got them.
fn ready(case: &Case, target: &Target) -> Result<Option<Vec<u8>>> {
    let plain = case.request(target, None);
    let mut connection = Connection::new(target.address, Expected::Ok);
    connection.send(&plain)?;
    let answer = match connection.receive() {
        Ok(answer) => answer,
        Err(error) if error.to_string().starts_with("HTTP/1.1 404 ") => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if answer.body != case.body {
        let lengths = (answer.body.len(), case.body.len());
        return Err(format!("{}: {}: other bytes {lengths:?}", target.address, case.name).into());
    }
    // A file server has validators of its own.
    if let Some((name, value)) = case.fields.iter().find(|(name, value)| {
        !["etag", "last-modified"].contains(&name.as_str())
            && answer.field(name) != Some(value.as_str())
            && !(case.kind == Kind::Gzip && name == "content-encoding")
    }) {
        let address = target.address;
        return Err(format!("{address}: {}: no {name}: {value}", case.name).into());
    }
    if case.kind != Kind::NotModified {
        return Ok(Some(plain));
    }
    let tag = answer.field("etag").ok_or("no ETag")?.to_owned();
    Ok(Some(case.request(target, Some(&tag))))
}

fn report(case: &Case, contenders: &[Contender]) -> Result<()> {
    let cpu = |contender: &Contender| median(&contender.rounds, |round| round.cpu_us);
    let Some(first) = contenders.first() else {
        return Err(format!("{}: nobody serves it", case.name).into());
    };
    let bytes = match case.kind {
        Kind::NotModified => 0,
        Kind::Plain | Kind::Gzip => case.body.len(),
    };
    for contender in contenders {
        record_rounds(case, contender)?;
        println!(
            "| {} | {bytes} | {} | {:.2} | {:.2} | {:.0} |",
            case.name,
            contender.name,
            cpu(contender),
            cpu(first) / cpu(contender),
            median(&contender.rounds, |round| round.per_second),
        );
    }
    Ok(())
}

/// Appends a contender's rounds to the file that `CSV` names, as `benches/plot.py` reads them: requests per second of CPU.
fn record_rounds(case: &Case, contender: &Contender) -> Result<()> {
    let Ok(path) = std::env::var("CSV") else {
        return Ok(());
    };
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    for (run, round) in contender.rounds.iter().enumerate() {
        let rate = 1_000_000.0 / round.cpu_us;
        let (group, series) = (&case.name, contender.name);
        writeln!(file, "\"{group}\",{series},{},{rate:.0}", run + 1)?;
    }
    Ok(())
}
