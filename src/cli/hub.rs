//! `reviewd hub`: lists, shows, removes, retries and copies subscriptions, and lists and removes requests.
//!
//! It uses the state directory or the database directly, without a running service; a running one applies changes
//! within a second. Secrets, and the queries of callbacks, which are often capabilities, are never printed.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::config::store_location;
use super::exit::{Failure, Status, print};
use super::values::{OutputFormat, SecretFlag};
use crate::clock;
use crate::hub::store::{
    AdminCommand, DbError, FILE_NAME, Rejection, Store, StoreError, StoredSubscription,
    TOMBSTONES_MAX, Tombstone, WaitingRequest,
};
use crate::hub::subscription::Phase;
use crate::hub::{StoreLocation, UnixMillis};
use crate::wire::date::Timestamp;

/// Most columns of a table in text; JSON has all members of a row.
const COLUMNS_MAX: usize = 9;

#[derive(Args)]
pub(super) struct HubArgs {
    #[command(subcommand)]
    action: HubAction,
    /// The database that replicas share, instead of the state directory
    #[arg(long, global = true, value_name = "URL", hide_env_values = true)]
    store: Option<SecretFlag>,
    /// The state directory
    #[arg(long, global = true, value_name = "DIR", default_value = "state")]
    state: PathBuf,
    /// Output format: lines of text, or one JSON object
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

#[derive(Subcommand)]
enum HubAction {
    /// List the subscriptions, by id
    List(ListArgs),
    /// Show one subscription
    Show(One),
    /// End one subscription, and notify the subscriber; or remove a request that waits for verification
    Remove(RemoveArgs),
    /// Deliver pending content of a subscription now, without waiting for its next attempt
    Retry(One),
    /// Copy the subscriptions of the state directory into the database (--store); if both have a subscription, the
    /// later state is kept, so copying again is harmless
    Copy,
}

/// What to list.
#[derive(Args)]
struct ListArgs {
    /// List what ended instead, the latest first: subscriptions, and requests that were never confirmed
    #[arg(long)]
    removed: bool,
    /// List the requests that wait for verification instead, the oldest first
    #[arg(long, conflicts_with = "removed")]
    requests: bool,
    /// List only those whose callback has this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

/// What to remove.
#[derive(Args)]
struct RemoveArgs {
    /// Its id, as `list` prints it
    id: i64,
    /// Remove the request with this id, as `list --requests` prints it
    #[arg(long)]
    request: bool,
}

/// One subscription.
#[derive(Args)]
struct One {
    /// Its id, as `list` prints it
    id: i64,
}

/// The result of an action in each format.
struct ActionResult {
    json: Value,
    text: String,
}

/// Runs the action and prints its result.
///
/// # Errors
/// - `NoInput` if there is no state, or no subscription or request with the id.
/// - `Data` if the state is damaged or of a later version.
/// - `Io` for errors of the disk or of the output.
/// - `Unavailable` if another process uses the state, or the database cannot be reached.
/// - `Config` if the address of the database is invalid, or the database cannot be used as it is configured.
/// - `Usage` for a copy without a database.
pub(super) fn run(args: &HubArgs) -> Result<(), Failure> {
    let location = store_location(args.store.as_ref(), &args.state)?;
    let mut store = open(&location)?;
    let result = match &args.action {
        HubAction::Copy => copy(&location, &mut store, &args.state)?,
        HubAction::List(list_args) => list(&mut store, list_args)?,
        HubAction::Show(One { id }) => show(&mut store, *id)?,
        HubAction::Remove(RemoveArgs { id, request: true }) => remove_request(&mut store, *id)?,
        HubAction::Remove(RemoveArgs { id, request: false }) => {
            apply(&mut store, *id, AdminCommand::Remove)?
        }
        HubAction::Retry(One { id }) => apply(&mut store, *id, AdminCommand::Retry)?,
    };
    let out = match args.format {
        OutputFormat::Text => result.text,
        OutputFormat::Json => format!("{}\n", result.json),
    };
    print(out.as_bytes())
}

/// Opens an existing store.
fn open(location: &StoreLocation) -> Result<Store, Failure> {
    if let StoreLocation::Directory(directory) = location
        && !directory.join(FILE_NAME).exists()
    {
        let message = format!("there is no {FILE_NAME} in {location} (--state)");
        return Err(Failure::new(Status::NoInput, message));
    }
    Ok(location.open()?)
}

/// Lists subscriptions, requests, or what has ended; as text it is a table.
fn list(store: &mut Store, args: &ListArgs) -> Result<ActionResult, Failure> {
    // Hosts are stored in lower case.
    let lower_case = args.host.as_ref().map(|host| host.to_ascii_lowercase());
    let host = lower_case.as_deref();
    if args.removed {
        let rows = ended_rows(store, host)?;
        let text = table_or(&rows, "nothing has ended");
        return Ok(ActionResult {
            json: json!({"removed": rows}),
            text,
        });
    }
    if args.requests {
        let requests = store.requests(host, usize::MAX)?;
        let rows: Vec<Value> = requests.iter().map(request_row).collect();
        let text = table_or(&rows, "no pending requests");
        return Ok(ActionResult {
            json: json!({"requests": rows}),
            text,
        });
    }
    let subscriptions = match host {
        Some(host) => store.list_host(host)?,
        None => store.list(0, usize::MAX)?,
    };
    let rows: Vec<Value> = subscriptions.iter().map(subscription_row).collect();
    let text = table_or(&rows, "no subscriptions");
    Ok(ActionResult {
        json: json!({"subscriptions": rows}),
        text,
    })
}

/// Returns the rows of ended subscriptions and rejected requests, the latest first.
fn ended_rows(store: &mut Store, host: Option<&str>) -> Result<Vec<Value>, Failure> {
    let mut ended: Vec<(UnixMillis, Value)> = Vec::new();
    for stone in store.tombstones(host, TOMBSTONES_MAX)? {
        ended.push((stone.at, removed_row(&stone)));
    }
    for rejection in store.rejections(host, TOMBSTONES_MAX)? {
        ended.push((rejection.at, rejected_row(&rejection)));
    }
    ended.sort_by_key(|(at, _)| Reverse(at.as_ms()));
    Ok(ended.into_iter().map(|(_, row)| row).collect())
}

/// Returns a subscription; as text each member is a line.
fn show(store: &mut Store, id: i64) -> Result<ActionResult, Failure> {
    // The list goes on after an id.
    let found = store.list(id.saturating_sub(1), 1)?;
    let Some(subscription) = found.iter().find(|subscription| subscription.id == id) else {
        return Err(unknown_failure(store, id));
    };
    let row = subscription_row(subscription);
    let lines = cells(&row).map(|(name, value)| format!("{name}\t{value}\n"));
    let text = lines.collect();
    Ok(ActionResult { json: row, text })
}

/// Removes a pending request.
fn remove_request(store: &mut Store, id: i64) -> Result<ActionResult, Failure> {
    if store.remove_request(id, now())?.is_none() {
        let message =
            format!("there is no pending request {id}; `reviewd hub list --requests` lists them");
        return Err(Failure::new(Status::NoInput, message));
    }
    Ok(ActionResult {
        json: json!({"id": id, "done": "removed"}),
        text: format!("request {id} is removed\n"),
    })
}

/// Copies the state directory into `store`; fails while a service delivers from that directory.
fn copy(
    location: &StoreLocation,
    store: &mut Store,
    state: &Path,
) -> Result<ActionResult, Failure> {
    if !location.is_shared() {
        let message = "--store: `hub copy` needs the database that the subscriptions move to";
        return Err(Failure::new(Status::Usage, message));
    }
    let directory = StoreLocation::Directory(state.to_owned());
    let mut source = open(&directory)?;
    if !source.try_take_role()? {
        let message = format!("{directory}: a service still delivers from it; stop it first");
        return Err(Failure::new(Status::Unavailable, message));
    }
    let report = store.copy_from(&mut source, now())?;
    let json = json!({
        "copied": report.copied,
        "known": report.known,
        "requests": report.requests,
    });
    let text = format!(
        "{} subscriptions copied, {} already present, {} requests pending verification\n",
        report.copied, report.known, report.requests
    );
    Ok(ActionResult { json, text })
}

/// Applies a command to one subscription.
fn apply(store: &mut Store, id: i64, command: AdminCommand) -> Result<ActionResult, Failure> {
    let Some(subscription) = store.apply_admin(id, command, now())? else {
        return Err(unknown_failure(store, id));
    };
    let done = match command {
        AdminCommand::Remove => "removed",
        AdminCommand::Retry if subscription.state.claimed => "being delivered",
        AdminCommand::Retry if subscription.is_undelivered => "due now",
        AdminCommand::Retry => "up to date",
    };
    Ok(ActionResult {
        json: json!({"id": id, "done": done}),
        text: format!("subscription {id} is {done}\n"),
    })
}

fn removed_row(stone: &Tombstone) -> Value {
    let last = stone.last.as_ref();
    json!({
        "what": "subscription",
        "id": stone.id,
        "host": stone.host,
        "topic": stone.topic,
        "ended_at": time(stone.at),
        "reason": stone.removal.as_str(),
        "last_status": last.map(|last| last.result.to_string()),
        "last_at": last.map(|last| time(last.at)),
        "created_at": time(stone.created_at),
    })
}

fn rejected_row(rejection: &Rejection) -> Value {
    let last = rejection.last.as_ref();
    json!({
        "what": rejection.mode.as_str(),
        "id": null,
        "host": rejection.host,
        "topic": rejection.topic,
        "ended_at": time(rejection.at),
        "reason": rejection.reason.as_str(),
        "last_status": last.map(|last| last.result.to_string()),
        "last_at": last.map(|last| time(last.at)),
        "created_at": time(rejection.accepted_at),
        "attempts": rejection.attempts,
    })
}

fn request_row(request: &WaitingRequest) -> Value {
    let state = &request.state;
    let last = state.last.as_ref();
    json!({
        "id": request.id,
        "mode": request.mode.as_str(),
        "host": request.callback.host().to_string(),
        "topic": request.topic,
        "accepted_at": time(state.created_at),
        "attempts": state.attempt,
        "last_status": last.map(|last| last.result.to_string()),
        "last_at": last.map(|last| time(last.at)),
        "next_attempt": attempt_time(state.claimed, state.next_at),
        "renewal": request.is_renewal,
    })
}

fn subscription_row(subscription: &StoredSubscription) -> Value {
    let state = &subscription.state;
    let last = state.last.as_ref();
    let lease_s = match state.phase {
        Phase::Active { lease_s } | Phase::Pending { lease_s } => lease_s,
        Phase::Unsubscribing => 0,
    };
    let next_attempt = if state.phase == Phase::Unsubscribing {
        "none: unsubscribed".to_owned()
    } else if !subscription.is_undelivered {
        "at the next change".to_owned()
    } else {
        attempt_time(state.claimed, state.next_at)
    };
    json!({
        "id": subscription.id,
        "host": subscription.callback.host().to_string(),
        "topic": subscription.topic,
        "lease_end": time(state.lease_end),
        "undelivered": subscription.is_undelivered,
        "failures": state.failures,
        "last_status": last.map(|last| last.result.to_string()),
        "last_at": last.map(|last| time(last.at)),
        "next_attempt": next_attempt,
        "callback": subscription.callback.without_query(),
        "signed": state.secret.is_some(),
        "created_at": time(state.created_at),
        "verified_at": time(state.verified_at),
        "lease_seconds": lease_s,
        "elapsed_ms": state.elapsed_ms,
        "acknowledged_at": state.acknowledged_at.map(time),
    })
}

/// Returns when the next attempt is made; `is_claimed` says that it has begun.
fn attempt_time(is_claimed: bool, next_at: UnixMillis) -> String {
    if is_claimed {
        "under way".to_owned()
    } else if next_at <= now() {
        "now".to_owned()
    } else {
        time(next_at)
    }
}

/// Returns rows as a text table; without rows a line that says `nothing`.
fn table_or(rows: &[Value], nothing: &str) -> String {
    if rows.is_empty() {
        return format!("{nothing}\n");
    }
    table(rows)
}

/// Returns rows as a text table: a line of names, then a line for each row with its first [`COLUMNS_MAX`] members.
/// Without rows the text is empty.
fn table(rows: &[Value]) -> String {
    let mut text = String::new();
    let Some(first) = rows.first() else {
        return text;
    };
    let names = cells(first).map(|(name, _)| name.clone());
    push_line(&mut text, names.take(COLUMNS_MAX).collect());
    for row in rows {
        let values = cells(row).map(|(_, value)| value);
        push_line(&mut text, values.take(COLUMNS_MAX).collect());
    }
    text
}

fn push_line(text: &mut String, cells: Vec<String>) {
    text.push_str(&cells.join("\t"));
    text.push('\n');
}

/// Returns the members of a row, with their values as text for people.
fn cells(row: &Value) -> impl Iterator<Item = (&String, String)> {
    let members = row.as_object().into_iter().flatten();
    members.map(|(name, value)| {
        let text = match value {
            Value::Null => "none".to_owned(),
            Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (name, text)
    })
}

/// Returns a time to the second, in UTC.
fn time(at: UnixMillis) -> String {
    Timestamp::from_unix(at.as_ms().div_euclid(1000)).to_string()
}

fn now() -> UnixMillis {
    UnixMillis::new(clock::unix_ms())
}

/// Returns the failure of an action on a subscription that does not exist. If it existed, the message says when and why
/// it ended.
fn unknown_failure(store: &mut Store, id: i64) -> Failure {
    let stones = store.tombstones(None, TOMBSTONES_MAX).unwrap_or_default();
    let message = match stones.iter().find(|stone| stone.id == id) {
        None => format!("there is no subscription {id}; `reviewd hub list` lists them"),
        Some(stone) => {
            let host = &stone.host;
            let reason = stone.removal.as_str();
            let at = time(stone.at);
            let last = match &stone.last {
                None => "never".to_owned(),
                Some(last) => format!("{} at {}", last.result, time(last.at)),
            };
            format!("subscription {id} of {host} ended at {at}: {reason} (last attempt: {last})")
        }
    };
    Failure::new(Status::NoInput, message)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        use DbError as E;
        let status = match error.cause {
            E::Corrupt(_) | E::Foreign(_) => Status::Data,
            E::Busy | E::Unreachable(_) => Status::Unavailable,
            E::Refused(_) => Status::Config,
            E::DiskFull | E::ReadOnly | E::Io(_) => Status::Io,
        };
        Failure::new(status, error.to_string())
    }
}
