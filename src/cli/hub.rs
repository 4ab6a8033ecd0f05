//! `reviewd hub`: lists, shows, removes, retries and copies subscriptions.
//!
//! It works on the state directory or the database, and needs no running service; a running one notices within a second.
//! Secrets, and the queries of callbacks, which often are capabilities, are never printed.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::exit::{Failure, Status, print, tell};
use super::hub_flags::store_location;
use super::values::{OutputFormat, Secret};
use crate::clock;
use crate::hub::store::{
    AdminCommand, CopyReport, FILE_NAME, Listed, Store, StoreError, TOMBSTONES_MAX, Tombstone,
    WaitingRequest,
};
use crate::hub::subscription::{Ended, Phase};
use crate::hub::{Moment, StoreLocation};
use crate::wire::date::Timestamp;

#[derive(Debug, Args)]
pub(super) struct HubArgs {
    #[command(subcommand)]
    action: Action,
    /// The database that replicas share, instead of the state directory
    #[arg(long, global = true, value_name = "URL", hide_env_values = true)]
    store: Option<Secret>,
    /// The state directory
    #[arg(long, global = true, value_name = "DIR", default_value = "state")]
    state: PathBuf,
    /// Output format: lines of text, or one JSON object
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
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
        Action::List { removed: true, .. } => list_removed(store, format)?,
        Action::List { requests: true, .. } => list_requests(store, format)?,
        Action::List { .. } => list(store, format)?,
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
        let message = format!("there is no {FILE_NAME} in {place} (--state)");
        return Err(Failure::new(Status::NoInput, message));
    }
    Ok(place.open()?)
}

/// Copies the state directory into `store`, while no service delivers from that directory.
fn copy(place: &StoreLocation, store: &mut Store, args: &HubArgs) -> Result<String, Failure> {
    if !place.is_shared() {
        let message = "--store: `hub copy` needs the database that the subscriptions move to";
        return Err(Failure::new(Status::Usage, message));
    }
    let directory = StoreLocation::Directory(args.state.clone());
    let mut source = open(&directory)?;
    if !source.try_take_role()? {
        let message = format!("{directory}: a service still delivers from it; stop that first");
        return Err(Failure::new(Status::Unavailable, message));
    }
    let CopyReport {
        copied,
        known,
        requests,
    } = store.copy_from(&mut source, now())?;
    Ok(match args.format {
        OutputFormat::Text => format!(
            "{copied} subscriptions are copied, {known} were there before, {requests} requests wait for verification\n"
        ),
        OutputFormat::Json => {
            let json = json!({"copied": copied, "known": known, "requests": requests});
            format!("{json}\n")
        }
    })
}

fn list(store: &mut Store, format: OutputFormat) -> Result<String, Failure> {
    let is_paused = store.is_paused(now())?;
    if is_paused && format == OutputFormat::Text {
        tell("deliveries are paused: most callback hosts cannot be reached");
    }
    let (mut rows, mut after) = (Vec::new(), 0);
    loop {
        let page = store.list(after, PAGE)?;
        rows.extend(page.iter().map(subscription_row));
        match page.last() {
            Some(last) if page.len() == PAGE => after = last.id,
            _ => break,
        }
    }
    let paused = vec![("deliveries_paused", is_paused.into())];
    Ok(render_list("subscriptions", rows, paused, format))
}

fn list_removed(store: &mut Store, format: OutputFormat) -> Result<String, Failure> {
    let row = |stone: &Tombstone| {
        let [last_status, last_at] = last_attempt(stone.last.as_ref());
        vec![
            ("id", json!(stone.id)),
            ("host", json!(stone.host)),
            ("topic", json!(stone.topic)),
            ("ended_at", time(stone.at)),
            ("reason", json!(stone.removal.as_str())),
            last_status,
            last_at,
            ("created_at", time(stone.created_at)),
        ]
    };
    let stones = store.tombstones(TOMBSTONES_MAX)?;
    let rows = stones.iter().map(row).collect();
    Ok(render_list("removed", rows, Row::new(), format))
}

/// Lists the requests that wait for verification, the oldest first.
fn list_requests(store: &mut Store, format: OutputFormat) -> Result<String, Failure> {
    let row = |request: &WaitingRequest| {
        let [last_status, last_at] = last_attempt(request.state.last.as_ref());
        vec![
            ("id", json!(request.id)),
            ("mode", json!(request.mode.as_str())),
            ("host", json!(request.callback.host().to_string())),
            ("topic", json!(request.topic)),
            ("accepted_at", time(request.state.created_at)),
            ("attempts", json!(request.state.attempt)),
            last_status,
            last_at,
        ]
    };
    let waiting = store.requests(usize::MAX)?;
    let rows = waiting.iter().map(row).collect();
    Ok(render_list("requests", rows, Row::new(), format))
}

/// Shows all that is known of one subscription.
fn show(store: &mut Store, id: i64, format: OutputFormat) -> Result<String, Failure> {
    let found = store.list(id.saturating_sub(1), 1)?;
    let Some(listed) = found.iter().find(|listed| listed.id == id) else {
        return Err(unknown(store, id));
    };
    let row = subscription_row(listed);
    let line = |(name, value): &(&str, Value)| format!("{name}\t{}\n", text(value));
    Ok(match format {
        OutputFormat::Json => format!("{}\n", object(row)),
        OutputFormat::Text => row.iter().map(line).collect(),
    })
}

/// A row as names and values. JSON has all of them; a list printed as text has the first [`COLUMNS`].
type Row = Vec<(&'static str, Value)>;

fn subscription_row(listed: &Listed) -> Row {
    let state = &listed.state;
    let lease_s = match state.phase {
        Phase::Active { lease_s } | Phase::Pending { lease_s } => lease_s,
        Phase::Unsubscribing => 0,
    };
    let next_attempt = match listed.owed {
        _ if state.phase == Phase::Unsubscribing => json!("none: unsubscribed"),
        true if state.claimed => json!("under way"),
        true if state.next_at <= now() => json!("now"),
        true => time(state.next_at),
        false => json!("at the next change"),
    };
    let [last_status, last_at] = last_attempt(state.last.as_ref());
    vec![
        ("id", json!(listed.id)),
        ("host", json!(listed.callback.host().to_string())),
        ("topic", json!(listed.topic)),
        ("lease_end", time(state.lease_end)),
        ("owed", json!(listed.owed)),
        ("failures", json!(state.failures)),
        last_status,
        last_at,
        ("callback", json!(listed.callback.without_query())),
        ("signed", json!(state.secret.is_some())),
        ("created_at", time(state.created_at)),
        ("verified_at", time(state.verified_at)),
        ("lease_seconds", json!(lease_s)),
        ("next_attempt", next_attempt),
        ("elapsed_ms", json!(state.elapsed_ms)),
    ]
}

fn last_attempt(last: Option<&Ended>) -> [(&'static str, Value); 2] {
    let status = last.map(|last| last.answer.to_string());
    let at = last.map_or(Value::Null, |last| time(last.at));
    [("last_status", json!(status)), ("last_at", at)]
}

/// Renders a list. In JSON, the members of `more` come before it.
fn render_list(key: &'static str, rows: Vec<Row>, mut more: Row, format: OutputFormat) -> String {
    if format == OutputFormat::Json {
        more.push((key, rows.into_iter().map(object).collect()));
        return format!("{}\n", object(more));
    }
    let line = |cells: Vec<String>| cells.join("\t") + "\n";
    let heading = rows.first().map(|row| {
        let names = row.iter().take(COLUMNS).map(|(name, _)| (*name).to_owned());
        line(names.collect())
    });
    let lines = rows.iter().map(|row| {
        let values = row.iter().take(COLUMNS).map(|(_, value)| text(value));
        line(values.collect())
    });
    heading.into_iter().chain(lines).collect()
}

fn object(row: Row) -> Value {
    let owned = |(name, value): (&str, Value)| (name.to_owned(), value);
    Value::Object(row.into_iter().map(owned).collect())
}

/// Returns a value as people read it.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn apply_admin(
    store: &mut Store,
    id: i64,
    order: AdminCommand,
    format: OutputFormat,
) -> Result<String, Failure> {
    if !store.apply_admin(id, order, now())? {
        return Err(unknown(store, id));
    }
    let done = match order {
        AdminCommand::Remove => "removed",
        AdminCommand::Retry => "due now",
    };
    Ok(match format {
        OutputFormat::Text => format!("subscription {id} is {done}\n"),
        OutputFormat::Json => format!("{}\n", json!({"id": id, "done": done})),
    })
}

fn time(moment: Moment) -> Value {
    json!(Timestamp::from_unix(moment.unix_ms().div_euclid(1000)).to_string())
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
            let (host, reason, at) = (&stone.host, stone.removal, text(&time(stone.at)));
            let last = match &stone.last {
                None => "never".to_owned(),
                Some(last) => format!("{} at {}", last.answer, text(&time(last.at))),
            };
            format!("subscription {id} of {host} ended at {at}: {reason} (last attempt: {last})")
        }
    };
    Failure::new(Status::NoInput, message)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        use StoreError::{
            Busy, Corrupt, DiskFull, Foreign, Io, Newer, ReadOnly, Refused, Unreachable,
        };
        let status = match error {
            Corrupt(..) | Foreign(_) | Newer(..) => Status::Data,
            Busy(_) | Unreachable(..) => Status::Unavailable,
            Refused(..) => Status::Config,
            DiskFull(_) | ReadOnly(_) | Io(..) => Status::Io,
        };
        Failure::new(status, error.to_string())
    }
}

/// Names and values of each row that a list shows in text.
const COLUMNS: usize = 8;

/// Subscriptions read at a time.
const PAGE: usize = 1_000;
