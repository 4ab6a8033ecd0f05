//! `reviewd config`: every setting of `serve`, read from the definition of the command line.

use std::fs::File;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args};
use serde::Serialize;

use super::command;
use super::config::ServeArgs;
use super::exit::{Failure, print, tell};
use crate::server::{self, Config, DataSource, process};

/// The flags of `config`: those of `serve`, and the output format.
#[derive(Args)]
pub(super) struct ConfigArgs {
    #[command(flatten)]
    serve: ServeArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One setting.
#[derive(Serialize)]
struct Setting {
    flag: String,
    variable: String,
    /// `None` if it is not set and has no default.
    value: Option<String>,
    origin: &'static str,
}

/// Prints the settings that `serve` would start with; `matches` are those of the whole program.
///
/// # Errors
/// Those of `serve`, for flags that contradict each other.
pub(super) fn settings(args: &ConfigArgs, matches: &ArgMatches) -> Result<(), Failure> {
    let config = args.serve.config()?;
    for warning in warnings(&config) {
        tell(format_args!("warning: {warning}"));
    }
    let program = command();
    let none = ArgMatches::default();
    let matches = matches.subcommand_matches("config").unwrap_or(&none);
    let mut settings: Vec<Setting> = Vec::new();
    if let Some(serve) = program.find_subcommand("serve") {
        settings.extend(
            serve
                .get_arguments()
                .filter_map(|flag| setting(flag, matches, &config)),
        );
    }
    let text: String = if args.json {
        serde_json::to_string(&settings).expect("texts are JSON") + "\n"
    } else {
        settings.iter().map(render).collect()
    };
    print(text.as_bytes())
}

/// Returns the setting of a flag; `None` for an argument without a name or a variable.
fn setting(flag: &Arg, matches: &ArgMatches, config: &Config) -> Option<Setting> {
    let id = flag.get_id().as_str();
    let mut origin = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => "flag",
        Some(ValueSource::EnvVariable) => "environment",
        _ => "default",
    };
    let mut value = match matches.try_get_raw(id).ok().flatten() {
        Some(_) if flag.is_hide_env_values_set() => Some("(secret)".to_owned()),
        Some(_) if !flag.get_action().takes_values() => Some(matches.get_flag(id).to_string()),
        Some(values) => {
            let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
            Some(values.join(","))
        }
        None => None,
    };
    if value.is_none() {
        value = computed(id, config);
        origin = if value.is_some() { "computed" } else { origin };
    }
    Some(Setting {
        flag: format!("--{}", flag.get_long()?),
        variable: flag.get_env()?.to_string_lossy().into_owned(),
        value,
        origin,
    })
}

/// Returns the value that the service computes for a flag without a fixed default, here and now.
fn computed(id: &str, config: &Config) -> Option<String> {
    match id {
        "data" => Some(match &config.data {
            DataSource::Directory(directory) => directory.display().to_string(),
            DataSource::Sample => "the sample".to_owned(),
        }),
        "search_memory" => {
            let least = mebibytes(process::search_memory(0));
            let most = mebibytes(process::search_memory(u64::MAX));
            Some(format!("{least} to {most}, by the size of the texts"))
        }
        "in_flight_memory" => Some(mebibytes(process::in_flight_memory())),
        "base_url" => Some(config.origin_at(config.listen)),
        "threads" => Some(config.threads.to_string()),
        "max_connections" => Some(config.limits.connections.to_string()),
        _ => None,
    }
}

/// Returns a size in the notation of flags.
fn mebibytes(bytes: u64) -> String {
    format!("{}MiB", bytes >> 20)
}

/// What `serve` would warn of, or refuse, with these settings.
fn warnings(config: &Config) -> Vec<String> {
    let mut warnings = super::unknown_variables();
    if let Err(error) = server::refuse_placeholder(config, config.listen) {
        warnings.push(error.to_string());
    }
    warnings.extend(server::address_warnings(config, config.listen));
    if let DataSource::Directory(directory) = &config.data
        && !directory.is_dir()
    {
        let shown = directory.display();
        warnings.push(format!("--data {shown}: there is no such directory"));
    }
    if let Some(tls) = &config.tls {
        for (flag, path) in [("--tls-cert", &tls.certificate), ("--tls-key", &tls.key)] {
            if let Err(error) = File::open(path) {
                warnings.push(format!("{flag} {}: {error}", path.display()));
            }
        }
    }
    warnings
}

/// Returns a line with the setting.
fn render(setting: &Setting) -> String {
    let Setting {
        flag,
        variable,
        value,
        origin,
    } = setting;
    let value = value.as_deref().unwrap_or("-");
    format!("{flag:26}  {variable:32}  {origin:11}  {value}\n")
}
