//! `reviewd notify`: adds, lists, removes and tries the targets of notices in `notices.json`. Addresses and keys are
//! secrets, and are not printed, except that `add` prints a key that it has made.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::lock::{lock, when_free};
use super::read::read_dataset;
use super::values::{OutputFormat, SecretFlag, number, parse_base_url, time};
use crate::dataset::{NOTICES, REVIEWS, UNANSWERED_DAYS_MAX};
use crate::hub::guard::{Guard, Ports};
use crate::hub::{HubSettings, NoticeTest, StoreLocation, send_test};
use crate::model::notices::{NoticeEvent, NoticeKind, NoticeSetting};
use crate::notices;
use crate::server::files;

/// Bytes of a key that `add` makes: as many as the hash of the signatures has.
const KEY_BYTES: usize = 32;

/// Most bytes of an address on standard input.
const INPUT_BYTES_MAX: u64 = 4_096;

/// Most time that `add` and `remove` wait while another command uses the data directory. Our choice: a person waits for them.
pub(super) const LOCK_TIME_MAX: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(super) struct NotifyArgs {
    #[command(subcommand)]
    action: NotifyAction,
    /// Directory with reviews.json and notices.json
    #[arg(long, global = true, value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
}

#[derive(Subcommand)]
enum NotifyAction {
    /// Add a target; the first change after it is the first that it is told of
    Add(AddArgs),
    /// List the targets without their addresses
    List(ListTargetsArgs),
    /// Remove a target; what waits for it is not sent
    Remove(RemoveTargetArgs),
    /// Send a message to one target or all, and print what each answered
    Test(TestArgs),
}

/// What to add.
#[derive(Args)]
struct AddArgs {
    /// What understands the notices
    #[arg(value_parser = PossibleValuesParser::new(NoticeKind::ALL.map(NoticeKind::word)))]
    kind: String,
    /// The https address; `-` reads it from standard input, as other users can see arguments
    url: SecretFlag,
    /// Its name in logs and commands [default: its kind, with a number if that is taken]
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
    /// The key of a webhook's signatures, `whsec_` and base64 [default: a new one, which is printed]
    #[arg(long, value_name = "KEY")]
    secret: Option<SecretFlag>,
    /// The chat that a Telegram bot writes to, such as -1001234567890, unless it is in the address
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    chat_id: Option<String>,
    /// Only reviews of this rating or better
    #[arg(long, value_name = "STARS", value_parser = number(1, 5))]
    min_rating: Option<u32>,
    /// Only reviews of this rating or worse
    #[arg(long, value_name = "STARS", value_parser = number(1, 5))]
    max_rating: Option<u32>,
    /// Only reviews in this language, such as de
    #[arg(long, value_name = "TAG")]
    language: Option<String>,
    /// Only reviews of the location with this id
    #[arg(long, value_name = "ID")]
    location: Option<String>,
    /// Also tell when a review has had no reply for this number of days
    #[arg(long, value_name = "DAYS", value_parser = number(1, UNANSWERED_DAYS_MAX.into()))]
    unanswered_days: Option<u32>,
    /// Only these changes
    #[arg(long, value_name = "EVENTS", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(NoticeEvent::ALL.map(NoticeEvent::word)))]
    events: Vec<String>,
}

/// How to list.
#[derive(Args)]
struct ListTargetsArgs {
    /// Output format: lines of text, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

/// What to remove.
#[derive(Args)]
struct RemoveTargetArgs {
    /// Its id, as `list` prints it
    id: String,
}

/// What to try; the flags are those of `serve`.
#[derive(Args)]
struct TestArgs {
    /// Its id, as `list` prints it [default: all]
    id: Option<String>,
    /// Public address of the service, for links
    #[arg(long, env = "REVIEWD_BASE_URL", value_name = "URL", default_value = "http://127.0.0.1:8080",
        value_parser = parse_base_url)]
    base_url: String,
    /// Time limit of a request
    #[arg(long, env = "REVIEWD_DELIVERY_TIMEOUT", value_name = "TIME", default_value = "10s",
        value_parser = time("100ms", "5m"))]
    delivery_timeout: Duration,
    /// File of certificate authorities (PEM) to trust besides the public ones
    #[arg(long, env = "REVIEWD_CALLBACK_CA", value_name = "FILE")]
    callback_ca: Option<PathBuf>,
    /// Allow addresses in private networks and on this machine
    #[arg(long, env = "REVIEWD_ALLOW_PRIVATE_CALLBACKS", value_parser = clap::builder::BoolishValueParser::new())]
    allow_private_callbacks: bool,
    /// Ports that addresses may use
    #[arg(long, env = "REVIEWD_CALLBACK_PORTS", value_name = "RANGES", default_value = "443,8443,1024-",
        value_parser = Ports::parse)]
    callback_ports: Ports,
}

/// Runs the action and prints its result.
pub(super) fn run(args: &NotifyArgs) -> Result<(), Failure> {
    match &args.action {
        NotifyAction::Add(add_args) => add(&args.data, add_args),
        NotifyAction::List(list_args) => list(&args.data, list_args.format),
        NotifyAction::Remove(RemoveTargetArgs { id }) => remove(&args.data, id),
        NotifyAction::Test(test_args) => test(&args.data, test_args),
    }
}

/// Adds a target, and prints its id, and its key if that is new.
fn add(data: &Path, args: &AddArgs) -> Result<(), Failure> {
    // Before the lock: the address may be typed on standard input.
    let url = address(&args.url)?;
    let _lock = when_free(LOCK_TIME_MAX, || lock(data))?;
    let settings = read_settings(data)?;
    let id = args
        .id
        .clone()
        .unwrap_or_else(|| free_id(&args.kind, &settings));
    if settings.iter().any(|setting| setting.id == id) {
        let message = format!("{id}: there is a target of this name; choose another by --id");
        return Err(Failure::new(Status::Usage, message));
    }
    let mut target = Map::new();
    target.insert("id".to_owned(), json!(id));
    target.insert("kind".to_owned(), json!(args.kind));
    target.insert("url".to_owned(), json!(url));
    let mut new_key = None;
    if let Some(SecretFlag(secret)) = &args.secret {
        target.insert("secret".to_owned(), json!(secret));
    } else if args.kind == NoticeKind::Webhook.word() {
        let key = make_key()?;
        target.insert("secret".to_owned(), json!(key));
        new_key = Some(key);
    }
    if let Some(chat_id) = &args.chat_id {
        target.insert("chat_id".to_owned(), json!(chat_id));
    }
    let filter = filter(args);
    if !filter.is_empty() {
        target.insert("filter".to_owned(), Value::Object(filter));
    }
    change(data, |targets| targets.push(Value::Object(target)))?;
    let mut text = format!("{id} is added to {}\n", data.join(NOTICES.name).display());
    if let Some(key) = new_key {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "the key of its signatures: {key}");
    }
    print(text.as_bytes())
}

/// Returns the members of the filter that the flags ask for.
fn filter(args: &AddArgs) -> Map<String, Value> {
    let mut filter = Map::new();
    for (key, value) in [
        ("min_rating", args.min_rating),
        ("max_rating", args.max_rating),
        ("unanswered_days", args.unanswered_days),
    ] {
        if let Some(value) = value {
            filter.insert(key.to_owned(), json!(value));
        }
    }
    for (key, value) in [("language", &args.language), ("location", &args.location)] {
        if let Some(value) = value {
            filter.insert(key.to_owned(), json!(value));
        }
    }
    if !args.events.is_empty() {
        filter.insert("events".to_owned(), json!(args.events));
    }
    filter
}

/// Returns the address on the command line; for `-` the line on standard input.
fn address(SecretFlag(flag): &SecretFlag) -> Result<String, Failure> {
    if flag != "-" {
        return Ok(flag.clone());
    }
    let mut text = String::new();
    let read = io::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| Failure::new(Status::Io, format!("standard input: {error}")))?;
    Ok(text.trim().to_owned())
}

/// Returns an id that no target has: the kind itself, or the kind with the first free number from 2.
fn free_id(kind: &str, settings: &[NoticeSetting]) -> String {
    let mut id = kind.to_owned();
    let mut number = 1;
    while settings.iter().any(|setting| setting.id == id) {
        number += 1;
        id = format!("{kind}-{number}");
    }
    id
}

fn make_key() -> Result<String, Failure> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| Failure::new(Status::Io, error.to_string()))?;
    Ok(format!("whsec_{}", BASE64_STANDARD.encode(key)))
}

fn list(data: &Path, format: OutputFormat) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut text = String::new();
    for setting in read_settings(data)? {
        let filter = shown_filter(&setting);
        let kind = setting.kind.word();
        // Writing to a string cannot fail.
        let _written = writeln!(
            text,
            "{}\t{kind}\t{}",
            setting.id,
            Value::Object(filter.clone())
        );
        rows.push(json!({
            "id": setting.id,
            "kind": kind,
            "signed": setting.secret.is_some(),
            "filter": filter,
        }));
    }
    match format {
        OutputFormat::Text => print(text.as_bytes()),
        OutputFormat::Json => print(format!("{}\n", json!({"notices": rows})).as_bytes()),
    }
}

/// Returns the members of a filter that are set, as they stand in the file.
fn shown_filter(setting: &NoticeSetting) -> Map<String, Value> {
    let filter = &setting.filter;
    let events = filter.events.as_ref().map(|events| {
        let words = events.iter().map(|event| event.word());
        words.collect::<Vec<_>>()
    });
    let all = json!({
        "min_rating": filter.min_rating,
        "max_rating": filter.max_rating,
        "language": filter.language,
        "location": filter.location,
        "unanswered_days": filter.unanswered_days,
        "events": events,
    });
    let Value::Object(mut members) = all else {
        return Map::new();
    };
    members.retain(|_, value| !value.is_null());
    members
}

fn remove(data: &Path, id: &str) -> Result<(), Failure> {
    let _lock = when_free(LOCK_TIME_MAX, || lock(data))?;
    find(&read_settings(data)?, id)?;
    change(data, |targets| targets.retain(|target| target["id"] != id))?;
    print(format!("{id} is removed\n").as_bytes())
}

/// Sends a message to one target or all; fails unless each has answered with a 2xx.
fn test(data: &Path, args: &TestArgs) -> Result<(), Failure> {
    let mut settings = read_settings(data)?;
    if let Some(id) = &args.id {
        find(&settings, id)?;
        settings.retain(|setting| setting.id == *id);
    }
    if settings.is_empty() {
        let message = format!(
            "{}: there are no targets",
            data.join(NOTICES.name).display()
        );
        return Err(Failure::new(Status::NoInput, message));
    }
    let dataset = read_dataset(data)?.dataset;
    let guard = Guard {
        allow_private: args.allow_private_callbacks,
        ports: args.callback_ports.clone(),
    };
    let hub = HubSettings {
        user_agent: concat!("reviewd/", env!("CARGO_PKG_VERSION")).to_owned(),
        timeout: args.delivery_timeout,
        ca_file: args.callback_ca.clone(),
        // No store is opened.
        ..HubSettings::new(StoreLocation::Directory(PathBuf::new()), guard)
    };
    let mut has_failed = false;
    for setting in &settings {
        let Some(target) = notices::target(setting) else {
            continue;
        };
        let body = notices::test_body(setting, &dataset, &args.base_url);
        let sent = send_test(&args.base_url, &hub, &target, &body);
        let NoticeTest {
            answer,
            is_accepted,
        } = sent.map_err(|error| Failure::new(Status::Config, error.to_string()))?;
        has_failed |= !is_accepted;
        print(format!("{}: {answer}\n", setting.id).as_bytes())?;
    }
    if has_failed {
        let message = "not every target has accepted the message";
        return Err(Failure::new(Status::Unavailable, message));
    }
    Ok(())
}

fn read_settings(data: &Path) -> Result<Vec<NoticeSetting>, Failure> {
    settings_of(data, &files::read_notices(data)?)
}

fn settings_of(data: &Path, bytes: &Option<Vec<u8>>) -> Result<Vec<NoticeSetting>, Failure> {
    notices::read(bytes).map_err(|problems| {
        let message = format!("{}: is not valid\n{problems}", data.display());
        Failure::new(Status::Data, message)
    })
}

fn find<'s>(settings: &'s [NoticeSetting], id: &str) -> Result<&'s NoticeSetting, Failure> {
    let found = settings.iter().find(|setting| setting.id == id);
    found.ok_or_else(|| {
        let message = format!("{id}: there is no such target; `reviewd notify list` lists them");
        Failure::new(Status::NoInput, message)
    })
}

/// Changes the targets in the file, and replaces it if the result is valid. The caller has the folder's lock since before
/// it read the settings, so that none undoes the change of another.
fn change(data: &Path, change: impl FnOnce(&mut Vec<Value>)) -> Result<(), Failure> {
    let path = data.join(NOTICES.name);
    let bytes = files::read_notices(data)?;
    let mut document = match &bytes {
        // It was checked when the settings were read.
        Some(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        None => json!({"notices": []}),
    };
    if let Some(targets) = document["notices"].as_array_mut() {
        change(targets);
    }
    let text = format!("{document:#}\n").into_bytes();
    settings_of(data, &Some(text.clone()))?;
    replace(data, &path, &text).map_err(|error| {
        let message = format!("{}: cannot be written: {error}", path.display());
        Failure::new(Status::Io, message)
    })
}

/// Replaces the file atomically by one that only its owner can read. The owner is that of the previous file, or without
/// one that of the reviews.
fn replace(data: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = data.join(format!(".{}.{}.new", NOTICES.name, std::process::id()));
    let written = write_private(data, path, &fresh, bytes).and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        let _gone = fs::remove_file(&fresh);
    }
    written?;
    File::open(data)?.sync_all()
}

fn write_private(data: &Path, path: &Path, fresh: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(fresh)?;
    let like = fs::metadata(path).or_else(|_| fs::metadata(data.join(REVIEWS.name)))?;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        fchown(&file, Some(like.uid()), Some(like.gid()))?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}
