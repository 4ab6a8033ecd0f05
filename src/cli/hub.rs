//! `reviewd hub`: the operator's view of the subscriptions, and two things to do about one.
//!
//! It works on the state directory, or on the database, and needs no running service; those that run notice within a
//! second. Neither secrets nor the queries of callbacks, which often are capabilities, are ever printed; `export` alone
//! writes them.

mod requests;
mod transfer;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::exit::{Failure, Status, print, tell};
use super::hub_flags::store_location;
use super::values::Secret;
use crate::clock;
use crate::websub::policy::Policy;
use crate::websub::sqlite::FILE_NAME;
use crate::websub::store::{Listed, Order, Store, StoreError, TOMBSTONES_MAX, Tombstone};
use crate::websub::subscription::{Ended, Subscription};
use crate::websub::{Moment, Place};
use crate::wire::date::Timestamp;
use crate::wire::json::{Array, Object};

/// What `reviewd hub` is to do.
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
    /// What to print: lines for people or one JSON object for scripts
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
        /// List the requests that wait for their verification instead, the oldest first
        #[arg(long, conflicts_with = "removed")]
        requests: bool,
    },
    /// Show one subscription
    Show {
        /// Its id
        id: i64,
    },
    /// End one subscription, and tell the subscriber
    Remove {
        /// Its id
        id: i64,
    },
    /// Send what a subscription is owed now instead of after its wait
    Retry {
        /// Its id
        id: i64,
    },
    /// Write the subscriptions, a line of JSON each, for another store
    Export(transfer::ExportArgs),
    /// Take over subscriptions that `hub export` has written; twice is as once, and the later state counts
    Import(transfer::ImportArgs),
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line for each subscription
    Text,
    /// One object
    Json,
}

/// Does it, and prints the answer.
///
/// # Errors
/// `NoInput` without a state or such a subscription, `Data` for a damaged state, `Io` and `Unavailable` as the disk
/// and other processes have it.
pub(super) fn run(args: &HubArgs) -> Result<(), Failure> {
    let place = store_location(args.store.as_ref(), &args.state)?;
    if let Action::Import(import) = &args.action {
        return transfer::import(import, &place, args.format);
    }
    if let Place::Directory(directory) = &place
        && !directory.join(FILE_NAME).exists()
    {
        let message = format!(
            "there is no {FILE_NAME} in {} (--state)",
            directory.display()
        );
        return Err(Failure::new(Status::NoInput, message));
    }
    let mut store = place.open().map_err(|error| failure(&error))?;
    let store = store.as_mut();
    let mut out = Vec::new();
    match &args.action {
        Action::Export(export) => return transfer::export(export, &place, store),
        Action::Import(_) => {}
        Action::List { removed: true, .. } => list_removed(store, args.format, &mut out)?,
        Action::List { requests: true, .. } => requests::list(store, args.format, &mut out)?,
        Action::List { .. } => list(store, args.format, &mut out)?,
        Action::Show { id } => show(store, *id, args.format, &mut out)?,
        Action::Remove { id } => operate(store, *id, Order::Remove, args.format, &mut out)?,
        Action::Retry { id } => operate(store, *id, Order::Retry, args.format, &mut out)?,
    }
    print(&out)
}

fn list(store: &mut dyn Store, format: Format, out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut all = Vec::new();
    loop {
        let after = all.last().map_or(0, |listed: &Listed| listed.id);
        let page = store
            .list(after, PAGE, now())
            .map_err(|error| failure(&error))?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            break;
        }
    }
    let is_paused = store.is_paused(now()).map_err(|error| failure(&error))?;
    match format {
        Format::Json => {
            let mut object = Object::begin(out);
            object.bool("deliveries_paused", is_paused);
            let mut array = Array::begin(object.key("subscriptions"));
            for listed in &all {
                push_listed(array.item(), listed);
            }
            array.end();
            object.end();
            out.push(b'\n');
        }
        Format::Text => {
            if is_paused {
                tell("deliveries are paused: most callback hosts cannot be reached");
            }
            line(out, "id\thost\ttopic\tlease ends\towed\tfailures\tlast");
            for listed in &all {
                let Listed {
                    id,
                    topic,
                    owed,
                    state,
                    callback,
                } = listed;
                let (host, lease_end) = (callback.host(), time(state.lease_end));
                let (owed, failures) = (if *owed { "yes" } else { "no" }, state.failures);
                let last = last(state.last.as_ref());
                line(
                    out,
                    &format!("{id}\t{host}\t{topic}\t{lease_end}\t{owed}\t{failures}\t{last}"),
                );
            }
        }
    }
    Ok(())
}

fn list_removed(store: &mut dyn Store, format: Format, out: &mut Vec<u8>) -> Result<(), Failure> {
    let stones = store
        .tombstones(TOMBSTONES_MAX)
        .map_err(|error| failure(&error))?;
    match format {
        Format::Json => {
            let mut object = Object::begin(out);
            let mut array = Array::begin(object.key("removed"));
            for stone in &stones {
                push_stone(array.item(), stone);
            }
            array.end();
            object.end();
            out.push(b'\n');
        }
        Format::Text => {
            line(out, "id\thost\ttopic\tended\treason\tlast");
            for stone in &stones {
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
                line(
                    out,
                    &format!("{id}\t{host}\t{topic}\t{at}\t{removal}\t{last}"),
                );
            }
        }
    }
    Ok(())
}

fn show(store: &mut dyn Store, id: i64, format: Format, out: &mut Vec<u8>) -> Result<(), Failure> {
    let found = store
        .list(id.saturating_sub(1), 1, now())
        .map_err(|error| failure(&error))?;
    let Some(listed) = found.into_iter().find(|listed| listed.id == id) else {
        return Err(unknown(store, id));
    };
    if format == Format::Json {
        push_listed(out, &listed);
        out.push(b'\n');
        return Ok(());
    }
    let state = &listed.state;
    let signed = if state.secret.is_some() { "yes" } else { "no" };
    let next = match listed.owed {
        true if state.claimed => "under way".to_owned(),
        true if state.next_at <= now() => "now".to_owned(),
        true => time(state.next_at),
        false => "at the next change".to_owned(),
    };
    for (name, value) in [
        ("id", id.to_string()),
        ("topic", listed.topic.clone()),
        ("callback", listed.callback.without_query()),
        ("signed", signed.to_owned()),
        ("active since", time(state.created_at)),
        ("verified", time(state.verified_at)),
        ("lease ends", time(state.lease_end)),
        ("lease", lease(state)),
        ("owed", if listed.owed { "yes" } else { "no" }.to_owned()),
        ("next attempt", next),
        ("failures", state.failures.to_string()),
        ("last attempt", last(state.last.as_ref())),
        ("it took", format!("{} ms", state.elapsed_ms)),
    ] {
        line(out, &format!("{name}\t{value}"));
    }
    Ok(())
}

fn lease(state: &Subscription) -> String {
    match state.is_leaving() {
        true => "unsubscribed, leaves when the delivery under way has ended".to_owned(),
        false => format!("{} s", state.lease_s),
    }
}

fn operate(
    store: &mut dyn Store,
    id: i64,
    order: Order,
    format: Format,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let found = store
        .operate(id, order, &POLICY, now())
        .map_err(|error| failure(&error))?;
    if !found {
        return Err(unknown(store, id));
    }
    let done = match order {
        Order::Remove => "removed",
        Order::Retry => "due now",
    };
    match format {
        Format::Text => line(out, &format!("subscription {id} is {done}")),
        Format::Json => {
            let mut object = Object::begin(out);
            object.i64("id", id).string("done", done);
            object.end();
            out.push(b'\n');
        }
    }
    Ok(())
}

fn push_listed(out: &mut Vec<u8>, listed: &Listed) {
    let state = &listed.state;
    let mut object = Object::begin(out);
    object
        .i64("id", listed.id)
        .string("topic", &listed.topic)
        .string("callback", &listed.callback.without_query())
        .bool("signed", state.secret.is_some())
        .string("created_at", &time(state.created_at))
        .string("verified_at", &time(state.verified_at))
        .string("lease_end", &time(state.lease_end))
        .u64("lease_seconds", state.lease_s.into())
        .bool("owed", listed.owed)
        .u64("failures", state.failures.into());
    push_last(&mut object, state.last.as_ref());
    object.u64("elapsed_ms", state.elapsed_ms.into());
    object.end();
}

fn push_stone(out: &mut Vec<u8>, stone: &Tombstone) {
    let mut object = Object::begin(out);
    object
        .i64("id", stone.id)
        .string("topic", &stone.topic)
        .string("host", &stone.host)
        .string("reason", stone.removal.as_str())
        .string("created_at", &time(stone.created_at))
        .string("ended_at", &time(stone.at));
    push_last(&mut object, stone.last.as_ref());
    object.end();
}

fn push_last(object: &mut Object<'_>, last: Option<&Ended>) {
    let at = last.map(|last| time(last.at));
    let answer = last.map(|last| last.answer.to_string());
    object
        .opt_string("last_at", at.as_deref())
        .opt_string("last_status", answer.as_deref());
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

fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

fn now() -> Moment {
    Moment::from_unix_ms(clock::unix_ms())
}

/// Says that there is no such subscription, or when and why it ended.
fn unknown(store: &mut dyn Store, id: i64) -> Failure {
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
        StoreError::Full(_) | StoreError::ReadOnly(_) | StoreError::Io(..) => Status::Io,
    };
    Failure::new(status, error.to_string())
}

/// Subscriptions read at a time.
const PAGE: usize = 1_000;

/// The operator's orders ask no policy.
const POLICY: Policy = Policy {
    failures_max: u32::MAX,
    retry_delays: Vec::new(),
    retry_after_max: Duration::ZERO,
};
