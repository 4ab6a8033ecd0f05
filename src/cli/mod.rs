//! Commands: flags and environment become a plain configuration, and each command one function.

mod bar;
pub mod check;
mod config;
mod data_flags;
pub mod exit;
mod forget;
pub mod healthcheck;
mod hub;
mod hub_flags;
mod import;
mod inherited;
mod init;
pub mod insights;
mod limit_flags;
pub mod manual;
pub mod mcp;
mod observe_flags;
mod refusal;
mod serve;
pub mod settings;
mod store_url;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use config::ServeArgs;
use exit::{Failure, Status, tell};
use values::parse_switch;

/// Serves the verified reviews of one business: REST, feeds, MCP and a WebSub hub
#[derive(Debug, Parser)]
#[command(
    name = "reviewd",
    version,
    after_help = AFTER_HELP,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the data over HTTP; the command without a name
    #[command(after_help = SERVE_AFTER_HELP)]
    Serve(Box<ServeArgs>),
    /// Check the data files as the service would, and say all that is wrong
    #[command(after_help = CHECK_AFTER_HELP)]
    Check(check::CheckArgs),
    /// Answer the Model Context Protocol on standard input and output, for programs that start their tools themselves
    #[command(after_help = MCP_AFTER_HELP)]
    Mcp(mcp::McpArgs),
    /// Look at the hub's subscriptions, remove one, or send what it is owed; also while the service runs
    #[command(after_help = HUB_AFTER_HELP)]
    Hub(hub::HubArgs),
    /// Bring reviews in from exports of Google, Trustpilot, spreadsheets, web pages and other services
    #[command(after_help = IMPORT_AFTER_HELP)]
    Import(Box<import::ImportArgs>),
    /// Make a folder for a business, without reviews yet
    #[command(after_help = init::AFTER_HELP)]
    Init(init::InitArgs),
    /// Remove reviews for good, and list them so that no import adds them again
    #[command(after_help = forget::AFTER_HELP)]
    Forget(forget::ForgetArgs),
    /// Print the insights that the service would publish, or explain them
    #[command(after_help = INSIGHTS_AFTER_HELP)]
    Insights(Box<insights::InsightsArgs>),
    /// Show every setting of `serve`, its value, and whether a flag, the environment or the default gave it
    #[command(after_help = CONFIG_AFTER_HELP)]
    Config(Box<settings::ConfigArgs>),
    /// Ask a running service how it is, and end with 0 if well and 1 if not
    #[command(after_help = HEALTHCHECK_AFTER_HELP)]
    Healthcheck(healthcheck::HealthcheckArgs),
    /// Print a script that completes commands and flags in a shell
    #[command(after_help = COMPLETIONS_AFTER_HELP)]
    Completions(manual::CompletionsArgs),
    /// Print a page of the manual
    #[command(after_help = MAN_AFTER_HELP)]
    Man(manual::ManArgs),
}

const CONFIG_AFTER_HELP: &str = "\
The flags are those of `serve`; secrets are not shown.

Examples:
  reviewd config
  REVIEWD_POLL=1m reviewd config --threads 2 --json | jq '.[] | select(.origin != \"default\")'";

const HEALTHCHECK_AFTER_HELP: &str = "\
Without URL this machine's own service is asked, by https if --tls-cert is set, and its certificate is not looked at:
whoever listens at our own address is meant. With URL it is.

Examples:
  reviewd healthcheck
  reviewd healthcheck http://127.0.0.1:9090/readyz
  reviewd healthcheck https://reviews.example/readyz

Exit status:
  0   it answered 200 to 299       64  wrong flags, or no such URL can be
  1   it answered something else,  78  --ca cannot be used
      or not in time";

const COMPLETIONS_AFTER_HELP: &str = "\
Examples:
  reviewd completions bash > /etc/bash_completion.d/reviewd
  reviewd completions zsh > /usr/share/zsh/site-functions/_reviewd";

const MAN_AFTER_HELP: &str = "\
Examples:
  reviewd man | man -l -
  reviewd man serve > /usr/local/share/man/man1/reviewd-serve.1";

const MCP_AFTER_HELP: &str = "\
One message a line; nothing but answers goes to standard output.

Examples:
  reviewd mcp --data /srv/reviews
  reviewd mcp --url https://reviews.example";

const AFTER_HELP: &str = "\
Examples:
  reviewd                          serve `data`, or a sample, on http://127.0.0.1:8080
  reviewd --listen 0.0.0.0:80 --base-url https://reviews.example
  reviewd serve --help             every flag with its unit, default and environment variable

Flags without a command are those of `serve`.

Exit status:
  0   success              65  the data files are wrong      73  an output cannot be made
  64  wrong flags          66  the data are not there        74  reading failed
                           69  the address cannot be had     78  a setting is wrong";

const SERVE_AFTER_HELP: &str = "\
Times are whole numbers with ms, s, m, h or d; sizes with KiB, MiB or GiB.

Signals:
  SIGHUP            read the data again, open the access log anew
  SIGUSR1           open the access log anew
  SIGTERM, SIGINT   stop accepting, finish what is under way; a second one ends at once

Examples:
  reviewd serve --data /srv/reviews --base-url https://reviews.example
  REVIEWD_LISTEN=[::]:8080 REVIEWD_LOG_FORMAT=json reviewd serve";

const IMPORT_AFTER_HELP: &str = "\
Importing twice changes nothing: reviews are matched by id, edits and replies update, and what is gone from a source
stays unless --prune. What `reviewd forget` removed is not added again. The file is replaced at once and as a whole, and the previous one kept as reviews.json.bak.

Fields for --map: id, author, author_avatar_url, rating, best_rating, date, text, title, source, source_url,
owner_reply, owner_reply_date, verified, updated.

Examples:
  reviewd import Takeout/*/account-*/location-*/reviews*.json --into data --verified --dry-run
  reviewd import reviews.csv --into data --map rating=Points,text='What they said' --date-format dmy --source avvo
  reviewd import page.html --into data --from jsonld
  reviewd import https://other.example/reviews.json --into data

Exit status:
  0   done, perhaps with refusals       69  another import is under way
  64  wrong flags, plain http           73  the file cannot be made
  65  a source or the folder is wrong,  74  reading, fetching or writing failed
      or --strict and a refusal         78  --ca cannot be used
  66  a source is not there";

const INSIGHTS_AFTER_HELP: &str = "\
Examples:
  reviewd insights data | jq .aspects
  reviewd insights data --explain fees";

const HUB_AFTER_HELP: &str = "\
Neither secrets nor the queries of callbacks are ever printed, except by `export`, which is there to move them.

Examples:
  reviewd hub list
  reviewd hub list --removed --format json
  reviewd hub show 7
  reviewd hub remove 7             the subscriber is told
  reviewd hub retry 7
  reviewd hub export --secrets --out hub.jsonl
  reviewd hub import hub.jsonl --state /var/lib/reviewd

Exit status:
  0   success                      66  there is no such subscription, or no state
  65  the state file is damaged    74  reading or writing failed";

const CHECK_AFTER_HELP: &str = "\
Examples:
  reviewd check data
  reviewd check --strict --format json /srv/reviews

Exit status:
  0   the service would serve it      66  the data are not there
  65  the service would refuse it     74  reading failed";

/// Runs the command that the process was started with and returns its exit status.
pub fn run() -> ExitCode {
    let arguments = with_command(std::env::args_os().collect());
    let (cli, matches) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => return explain(&error, &arguments),
    };
    let outcome = match cli.command {
        None => serve::run_default(),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Check(args)) => return check::run(&args),
        Some(Command::Hub(args)) => hub::run(&args),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Init(args)) => init::run(&args),
        Some(Command::Forget(args)) => forget::run(&args),
        Some(Command::Insights(args)) => insights::run(&args),
        Some(Command::Mcp(args)) => mcp::run(&args),
        Some(Command::Config(args)) => {
            let matches = matches.subcommand_matches("config");
            settings::run(&args, matches.unwrap_or(&ArgMatches::default()))
        }
        Some(Command::Healthcheck(args)) => match healthcheck::run(&args) {
            Ok(status) => return status,
            Err(failure) => Err(failure),
        },
        Some(Command::Completions(args)) => manual::completions(&args),
        Some(Command::Man(args)) => manual::man(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&failure);
            failure.status.into()
        }
    }
}

/// Returns the command line as clap sees it, for its help in tests, manuals and completions.
#[must_use]
pub fn command() -> clap::Command {
    changed(Cli::command(), &|flag| {
        match flag.get_action() {
            // A variable such as REVIEWD_NO_HUB may say `yes` as well.
            ArgAction::SetTrue => flag.value_parser(parse_switch),
            // So that `--threads -1` is a wrong number and not another flag.
            ArgAction::Set | ArgAction::Append => flag.allow_negative_numbers(true),
            _ => flag,
        }
    })
}

/// Changes every flag of every command.
fn changed(command: clap::Command, change: &impl Fn(Arg) -> Arg) -> clap::Command {
    command
        .mut_args(change)
        .mut_subcommands(|command| changed(command, change))
}

/// Parses a command line, and what the environment adds to it.
fn parse(arguments: &[OsString]) -> Result<(Cli, ArgMatches), clap::Error> {
    // A variable without a value is one that is not set: files for containers have many of them.
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

/// Puts `serve` before flags that come without a command.
fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let own = ["-h", "--help", "-V", "--version"];
    let flag = arguments
        .get(1)
        .and_then(|first| first.to_str())
        .is_some_and(|first| first.starts_with('-') && !own.contains(&first));
    if flag {
        arguments.insert(1, "serve".into());
    }
    arguments
}

/// Prints help, a version, or what is wrong with the flags.
fn explain(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if error.use_stderr() {
        tell(refusal::line(error, command(), arguments));
        return Status::Usage.into();
    }
    // Nothing is left to be done where the terminal is gone.
    let _closed = error.print();
    ExitCode::SUCCESS
}

/// Parses the flags of `serve` from the environment alone.
fn serve_args_from_environment() -> Result<ServeArgs, Failure> {
    let arguments = ["reviewd".into(), "serve".into()];
    let parsed = parse(&arguments);
    match parsed.map(|(cli, _)| cli.command) {
        Ok(Some(Command::Serve(args))) => Ok(*args),
        Ok(_) => Err(Failure::new(Status::Usage, "no command was given")),
        Err(error) => {
            let line = refusal::line(&error, command(), &arguments);
            Err(Failure::new(Status::Usage, line))
        }
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
        assert_eq!(complete(&["reviewd"]), ["reviewd"]);
    }
}
