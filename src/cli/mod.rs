//! Commands: flags and environment become a plain configuration, and each command one function.

mod check;
mod config;
mod exit;
mod forget;
mod healthcheck;
mod hub;
mod hub_flags;
mod import;
mod inherited;
mod init;
mod insights;
mod manual;
pub mod mcp;
mod serve;
mod settings;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::BoolishValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use config::ServeArgs;
use exit::{Status, tell};

/// Serves the verified reviews of one business: REST, feeds, MCP and a WebSub hub
#[derive(Debug, Parser)]
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

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the reviews over HTTP; the default command
    #[command(after_help = SERVE_AFTER_HELP)]
    Serve(Box<ServeArgs>),
    /// Check the data files, and list every error and warning
    #[command(after_help = CHECK_AFTER_HELP)]
    Check(check::CheckArgs),
    /// Serve the Model Context Protocol on standard input and output, for clients that start local servers
    #[command(after_help = MCP_AFTER_HELP)]
    Mcp(mcp::McpArgs),
    /// List, show, remove and retry subscriptions of the WebSub hub, also while the service runs
    #[command(after_help = HUB_AFTER_HELP)]
    Hub(hub::HubArgs),
    /// Import reviews from exports of Google, Trustpilot and others, and from spreadsheets
    #[command(after_help = IMPORT_AFTER_HELP)]
    Import(Box<import::ImportArgs>),
    /// Create a data directory for a business, without reviews
    #[command(after_help = init::AFTER_HELP)]
    Init(init::InitArgs),
    /// Remove reviews permanently, so that no later import adds them again
    #[command(after_help = forget::AFTER_HELP)]
    Forget(forget::ForgetArgs),
    /// Print the insights that the service would publish, or the reasons for them
    #[command(after_help = INSIGHTS_AFTER_HELP)]
    Insights(Box<insights::InsightsArgs>),
    /// Print every setting of `serve` with its value and origin: flag, environment or default
    #[command(after_help = CONFIG_AFTER_HELP)]
    Config(Box<settings::ConfigArgs>),
    /// Ask a running service whether it is healthy; exit status 0 or 1
    #[command(after_help = HEALTHCHECK_AFTER_HELP)]
    Healthcheck(healthcheck::HealthcheckArgs),
    /// Print shell completions
    #[command(after_help = COMPLETIONS_AFTER_HELP)]
    Completions(manual::CompletionsArgs),
    /// Print a manual page
    #[command(after_help = MAN_AFTER_HELP)]
    Man(manual::ManArgs),
}

const CONFIG_AFTER_HELP: &str = "\
The flags are those of `serve`; secrets are not shown.

Examples:
  reviewd config
  REVIEWD_POLL=1m reviewd config --threads 2 --json | jq '.[] | select(.origin != \"default\")'";

const HEALTHCHECK_AFTER_HELP: &str = "\
Without URL the service of this machine is asked, over https if --tls-cert is set, and its certificate is not verified.
With URL the certificate is verified.

Examples:
  reviewd healthcheck
  reviewd healthcheck http://127.0.0.1:9090/readyz
  reviewd healthcheck https://reviews.example/readyz

Exit status:
  0   status 200 to 299            64  wrong flags or URL
  1   another status, or none      78  --ca cannot be used
      in time";

const COMPLETIONS_AFTER_HELP: &str = "\
Examples:
  reviewd completions bash > /etc/bash_completion.d/reviewd
  reviewd completions zsh > /usr/share/zsh/site-functions/_reviewd";

const MAN_AFTER_HELP: &str = "\
Examples:
  reviewd man | man -l -
  reviewd man serve > /usr/local/share/man/man1/reviewd-serve.1";

const MCP_AFTER_HELP: &str = "\
Messages are single lines; standard output carries only responses.

Examples:
  reviewd mcp --data /srv/reviews
  reviewd mcp --url https://reviews.example";

const AFTER_HELP: &str = "\
Examples:
  reviewd                          serve `data`, or a sample, on http://127.0.0.1:8080
  reviewd --listen 0.0.0.0:80 --base-url https://reviews.example
  reviewd serve -h                 the most used flags; --help shows all

Flags without a command are those of `serve`.

Exit status:
  0   success              65  errors in the data files      73  an output cannot be created
  64  wrong flags          66  no data files                 74  reading or writing failed
                           69  the address is not available  78  a setting is wrong";

const SERVE_AFTER_HELP: &str = "\
Times are whole numbers with ms, s, m, h or d; sizes with KiB, MiB or GiB.

Signals:
  SIGHUP            read the data files again, open the access log again
  SIGUSR1           open the access log again
  SIGTERM, SIGINT   finish running requests and stop; a second one stops at once

Examples:
  reviewd serve --data /srv/reviews --base-url https://reviews.example
  REVIEWD_LISTEN=[::]:8080 REVIEWD_LOG_FORMAT=json reviewd serve";

const IMPORT_AFTER_HELP: &str = "\
`reviewd init DIR` makes the folder. Importing twice changes nothing: reviews are matched by id, edits and replies are updated, and reviews that are missing
from a source stay unless --prune. Reviews that `reviewd forget` removed are not added again. The file is replaced
atomically, and the previous one is kept as reviews.json.bak.

Fields for --map: id, author, author_avatar_url, rating, best_rating, date, text, title, source, source_url,
owner_reply, owner_reply_date, verified, updated.

Examples:
  reviewd import Takeout/*/account-*/location-*/reviews*.json --into data --verified --dry-run
  reviewd import reviews.csv --into data --map rating=Points,text='What they said' --date-format dmy --source avvo
  curl -fsS https://other.example/reviews.json | reviewd import - --into data

Exit status:
  0   done; records may be refused      69  another import is running
  64  wrong flags                       74  reading or writing failed
  65  errors in a source or the data,
      or --strict and a refused record
  66  a source or DIR/reviews.json does not exist";

const INSIGHTS_AFTER_HELP: &str = "\
Examples:
  reviewd insights data | jq .aspects
  reviewd insights data --explain fees";

const HUB_AFTER_HELP: &str = "\
Secrets and the queries of callbacks are never printed.

Examples:
  reviewd hub list
  reviewd hub list --removed --format json
  reviewd hub show 7
  reviewd hub remove 7             the subscriber is notified
  reviewd hub retry 7
  reviewd hub copy --state /var/lib/reviewd --store postgres://reviewd@db.example/reviews

Exit status:
  0   success                      66  no such subscription, or no state
  65  the state file is damaged    74  reading or writing failed";

const CHECK_AFTER_HELP: &str = "\
Examples:
  reviewd check data
  reviewd check --strict --format json /srv/reviews

Exit status:
  0   the data can be served          66  no data files
  65  errors; --strict: or warnings   74  reading failed";

/// Runs the command that the process was started with and returns its exit status.
pub fn run() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let is_bare = arguments.len() == 1;
    let (cli, matches) = match parse(&with_command(arguments)) {
        Ok(parsed) => parsed,
        Err(error) => return explain(&error),
    };
    let succeeded = |()| ExitCode::SUCCESS;
    let ended = match cli.command {
        Command::Serve(args) => serve::run(&args, is_bare).map(succeeded),
        Command::Check(args) => check::run(&args),
        Command::Hub(args) => hub::run(&args).map(succeeded),
        Command::Import(args) => import::run(&args).map(succeeded),
        Command::Init(args) => init::run(&args).map(succeeded),
        Command::Forget(args) => forget::run(&args).map(succeeded),
        Command::Insights(args) => insights::run(&args).map(succeeded),
        Command::Mcp(args) => mcp::run(&args).map(succeeded),
        Command::Config(args) => {
            let matches = matches.subcommand_matches("config");
            settings::run(&args, matches.unwrap_or(&ArgMatches::default())).map(succeeded)
        }
        Command::Healthcheck(args) => healthcheck::run(&args),
        Command::Completions(args) => manual::completions(&args).map(succeeded),
        Command::Man(args) => manual::man(&args).map(succeeded),
    };
    ended.unwrap_or_else(|failure| {
        tell(&failure);
        failure.status.into()
    })
}

/// Returns the command line as clap sees it, for its help in tests, manuals and completions.
#[must_use]
pub fn command() -> clap::Command {
    let program = Cli::command().mut_subcommand("serve", |serve| {
        serve.mut_args(|flag| {
            let is_common = flag
                .get_long()
                .is_some_and(|name| COMMON_FLAGS.contains(&name));
            flag.hide_short_help(!is_common)
        })
    });
    changed(program, &|flag| {
        match flag.get_action() {
            // A variable such as REVIEWD_NO_HUB may be `yes` as well.
            ArgAction::SetTrue => flag.value_parser(BoolishValueParser::new()),
            // So that `--threads -1` is a wrong number and not another flag.
            ArgAction::Set | ArgAction::Append => flag.allow_negative_numbers(true),
            _ => flag,
        }
    })
}

/// The flags of `serve` that its short help shows; `--help` shows all.
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

/// Changes every flag of every command.
fn changed(command: clap::Command, change: &impl Fn(Arg) -> Arg) -> clap::Command {
    command
        .mut_args(change)
        .mut_subcommands(|command| changed(command, change))
}

/// Parses a command line, and what the environment adds to it.
fn parse(arguments: &[OsString]) -> Result<(Cli, ArgMatches), clap::Error> {
    // An empty variable counts as unset: settings of containers have many of them.
    let unset = changed(command(), &|flag| {
        let variable = flag.get_env().and_then(std::env::var_os);
        match variable.is_some_and(|value| value.is_empty()) {
            true => flag.env(None::<&str>),
            false => flag,
        }
    });
    let matches = match unset.try_get_matches_from(arguments) {
        // The help names every variable.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            command().try_get_matches_from(arguments)
        }
        matches => matches,
    }?;
    Ok((Cli::from_arg_matches(&matches)?, matches))
}

/// Inserts `serve` where no command is named: before flags, and where there are no arguments at all.
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

/// Prints help, a version, or clap's message about wrong flags.
fn explain(error: &clap::Error) -> ExitCode {
    // A closed terminal or pipe changes nothing: the exit status tells the result.
    let _closed = error.print();
    match error.use_stderr() {
        true => Status::Usage.into(),
        false => ExitCode::SUCCESS,
    }
}

#[cfg(test)]
mod tests {
    use super::{command, with_command};

    fn complete(arguments: &[&str]) -> Vec<String> {
        let arguments = arguments.iter().map(Into::into).collect();
        let completed = with_command(arguments);
        completed
            .into_iter()
            .map(|argument| argument.into_string().unwrap())
            .collect()
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn flags_without_a_command_are_those_of_serve() {
        assert_eq!(
            complete(&["reviewd", "--listen", "x"]),
            ["reviewd", "serve", "--listen", "x"]
        );
        assert_eq!(complete(&["reviewd", "--help"]), ["reviewd", "--help"]);
        assert_eq!(complete(&["reviewd", "check"]), ["reviewd", "check"]);
        assert_eq!(complete(&["reviewd"]), ["reviewd", "serve"]);
    }
}
