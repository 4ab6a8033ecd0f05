//! The command line: parses flags and environment variables, and runs the command.

mod check;
mod config;
mod config_list;
mod exit;
mod export;
#[cfg(feature = "import")]
mod folder;
#[cfg(feature = "import")]
mod forget;
mod healthcheck;
mod hub;
#[cfg(feature = "import")]
mod import;
#[cfg(feature = "import")]
mod init;
mod insights;
mod lock;
mod mcp;
mod notify;
#[cfg(feature = "import")]
mod photos;
#[cfg(feature = "import")]
mod progress;
mod read;
#[cfg(feature = "import")]
mod record;
mod render;
mod serve;
mod site;
#[cfg(feature = "import")]
mod source;
mod suggestions;
#[cfg(feature = "import")]
mod sync;
mod values;
#[cfg(feature = "import")]
mod verify;

use std::collections::HashSet;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::BoolishValueParser;
use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use url::Url;

use crate::dataset::similar::similar_name;
use crate::platform;
pub use config::ServeArgs;
use exit::{Failure, Status, tell};
use values::parse_http_url;

const AFTER_HELP: &str = "\
Examples:
  reviewd                          serve `data`, or a sample, on http://127.0.0.1:8080
  reviewd --listen 0.0.0.0:80 --base-url https://reviews.example
  reviewd serve -h                 the most used flags; --help shows all

Flags without a command are those of `serve`.

Exit status:
  0   success                              69  an address, a lock or a database is not available
  1   healthcheck: not healthy             73  the directory has files already
  64  wrong flags                          74  reading or writing failed
  65  errors in data files or sources      78  a setting is wrong
  66  no data files, or nothing of that id 70  a thread panicked";

const SERVE_AFTER_HELP: &str = "\
Times are whole numbers with ms, s, m, h or d; sizes with KiB, MiB or GiB.

Signals:
  SIGHUP            read the data files again, open the access log again
  SIGUSR1           open the access log again
  SIGTERM, SIGINT   finish running requests and stop; a second one stops at once

Example: reviewd serve --data /srv/reviews --base-url https://reviews.example";

const HUB_AFTER_HELP: &str = "\
Secrets and the queries of callbacks are never printed.

Examples:
  reviewd hub list --removed --format json
  reviewd hub copy --state /var/lib/reviewd --store postgres://reviewd@db.example/reviews";

const NOTIFY_AFTER_HELP: &str = "\
The targets are in notices.json, which only its owner can read; a running service
reads it again. Addresses are secrets, and are never printed.

Examples:
  echo https://hooks.slack.com/services/… | reviewd notify add slack -
  reviewd notify add webhook https://shop.example/hook --max-rating 3 --unanswered-days 3
  reviewd notify test";

#[cfg(feature = "import")]
const IMPORT_AFTER_HELP: &str = "\
`reviewd init DIR` creates the folder. Importing twice changes nothing: reviews
are matched by id, edits and replies are updated, and reviews that are missing
from a source stay unless --prune is given. Reviews that `reviewd forget` removed
are not added again. The file is replaced atomically, and the previous one is kept
as reviews.json.bak.

Examples:
  reviewd import takeout.zip --into data --from-platform --dry-run
  reviewd import reviews.csv --into data --map rating=Points --date-format dmy
  reviewd import --undo --into data
  curl -fsS https://other.example/reviews.json | reviewd import - --into data";

#[cfg(feature = "import")]
const VERIFY_AFTER_HELP: &str = "\
Without --by the business itself has verified the reviews. `reviewd import --undo`
restores the previous file.

Examples:
  reviewd verify google-6a3a3793296502e662a9c97b1e123ae4
  reviewd verify --all-from google --account
  reviewd verify --all-from trustpilot --by Trustpilot --method invitation";

#[cfg(feature = "import")]
const SOURCE_AFTER_HELP: &str = "\
The token is in an environment variable or in a file of mode 600, never in
sources.json. docs/importing.md has the address and the access that each kind
needs.

Examples:
  reviewd source add judgeme 'https://judge.me/api/v1/reviews?shop_domain=x.myshopify.com' --token-env JUDGEME_TOKEN
  reviewd source add csv https://docs.example/reviews.csv --verification business
  reviewd source list";

#[cfg(feature = "import")]
const SYNC_AFTER_HELP: &str = "\
A source that fails or answers half changes nothing; the others are imported, and
the exit status is 69. Reviews that a source no longer has stay. sync.json has the
last try, success and error of each source, which /readyz and `reviewd check` show.

Examples:
  reviewd sync data
  reviewd sync data --every 6h";

#[cfg(feature = "import")]
const RECORD_AFTER_HELP: &str = "\
import, verify and forget record their own changes in changes.json, and what was
changed by hand before. Without a record, /api/reviews/changes tells all reviews
after each change of the files, and no removal but those of `forget`.

Example: reviewd record data";

const EXPORT_AFTER_HELP: &str = "\
CSV has a header, UTF-8, and an apostrophe before texts that a spreadsheet would
take for formulas. NDJSON has the reviews as they are published.

Examples:
  reviewd export data > reviews.csv
  reviewd export data --format ndjson | jq .rating
  reviewd export data --site public --base-url https://www.example/reviews";

const RENDER_AFTER_HELP: &str = "\
The fragments need no server. The widget has neither script nor style: its classes
begin with reviewd.

Examples:
  reviewd render widget data --count 5 > _includes/reviews.html
  reviewd render jsonld data --base-url https://www.example/reviews";

#[cfg(feature = "import")]
const INIT_AFTER_HELP: &str = "\
On a terminal, missing values are asked for. The folder gets reviews.json without
reviews, and taxonomy.json, which selects the starter list of aspects for the
trade; edit both as you like. A folder that has any of the data files is not
changed.

Example:
  reviewd init DIR --name 'Bright Smile' --trade dental --site https://brightsmile.example";

#[cfg(feature = "import")]
const FORGET_AFTER_HELP: &str = "\
The reviews are removed from reviews.json; reviews.json.bak, which contains them,
is deleted. Ids, day and reason are added to ignored.json; ids and days are
published for mirrors, the reason is not. docs/erasure.md lists other copies.

Example:
  reviewd forget 01EBE3JY0F1H7ZNVH1E8G8W00Z --reason 'asked by the author'";

/// The flags that the short help of `serve` shows; `--help` shows all.
const COMMON_FLAGS: [&str; 10] = [
    "data",
    "listen",
    "base-url",
    "tls-cert",
    "tls-key",
    "trusted-proxy",
    "no-hub",
    "state",
    "admin-listen",
    "log-level",
];

/// The groups of the flags of `serve` and `config`: the first flag of each group, and its heading.
const GROUPS: [(&str, &str); 6] = [
    ("data", "Data"),
    ("listen", "Address"),
    ("no-hub", "WebSub hub"),
    ("state", "Process"),
    ("max-connections", "Limits"),
    ("json", "Output"),
];

/// Serves the verified reviews of one business: REST, feeds, MCP and a WebSub hub
#[derive(Parser)]
#[command(
    name = "reviewd",
    version,
    after_help = AFTER_HELP,
    override_usage = "reviewd [COMMAND] [OPTIONS]",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the reviews over HTTP; the default command
    #[command(after_help = SERVE_AFTER_HELP)]
    Serve(Box<config::ServeArgs>),
    /// Check the data files, and list errors and warnings
    Check(check::CheckArgs),
    /// Serve the Model Context Protocol on standard input and output, for clients that start local servers
    #[command(after_help = "Messages are single lines; standard output carries only responses.")]
    Mcp(mcp::McpArgs),
    /// List, show, remove and retry subscriptions of the WebSub hub, also while the service runs
    #[command(after_help = HUB_AFTER_HELP)]
    Hub(hub::HubArgs),
    /// Send notices of changed reviews to a webhook or a chat: add, list, remove and try the targets
    #[command(after_help = NOTIFY_AFTER_HELP)]
    Notify(Box<notify::NotifyArgs>),
    /// Import reviews from exports of Google, Trustpilot and others, and from spreadsheets
    #[cfg(feature = "import")]
    #[command(after_help = IMPORT_AFTER_HELP)]
    Import(Box<import::ImportArgs>),
    /// Create a data directory for a business, without reviews
    #[cfg(feature = "import")]
    #[command(after_help = INIT_AFTER_HELP)]
    Init(init::InitArgs),
    /// Remove reviews permanently, so that no later import adds them again
    #[cfg(feature = "import")]
    #[command(after_help = FORGET_AFTER_HELP)]
    Forget(forget::ForgetArgs),
    /// Say how stored reviews were verified: by the business, by a platform, or not at all
    #[cfg(feature = "import")]
    #[command(after_help = VERIFY_AFTER_HELP)]
    Verify(verify::VerifyArgs),
    /// Add, list and remove the sources that `sync` reads over the network
    #[cfg(feature = "import")]
    #[command(after_help = SOURCE_AFTER_HELP)]
    Source(source::SourceArgs),
    /// Bring in what has changed at the sources, once or again and again
    #[cfg(feature = "import")]
    #[command(after_help = SYNC_AFTER_HELP)]
    Sync(sync::SyncArgs),
    /// Record what was changed by hand, so that mirrors are told of it once
    #[cfg(feature = "import")]
    #[command(after_help = RECORD_AFTER_HELP)]
    Record(record::RecordArgs),
    /// Print the published reviews as a table or as JSON lines, or write a site of files
    #[command(after_help = EXPORT_AFTER_HELP)]
    Export(export::ExportArgs),
    /// Print reviews as a fragment of HTML, or the linked data, for a build step of another site
    #[command(after_help = RENDER_AFTER_HELP)]
    Render(render::RenderArgs),
    /// Print the insights that the service would publish, or the reasons for them
    #[command(after_help = "Example: reviewd insights data --explain fees")]
    Insights(insights::InsightsArgs),
    /// Print every setting of `serve` with its value and origin: flag, environment, computed or default
    #[command(after_help = "The flags are those of `serve`; secrets are not shown.")]
    Config(Box<config_list::ConfigArgs>),
    /// Ask a running service whether it is healthy: status 200 to 299
    #[command(after_help = "The certificate is verified, except that of a loopback address.")]
    Healthcheck {
        /// Address to request, such as https://reviews.example/readyz
        #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080/healthz", value_parser = parse_http_url)]
        url: Url,
    },
}

/// Runs the command that the process was started with and returns its exit status.
pub fn run() -> ExitCode {
    // In huge pages, the many small buffers of a fan-out occupy several times the memory that they use. mimalloc's own
    // feature for this (0.1.52, `no_thp`) leaves them to the system's setting.
    platform::disable_huge_pages();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let is_bare = arguments.len() == 1;
    let parsed = match parse(&with_command(arguments)) {
        Ok(parsed) => parsed,
        Err(error) => {
            // A closed terminal or pipe changes nothing: the exit status tells the result.
            let _closed = error.print();
            // Help and version are on standard output, and no error.
            if error.use_stderr() {
                return ExitCode::from(Status::Usage as u8);
            }
            return ExitCode::SUCCESS;
        }
    };
    match run_command(parsed, is_bare) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&failure);
            ExitCode::from(failure.status as u8)
        }
    }
}

/// Runs the command; `is_bare` says that the program was started without arguments.
fn run_command(parsed: CommandLine, is_bare: bool) -> Result<(), Failure> {
    match parsed.cli.command {
        Command::Serve(args) => serve::run(&args, is_bare),
        Command::Check(args) => check::run(&args),
        Command::Hub(args) => hub::run(&args),
        Command::Notify(args) => notify::run(&args),
        #[cfg(feature = "import")]
        Command::Import(args) => import::run(&args),
        #[cfg(feature = "import")]
        Command::Init(args) => init::run(&args),
        #[cfg(feature = "import")]
        Command::Forget(args) => forget::run(&args),
        #[cfg(feature = "import")]
        Command::Verify(args) => verify::run(&args),
        #[cfg(feature = "import")]
        Command::Source(args) => source::run(&args),
        #[cfg(feature = "import")]
        Command::Sync(args) => sync::run(&args),
        #[cfg(feature = "import")]
        Command::Record(args) => record::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Insights(args) => insights::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Config(args) => config_list::settings(&args, &parsed.matches),
        Command::Healthcheck { url } => healthcheck::run(&url),
    }
}

/// Returns clap's definition of the command line: tests read it, and `examples/manual` makes the manual pages and the
/// shell completions from it.
#[must_use]
pub fn command() -> clap::Command {
    with_variables(|_| true)
}

/// Returns the definition of the command line, in which a flag reads its variable if `is_used` accepts the name.
///
/// Each flag of a command has a variable: `REVIEWD_POLL` for a flag of `serve`, also in other commands, and
/// `REVIEWD_IMPORT_STRICT` for a flag that only `import` has. A flag of a subcommand of a command, such as `source add`,
/// has none, except those of `notify test` that `serve` has, too: they name their variables themselves.
fn with_variables(is_used: impl Fn(&str) -> bool) -> clap::Command {
    let program = Cli::command();
    let mut shared: HashSet<clap::Id> = HashSet::new();
    if let Some(serve) = program.find_subcommand("serve") {
        shared.extend(serve.get_arguments().map(|flag| flag.get_id().clone()));
    }
    program.mut_subcommands(|command| {
        let command_name = command.get_name().to_owned();
        let has_groups = ["serve", "config"].contains(&&*command_name);
        let mut group = None;
        let command = command.mut_args(|flag| {
            let is_shared = shared.contains(flag.get_id());
            let Some(name) = name_of(&flag, is_shared) else {
                return flag;
            };
            if has_groups
                && let Some((_, heading)) = GROUPS.iter().find(|(first, _)| *first == name)
            {
                group = Some(*heading);
            }
            let is_rare = command_name == "serve" && !COMMON_FLAGS.contains(&&*name);
            let variable = if is_shared {
                format!("reviewd_{name}")
            } else {
                format!("reviewd_{command_name}_{name}")
            };
            let variable = variable.replace('-', "_").to_uppercase();
            let flag = flag.help_heading(group).hide_short_help(is_rare);
            let flag = match flag.get_action() {
                // A variable such as REVIEWD_NO_HUB may also be `yes`.
                ArgAction::SetTrue => flag.value_parser(BoolishValueParser::new()),
                // So that `--threads -1` is a wrong number and not another flag.
                _ => flag.allow_negative_numbers(true),
            };
            if is_used(&variable) {
                flag.env(variable)
            } else {
                flag.env(None::<&str>)
            }
        });
        command
            .mut_subcommands(|inner| inner.mut_args(|flag| without_unused_variable(flag, &is_used)))
    })
}

/// Returns a flag of a subcommand of a command, without its variable unless `is_used` accepts the name.
fn without_unused_variable(flag: clap::Arg, is_used: impl Fn(&str) -> bool) -> clap::Arg {
    let variable = flag
        .get_env()
        .map(|name| name.to_string_lossy().into_owned());
    match variable {
        Some(variable) if !is_used(&variable) => flag.env(None::<&str>),
        _ => flag,
    }
}

/// Returns the name of an argument in its variable: that of its long flag. A positional argument has one only if
/// `serve` has a flag with the same id, such as `data`.
fn name_of(argument: &clap::Arg, is_shared: bool) -> Option<String> {
    if let Some(long) = argument.get_long() {
        return Some(long.to_owned());
    }
    if is_shared {
        return Some(argument.get_id().as_str().to_owned());
    }
    None
}

/// Returns a warning for each variable of the environment that begins like ours and does not exist, such as a misspelt
/// one.
fn unknown_variables() -> Vec<String> {
    let mut ours = HashSet::new();
    for command in command().get_subcommands() {
        let variables = command.get_arguments().filter_map(clap::Arg::get_env);
        ours.extend(variables.map(|name| name.to_string_lossy().into_owned()));
    }
    let mut warnings = Vec::new();
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if !name.starts_with("REVIEWD_") || ours.contains(&*name) {
            continue;
        }
        // Kubernetes sets these for a service that is called reviewd.
        if name.starts_with("REVIEWD_PORT") || name.starts_with("REVIEWD_SERVICE_") {
            continue;
        }
        let hint = match similar_name(&name, ours.iter().map(String::as_str)) {
            Some(similar) => format!("; did you mean {similar}?"),
            None => String::new(),
        };
        warnings.push(format!(
            "the environment variable {name} is not known{hint}"
        ));
    }
    warnings.sort();
    warnings
}

/// A parsed command line.
struct CommandLine {
    cli: Cli,
    /// The same, with the origin of each value.
    matches: ArgMatches,
}

/// Parses a command line and the variables of its flags.
fn parse(arguments: &[OsString]) -> Result<CommandLine, clap::Error> {
    let matches = match with_variables(is_not_empty).try_get_matches_from(arguments) {
        // The help names every variable, also empty ones.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            command().try_get_matches_from(arguments)
        }
        matches => matches,
    }?;
    let cli = Cli::from_arg_matches(&matches)?;
    Ok(CommandLine { cli, matches })
}

/// Returns false for a variable that is set to the empty text. It counts as unset, because settings of containers often
/// contain such variables.
fn is_not_empty(variable: &str) -> bool {
    std::env::var_os(variable).is_none_or(|value| !value.is_empty())
}

/// Inserts `serve` if no command is named: before flags, or if there are no arguments. `--help` and `--version` stay
/// those of the program.
fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let own = ["-h", "--help", "-V", "--version"];
    let first = arguments.get(1).map(|first| first.to_string_lossy());
    let is_serve =
        first.is_none_or(|first| first.starts_with('-') && !own.contains(&first.as_ref()));
    if is_serve {
        arguments.insert(1.min(arguments.len()), "serve".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
