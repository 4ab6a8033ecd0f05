//! `reviewd config`: every setting of `serve`, read from the definition of the command line.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args};
use serde::Serialize;

use super::command;
use super::config::ServeArgs;
use super::exit::{Failure, print};

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
    /// `None` if it is not set and has no default, or if the service computes the default.
    value: Option<String>,
    origin: &'static str,
}

/// Prints the settings that `serve` would start with; `matches` are those of the whole program.
///
/// # Errors
/// Those of `serve`, for flags that contradict each other.
pub(super) fn settings(args: &ConfigArgs, matches: &ArgMatches) -> Result<(), Failure> {
    args.serve.config()?;
    let program = command();
    let none = ArgMatches::default();
    let matches = matches.subcommand_matches("config").unwrap_or(&none);
    let mut settings: Vec<Setting> = Vec::new();
    if let Some(serve) = program.find_subcommand("serve") {
        settings.extend(
            serve
                .get_arguments()
                .filter_map(|flag| setting(flag, matches)),
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
fn setting(flag: &Arg, matches: &ArgMatches) -> Option<Setting> {
    let id = flag.get_id().as_str();
    let origin = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => "flag",
        Some(ValueSource::EnvVariable) => "environment",
        _ => "default",
    };
    let value = match matches.try_get_raw(id).ok().flatten() {
        Some(_) if flag.is_hide_env_values_set() => Some("(secret)".to_owned()),
        Some(_) if !flag.get_action().takes_values() => Some(matches.get_flag(id).to_string()),
        Some(values) => {
            let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
            Some(values.join(","))
        }
        None => None,
    };
    Some(Setting {
        flag: format!("--{}", flag.get_long()?),
        variable: flag.get_env()?.to_string_lossy().into_owned(),
        value,
        origin,
    })
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
