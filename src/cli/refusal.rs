//! A refused command line, told in one line: the flag or the variable, its value, and what would be right.
//!
//! clap tells it on several lines, quotes values whole, secrets among them, and never says that a value came from the
//! environment, where whoever started the program did not look.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// Most of a value that is quoted, in characters.
const QUOTED_MAX: usize = 64;

/// Returns the line about `error`, which `command` gave for `arguments`, without a line break.
pub(super) fn line(error: &clap::Error, mut command: Command, arguments: &[OsString]) -> String {
    // Until then flags cannot be shown as the error shows them.
    command.build();
    let name = arguments.get(1).and_then(|name| name.to_str());
    let used = name.and_then(|name| command.find_subcommand(name));
    let place = used.map(Command::get_name);
    let what = what(error, used.unwrap_or(&command), arguments);
    let space = if place.is_some() { " " } else { "" };
    let place = place.unwrap_or_default();
    format!("{what} (see: reviewd{space}{place} --help)")
}

fn what(error: &clap::Error, command: &Command, arguments: &[OsString]) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let shown = text(ContextKind::InvalidArg).unwrap_or_default();
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    let given = Given::find(shown, command, arguments);
    match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{} needs a value{}", given.name(), choice(error))
        }
        ErrorKind::InvalidValue => format!("{}{}", given.with(value), choice(error)),
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(ToString::to_string);
            format!("{}: {}", given.with(value), reason.unwrap_or_default())
        }
        ErrorKind::TooManyValues => {
            format!("{}: the flag takes no value", given.with(value))
        }
        ErrorKind::UnknownArgument => format!(
            "there is no {}{}",
            quote(shown),
            suggestion(text(ContextKind::SuggestedArg))
        ),
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let close = list(error, ContextKind::SuggestedSubcommand);
            format!(
                "there is no command {}{}",
                quote(name),
                suggestion(close.first().copied())
            )
        }
        ErrorKind::MissingRequiredArgument => {
            format!(
                "{} is missing",
                list(error, ContextKind::InvalidArg).join(", ")
            )
        }
        ErrorKind::ArgumentConflict => conflict(error, shown),
        ErrorKind::MissingSubcommand => "a command is missing".to_owned(),
        ErrorKind::InvalidUtf8 => "a value is not UTF-8".to_owned(),
        kind => kind.to_string(),
    }
}

fn conflict(error: &clap::Error, shown: &str) -> String {
    let prior = list(error, ContextKind::PriorArg);
    if prior.is_empty() || prior == [shown] {
        format!("{shown} is given twice")
    } else {
        format!("{shown} cannot be used with {}", prior.join(", "))
    }
}

/// Returns the values that would be right, where they can be counted.
fn choice(error: &clap::Error) -> String {
    match list(error, ContextKind::ValidValue).as_slice() {
        [] => String::new(),
        values => format!(": must be one of {}", values.join(", ")),
    }
}

fn suggestion(close: Option<&str>) -> String {
    close.map_or_else(String::new, |close| format!(", perhaps {close} is meant"))
}

fn list(error: &clap::Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one],
        Some(ContextValue::Strings(several)) => several.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Where a value came from.
struct Given<'c> {
    /// The flag as clap shows it, such as `--threads <NUMBER>`.
    shown: &'c str,
    /// The variable, where no flag was given.
    variable: Option<&'c OsStr>,
    is_secret: bool,
}

impl<'c> Given<'c> {
    fn find(shown: &'c str, command: &'c Command, arguments: &[OsString]) -> Given<'c> {
        let flag = shown.split([' ', '=', '[']).next().unwrap_or_default();
        let long = flag.strip_prefix("--");
        let found = command.get_arguments().find(|arg| match long {
            Some(long) => arg.get_long() == Some(long),
            None => arg.to_string() == shown,
        });
        let is_given = |argument: &OsString| {
            let argument = argument.to_string_lossy();
            argument
                .strip_prefix(flag)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        let on_line = match long {
            Some(_) => arguments.iter().any(is_given),
            // A value without a flag is in its place on the line, if there is one.
            None => arguments.len() > 2,
        };
        Given {
            shown,
            variable: found.and_then(Arg::get_env).filter(|_| !on_line),
            is_secret: found.is_some_and(Arg::is_hide_env_values_set),
        }
    }

    fn name(&self) -> String {
        match self.variable {
            Some(variable) => format!("{} ({})", variable.to_string_lossy(), self.shown),
            None => self.shown.to_owned(),
        }
    }

    fn with(&self, value: &str) -> String {
        let flag = self.shown.split(" <").next().unwrap_or_default();
        let value = match self.is_secret {
            true => "(secret)".to_owned(),
            false => quote(value),
        };
        match self.variable {
            Some(variable) => format!("{}={value} ({flag})", variable.to_string_lossy()),
            None => format!("{flag} {value}"),
        }
    }
}

/// Returns a value for a line: not too long, and without what would break the line or the terminal.
pub(super) fn quote(value: &str) -> String {
    let mut cut: String = value.chars().take(QUOTED_MAX).collect();
    if cut.len() < value.len() {
        cut.push('…');
    }
    format!("'{}'", cut.escape_debug())
}
