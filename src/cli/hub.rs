//! `reviewd hub`: lists, shows, removes, retries and copies subscriptions.
//!
//! It works on the state directory or the database, and needs no running service; a running one notices within a second.
//! Secrets, and the queries of callbacks, which often are capabilities, are never printed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

use super::exit::{Failure, Status, print, tell};
use super::hub_flags::store_location;
use super::values::Secret;
use crate::clock;
use crate::hub::store::{
    AdminCommand, CopyReport, FILE_NAME, Listed, Store, StoreError, TOMBSTONES_MAX, Tombstone,
    WaitingRequest,
};
use crate::hub::subscription::{Ended, Phase};
use crate::hub::{Moment, StoreLocation};
use crate::wire::date::Timestamp;

/// Flags of `hub`.
#[derive(Debug, Args)]
pub(super) struct HubArgs {
    #[command(subcommand)]
    action: Action,
    /// The database that replicas share, instead of the state directory
    #[arg(
        long,
        global = true,
        env = "REVIEWD_STORE",
        value_name = "URL",
        hide_env_values = true
    )]
    store: Option<Secret>,
    /// The state directory
    #[arg(
        long,
        global = true,
        env = "REVIEWD_STATE",
        value_name = "DIR",
        default_value = "state"
    )]
    state: PathBuf,
    /// Output format: lines of text, or one JSON object
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the subscriptions, by id
    List {
        /// List those that ended instead, the latest first
        #[arg(long)]
        removed: bool,
        /// List the requests that wait for verification instead, the oldest first
        #[arg(long, conflicts_with = "removed")]
        requests: bool,
    },
    /// Show one subscription
    Show {
        /// Its id
        id: i64,
    },
    /// End one subscription, and notify the subscriber
    Remove {
        /// Its id
        id: i64,
    },
    /// Deliver pending content of a subscription now, without waiting for its next attempt
    Retry {
        /// Its id
        id: i64,
    },
    /// Copy the subscriptions of the state directory into the database (--store), for a hub that moves there; of two states of
    /// one subscription the later counts, so a repetition is harmless
    Copy,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line for each subscription
    Text,
    /// One object
    Json,
}

/// Runs the action and prints its result.
///
/// # Errors
/// `NoInput` without a state or such a subscription, `Data` for a damaged state, `Io` and `Unavailable` as the disk
/// and other processes have it.
pub(super) fn run(args: &HubArgs) -> Result<(), Failure> {
    let place = store_location(args.store.as_ref(), &args.state)?;
    let mut store = open(&place)?;
    let (store, format) = (&mut store, args.format);
    let out = match &args.action {
        Action::Copy => copy(&place, store, args)?,
        Action::List { removed: true, .. } => list_removed(store)?.render(format, Map::new()),
        Action::List { requests: true, .. } => list_requests(store)?.render(format, Map::new()),
        Action::List { .. } => {
            let is_paused = store.is_paused(now()).map_err(|error| failure(&error))?;
            if is_paused && format == Format::Text {
                tell("deliveries are paused: most callback hosts cannot be reached");
            }
            let paused = ("deliveries_paused".to_owned(), Value::Bool(is_paused));
            list(store)?.render(format, Map::from_iter([paused]))
        }
        Action::Show { id } => show(store, *id, format)?,
        Action::Remove { id } => apply_admin(store, *id, AdminCommand::Remove, format)?,
        Action::Retry { id } => apply_admin(store, *id, AdminCommand::Retry, format)?,
    };
    print(out.as_bytes())
}

/// Opens a store that is there.
fn open(place: &StoreLocation) -> Result<Store, Failure> {
    if let StoreLocation::Directory(directory) = place
        && !directory.join(FILE_NAME).exists()
    {
        let message = format!(
            "there is no {FILE_NAME} in {} (--state)",
            directory.display()
        );
        return Err(Failure::new(Status::NoInput, message));
    }
    place.open().map_err(|error| failure(&error))
}

/// Copies the state directory into `store`, while no service delivers from that directory.
fn copy(place: &StoreLocation, store: &mut Store, args: &HubArgs) -> Result<String, Failure> {
    if !place.is_shared() {
        let message = "--store: `hub copy` needs the database that the subscriptions move to";
        return Err(Failure::new(Status::Usage, message.to_owned()));
    }
    let directory = StoreLocation::Directory(args.state.clone());
    let mut source = open(&directory)?;
    if !source.try_take_role().map_err(|error| failure(&error))? {
        let message = format!("{directory}: a service still delivers from it; stop that first");
        return Err(Failure::new(Status::Unavailable, message));
    }
    let report = store.copy_from(&mut source, now());
    let CopyReport {
        copied,
        known,
        requests,
    } = report.map_err(|error| failure(&error))?;
    Ok(match args.format {
        Format::Text => format!(
            "{copied} subscriptions are copied, {known} were there before, {requests} requests wait for verification\n"
        ),
        Format::Json => format!(
            "{}\n",
            json!({"copied": copied, "known": known, "requests": requests})
        ),
    })
}

fn list(store: &mut Store) -> Result<Table, Failure> {
    let mut all = Vec::new();
    loop {
        let after = all.last().map_or(0, |listed: &Listed| listed.id);
        let page = store.list(after, PAGE).map_err(|error| failure(&error))?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            break;
        }
    }
    let rows = all.iter().map(|listed| {
        let Listed {
            id,
            topic,
            owed,
            state,
            callback,
            ..
        } = listed;
        let (host, lease_end) = (callback.host(), time(state.lease_end));
        let (owed, failures) = (if *owed { "yes" } else { "no" }, state.failures);
        let last = last(state.last.as_ref());
        let text = format!("{id}\t{host}\t{topic}\t{lease_end}\t{owed}\t{failures}\t{last}");
        (text, render_listed(listed))
    });
    Ok(Table {
        key: "subscriptions",
        heading: "id\thost\ttopic\tlease ends\towed\tfailures\tlast",
        rows: rows.collect(),
    })
}

fn list_removed(store: &mut Store) -> Result<Table, Failure> {
    let stones = store
        .tombstones(TOMBSTONES_MAX)
        .map_err(|error| failure(&error))?;
    let rows = stones.iter().map(|stone| {
        let Tombstone {
            id,
            host,
            topic,
            at,
            removal,
            last: ended,
            ..
        } = stone;
        let (at, last) = (time(*at), last(ended.as_ref()));
        let text = format!("{id}\t{host}\t{topic}\t{at}\t{removal}\t{last}");
        (text, render_tombstone(stone))
    });
    Ok(Table {
        key: "removed",
        heading: "id\thost\ttopic\tended\treason\tlast",
        rows: rows.collect(),
    })
}

/// Lists the requests that wait for verification, the oldest first.
fn list_requests(store: &mut Store) -> Result<Table, Failure> {
    let waiting = store
        .requests(usize::MAX)
        .map_err(|error| failure(&error))?;
    let rows = waiting.iter().map(|request| {
        let WaitingRequest {
            id, topic, state, ..
        } = request;
        let (mode, host) = (request.mode.as_str(), request.callback.host().to_string());
        let (at, attempts) = (time(state.created_at), state.attempt);
        let last = state.last.as_ref().map(|last| last.answer.to_string());
        let json = json!({
            "id": id,
            "mode": mode,
            "topic": topic,
            "host": host,
            "accepted_at": at,
            "attempts": attempts,
            "last_status": last,
        });
        let last = last.unwrap_or_else(|| "none".to_owned());
        let text = format!("{id}\t{mode}\t{host}\t{topic}\t{at}\t{attempts}\t{last}");
        (text, json)
    });
    Ok(Table {
        key: "requests",
        heading: "id\tmode\thost\ttopic\taccepted\tattempts\tlast",
        rows: rows.collect(),
    })
}

/// A list, each row as text and as JSON.
struct Table {
    key: &'static str,
    heading: &'static str,
    rows: Vec<(String, Value)>,
}

impl Table {
    /// Renders the list; `more` are keys that stand before it in JSON.
    fn render(self, format: Format, mut more: Map<String, Value>) -> String {
        match format {
            Format::Json => {
                let rows = self.rows.into_iter().map(|(_, json)| json);
                more.insert(self.key.to_owned(), rows.collect());
                format!("{}\n", Value::Object(more))
            }
            Format::Text => {
                let rows = self.rows.iter().map(|(text, _)| format!("{text}\n"));
                format!("{}\n{}", self.heading, rows.collect::<String>())
            }
        }
    }
}

fn show(store: &mut Store, id: i64, format: Format) -> Result<String, Failure> {
    let found = store
        .list(id.saturating_sub(1), 1)
        .map_err(|error| failure(&error))?;
    let Some(listed) = found.into_iter().find(|listed| listed.id == id) else {
        return Err(unknown(store, id));
    };
    if format == Format::Json {
        return Ok(format!("{}\n", render_listed(&listed)));
    }
    let state = &listed.state;
    let signed = if state.secret.is_some() { "yes" } else { "no" };
    let next = match listed.owed {
        true if state.claimed => "under way".to_owned(),
        true if state.next_at <= now() => "now".to_owned(),
        true => time(state.next_at),
        false => "at the next change".to_owned(),
    };
    let lease = match state.phase {
        Phase::Active { lease_s } | Phase::Pending { lease_s } => format!("{lease_s} s"),
        Phase::Unsubscribing => {
            "unsubscribed, leaves when the delivery under way has ended".to_owned()
        }
    };
    let lines = [
        ("id", id.to_string()),
        ("topic", listed.topic.clone()),
        ("callback", listed.callback.without_query()),
        ("signed", signed.to_owned()),
        ("active since", time(state.created_at)),
        ("verified", time(state.verified_at)),
        ("lease ends", time(state.lease_end)),
        ("lease", lease),
        ("owed", if listed.owed { "yes" } else { "no" }.to_owned()),
        ("next attempt", next),
        ("failures", state.failures.to_string()),
        ("last attempt", last(state.last.as_ref())),
        ("it took", format!("{} ms", state.elapsed_ms)),
    ];
    Ok(lines
        .map(|(name, value)| format!("{name}\t{value}\n"))
        .concat())
}

fn apply_admin(
    store: &mut Store,
    id: i64,
    order: AdminCommand,
    format: Format,
) -> Result<String, Failure> {
    let found = store
        .apply_admin(id, order, now())
        .map_err(|error| failure(&error))?;
    if !found {
        return Err(unknown(store, id));
    }
    let done = match order {
        AdminCommand::Remove => "removed",
        AdminCommand::Retry => "due now",
    };
    Ok(match format {
        Format::Text => format!("subscription {id} is {done}\n"),
        Format::Json => format!("{}\n", json!({"id": id, "done": done})),
    })
}

fn render_listed(listed: &Listed) -> Value {
    let state = &listed.state;
    let lease_s = match state.phase {
        Phase::Active { lease_s } | Phase::Pending { lease_s } => lease_s,
        Phase::Unsubscribing => 0,
    };
    json!({
        "id": listed.id,
        "topic": listed.topic,
        "callback": listed.callback.without_query(),
        "signed": state.secret.is_some(),
        "created_at": time(state.created_at),
        "verified_at": time(state.verified_at),
        "lease_end": time(state.lease_end),
        "lease_seconds": lease_s,
        "owed": listed.owed,
        "failures": state.failures,
        "last_at": state.last.as_ref().map(|last| time(last.at)),
        "last_status": state.last.as_ref().map(|last| last.answer.to_string()),
        "elapsed_ms": state.elapsed_ms,
    })
}

fn render_tombstone(stone: &Tombstone) -> Value {
    json!({
        "id": stone.id,
        "topic": stone.topic,
        "host": stone.host,
        "reason": stone.removal.as_str(),
        "created_at": time(stone.created_at),
        "ended_at": time(stone.at),
        "last_at": stone.last.as_ref().map(|last| time(last.at)),
        "last_status": stone.last.as_ref().map(|last| last.answer.to_string()),
    })
}

fn last(last: Option<&Ended>) -> String {
    last.map_or_else(
        || "never".to_owned(),
        |last| format!("{} at {}", last.answer, time(last.at)),
    )
}

fn time(moment: Moment) -> String {
    let rendered = Timestamp::from_unix(moment.unix_ms().div_euclid(1000)).render_rfc3339();
    String::from_utf8_lossy(&rendered).into_owned()
}

fn now() -> Moment {
    Moment::from_unix_ms(clock::unix_ms())
}

/// The failure for an unknown subscription: none of this id, or when and why it ended.
fn unknown(store: &mut Store, id: i64) -> Failure {
    let stones = store.tombstones(TOMBSTONES_MAX).unwrap_or_default();
    let message = match stones.iter().find(|stone| stone.id == id) {
        None => format!("there is no subscription {id}; `reviewd hub list` names them"),
        Some(stone) => {
            let (host, at) = (&stone.host, time(stone.at));
            let (reason, last) = (stone.removal, last(stone.last.as_ref()));
            format!("subscription {id} of {host} ended at {at}: {reason} (last attempt: {last})")
        }
    };
    Failure::new(Status::NoInput, message)
}

/// Finds the exit status for a store that cannot be used.
pub(super) fn failure(error: &StoreError) -> Failure {
    let status = match error {
        StoreError::Corrupt(..) | StoreError::Foreign(_) | StoreError::Newer(..) => Status::Data,
        StoreError::Busy(_) | StoreError::Unreachable(..) => Status::Unavailable,
        StoreError::Refused(..) => Status::Config,
        StoreError::QuotaExceeded(_) | StoreError::ReadOnly(_) | StoreError::Io(..) => Status::Io,
    };
    Failure::new(status, error.to_string())
}

/// Subscriptions read at a time.
const PAGE: usize = 1_000;
