//! `reviewd config`: every setting of `serve`, its value, and where that came from.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use serde::Serialize;

use super::command;
use super::config::ServeArgs;
use super::exit::{Failure, print};

/// The flags of `config`: those of `serve`, and how to print.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    #[command(flatten)]
    serve: ServeArgs,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// One setting.
#[derive(Serialize)]
struct Setting {
    flag: String,
    variable: String,
    /// `None` where the service computes the default.
    value: Option<String>,
    origin: &'static str,
}

/// Prints what `serve` would be started with; `matches` are those of this command.
pub(super) fn run(args: &ConfigArgs, matches: &ArgMatches) -> Result<(), Failure> {
    // Flags that contradict each other are refused as `serve` refuses them.
    args.serve.config()?;
    let program = command();
    let serve = program.find_subcommand("serve");
    let settings: Vec<Setting> = serve
        .into_iter()
        .flat_map(Command::get_arguments)
        .filter(|flag| !flag.is_hide_set())
        .filter_map(|flag| setting(flag, matches))
        .collect();
    let text = match args.json {
        true => serde_json::to_string(&settings).unwrap_or_default() + "\n",
        false => render_table(&settings),
    };
    print(text.as_bytes())
}

fn setting(flag: &Arg, matches: &ArgMatches) -> Option<Setting> {
    let id = flag.get_id().as_str();
    let variable = flag.get_env()?.to_string_lossy().into_owned();
    let values = matches.try_get_raw(id).ok().flatten();
    let values: Option<Vec<String>> = values.map(|values| {
        values
            .map(|value| value.to_string_lossy().into_owned())
            .collect()
    });
    let origin = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => "flag",
        Some(ValueSource::EnvVariable) => "environment",
        _ => "default",
    };
    let value = values.map(|values| match flag.is_hide_env_values_set() {
        true => SECRET.to_owned(),
        false if matches!(flag.get_action(), ArgAction::SetTrue) => {
            matches.get_flag(id).to_string()
        }
        false => values.join(","),
    });
    Some(Setting {
        flag: format!("--{}", flag.get_long()?),
        variable,
        value,
        origin,
    })
}

fn render_table(settings: &[Setting]) -> String {
    let width = |of: fn(&Setting) -> &str| {
        let widths = settings.iter().map(|setting| of(setting).len());
        widths.max().unwrap_or(0)
    };
    let (flags, variables) = (width(|s| &s.flag), width(|s| &s.variable));
    let mut out = String::new();
    for setting in settings {
        let Setting {
            flag,
            variable,
            value,
            origin,
        } = setting;
        let value = value.as_deref().unwrap_or("-");
        out.push_str(&format!(
            "{flag:flags$}  {variable:variables$}  {origin:11}  {value}\n"
        ));
    }
    out
}

/// Shown in place of a secret.
const SECRET: &str = "(secret)";
