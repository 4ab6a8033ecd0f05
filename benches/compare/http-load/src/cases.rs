//! What is asked of the servers: recorded from a running reviewd, for the peers to serve the same bytes.
//!
//! The folder holds `index.tsv`, a line for each document (target, file, file of the gzip variant or `-`), the files,
//! beside each the header fields of its replies (`FILE.fields` of the 200, `FILE.304` of the 304), and in `root` those of
//! them that a file server can serve under their own names.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use load::{Answer, Connection, Expected, Result, Target};

/// How a document is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Once more, whole.
    Plain,
    /// With the entity-tag that the server gave.
    NotModified,
    /// Its gzip variant.
    Gzip,
}

/// Which of the two recorded services has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Documents,
    Search,
}

/// One row of the comparison.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) origin: Origin,
    target: String,
    /// The header fields that every server on a library has to answer with.
    pub(crate) fields: Vec<(String, String)>,
    /// The body that every server has to answer with.
    pub(crate) body: Vec<u8>,
}

/// A row before its target is known: its name, how and where it is asked for, and the target.
type Plan = (&'static str, Kind, Origin, &'static str);

/// The rows. `{day}` is a day since which there are about 20 reviews.
const PLANS: [Plan; 8] = {
    use Kind::{Gzip, NotModified, Plain};
    use Origin::{Documents, Search};
    [
        ("small document", Plain, Documents, "/favicon.svg"),
        ("document of 5 to 10 KB", Plain, Documents, JSON_LD),
        ("304", NotModified, Documents, JSON_LD),
        ("large document", Plain, Documents, REVIEWS),
        ("large document, gzip", Gzip, Documents, REVIEWS),
        ("since, about 20", Plain, Documents, SINCE),
        ("search, filters", Plain, Search, FILTERS),
        ("search, text", Plain, Search, TEXT),
    ]
};

const JSON_LD: &str = "/reviews.jsonld";
const REVIEWS: &str = "/reviews.json";
const SINCE: &str = "/api/reviews/since/{day}";
const FILTERS: &str = "/api/reviews/search?min_rating=4&limit=20";
const TEXT: &str = "/api/reviews/search?query=call&limit=20";

/// How the gzip variant is asked for.
const GZIP: &str = "Accept-Encoding: gzip\r\n";
/// Longest wait for a gzip variant to be made.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between two looks for it.
const PAUSE: Duration = Duration::from_millis(200);

/// Reviews that "about 20" may be.
const ABOUT_20: std::ops::RangeInclusive<usize> = 15..=40;

impl Case {
    pub(crate) fn expected(&self) -> Expected {
        match self.kind {
            Kind::NotModified => Expected::NotModified,
            Kind::Plain | Kind::Gzip => Expected::Ok,
        }
    }

    /// The request to `server`, as a browser's fetch would send it, conditional on `tag` if there is one.
    pub(crate) fn request(&self, server: &Target, tag: Option<&str>) -> Vec<u8> {
        let mut fields = String::new();
        if self.kind == Kind::Gzip {
            fields.push_str(GZIP);
        }
        if let Some(tag) = tag {
            let _ = write!(fields, "If-None-Match: {tag}\r\n");
        }
        request(server.address, &self.target, &fields)
    }
}

fn request(address: SocketAddr, target: &str, fields: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: http-load\r\nAccept: */*\r\n{fields}\r\n")
        .into_bytes()
}

/// Reads what `record` wrote.
pub(crate) fn read(folder: &Path) -> Result<Vec<Case>> {
    let index = fs::read_to_string(folder.join("index.tsv"))?;
    let mut cases = Vec::new();
    for (name, kind, origin, planned) in PLANS {
        let is_planned = |target: &str| match planned.strip_suffix("{day}") {
            Some(prefix) => target.starts_with(prefix),
            None => target == planned,
        };
        let line = index
            .lines()
            .find(|line| line.split('\t').next().is_some_and(is_planned))
            .ok_or_else(|| format!("{planned} is not recorded"))?;
        let [target, plain, gzip] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("index.tsv: not three columns: {line}").into());
        };
        let fields = fs::read_to_string(folder.join(format!("{plain}.fields")))?;
        let file = if kind == Kind::Gzip { gzip } else { plain };
        cases.push(Case {
            name,
            kind,
            origin,
            target: target.to_owned(),
            fields: lines(&fields),
            body: fs::read(folder.join(file))?,
        });
    }
    Ok(cases)
}

/// Asks two services for the documents of all rows and writes them to `folder`.
pub(crate) fn record(folder: &Path, documents: SocketAddr, search: SocketAddr) -> Result<()> {
    fs::create_dir_all(folder.join("root"))?;
    let day = day(documents)?;
    let mut index = String::new();
    let mut seen = Vec::new();
    for (number, (_, _, origin, planned)) in PLANS.iter().enumerate() {
        let address = match origin {
            Origin::Documents => documents,
            Origin::Search => search,
        };
        let target = planned.replace("{day}", &day);
        if seen.contains(&target) {
            continue;
        }
        let (fields, body) = fetch(address, &target, "")?;
        let mut coded = fetch(address, &target, GZIP)?.1;
        // Variants are made in the background after the service has begun to answer.
        let begin = Instant::now();
        while coded == body && needs_gzip(&target) && begin.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
            coded = fetch(address, &target, GZIP)?.1;
        }
        let (plain, mut gzip) = (format!("{number}"), "-".to_owned());
        fs::write(folder.join(&plain), &body)?;
        fs::write(folder.join(format!("{plain}.fields")), &fields)?;
        let tag = lines(&fields)
            .into_iter()
            .find(|(name, _)| name == "etag")
            .ok_or("no ETag")?;
        let fresh = fresh(address, &target, &tag.1)?;
        fs::write(folder.join(format!("{plain}.304")), fresh)?;
        if coded != body {
            gzip = format!("{number}.gz");
            fs::write(folder.join(&gzip), &coded)?;
        }
        if *origin == Origin::Documents && !target.starts_with("/api/") {
            let served = folder.join("root").join(target.trim_start_matches('/'));
            fs::write(&served, &body)?;
            if gzip != "-" {
                fs::write(format!("{}.gz", served.display()), &coded)?;
            }
        }
        let _ = writeln!(index, "{target}\t{plain}\t{gzip}");
        seen.push(target);
    }
    fs::write(folder.join("index.tsv"), index)?;
    Ok(())
}

/// Whether a row compares the gzip variant of this target.
fn needs_gzip(target: &str) -> bool {
    let mut plans = PLANS.iter();
    plans.any(|(_, kind, _, planned)| *kind == Kind::Gzip && *planned == target)
}

/// A day since which the service has about 20 reviews, looked for among the days of the newest ones.
fn day(service: SocketAddr) -> Result<String> {
    let (_, body) = fetch(service, "/api/reviews/search?limit=100", "")?;
    let body = String::from_utf8(body)?;
    let mut days: Vec<&str> = body
        .split("\"verified\"")
        .filter_map(|review| review.split_once("\"date\":\"")?.1.get(..10))
        .collect();
    days.dedup();
    for day in days {
        let (_, since) = fetch(service, &format!("/api/reviews/since/{day}"), "")?;
        let since = String::from_utf8(since)?;
        let found = since.matches("\"verified\"").count();
        if ABOUT_20.contains(&found) {
            return Ok(day.to_owned());
        }
    }
    Err("no day since which there are about 20 reviews".into())
}

/// Asks for a document; returns the fields of its reply, a line each, and its body.
fn fetch(address: SocketAddr, target: &str, fields: &str) -> Result<(String, Vec<u8>)> {
    let mut connection = Connection::new(address, Expected::Ok);
    connection.send(&request(address, target, fields))?;
    let answer = connection
        .receive()
        .map_err(|error| format!("{target}: {error}"))?;
    Ok((render(&answer), answer.body.to_vec()))
}

/// Asks for a document that has not changed; returns the fields of the reply.
fn fresh(address: SocketAddr, target: &str, tag: &str) -> Result<String> {
    let mut connection = Connection::new(address, Expected::NotModified);
    connection.send(&request(
        address,
        target,
        &format!("If-None-Match: {tag}\r\n"),
    ))?;
    Ok(render(&connection.receive()?))
}

/// Writes the fields that are the document's, a line each; the others every server sets by itself.
fn render(answer: &Answer<'_>) -> String {
    let mut text = String::new();
    for (name, value) in answer.fields() {
        if !["date", "content-length", "connection"].contains(&name) {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    text
}

fn lines(fields: &str) -> Vec<(String, String)> {
    let pairs = fields.lines().filter_map(|line| line.split_once(": "));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
