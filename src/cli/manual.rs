//! `reviewd completions` and `reviewd man`: shell completions and manual pages, made from the command line's definition.

use clap::Args;
use clap_complete::Shell;

use super::command;
use super::exit::{Failure, Status, print};

#[derive(Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args)]
pub(super) struct ManArgs {
    /// The command to describe, such as `serve` [default: the program]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// Prints a script that completes flags and commands.
pub(super) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "reviewd", &mut script);
    print(&script)
}

/// Prints a page of the manual.
pub(super) fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut page = command().disable_help_flag(true);
    page.build();
    if let Some(name) = &args.command {
        let Some(found) = page.find_subcommand(name).cloned() else {
            let message = format!("there is no command `{name}`: reviewd --help lists them");
            return Err(Failure::new(Status::Usage, message));
        };
        page = found
            .display_name(format!("reviewd-{name}"))
            .bin_name(format!("reviewd {name}"));
    }
    let mut text = Vec::new();
    let page = clap_mangen::Man::new(page).source(concat!("reviewd ", env!("CARGO_PKG_VERSION")));
    let rendered = page.render(&mut text);
    rendered.map_err(|error| Failure::new(Status::Io, error.to_string()))?;
    print(&text)
}
