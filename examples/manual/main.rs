//! Writes the manual pages and the shell completions of `reviewd`, from the definition of its command line.
//!
//! `cargo run --example manual -- FOLDER` writes `FOLDER/man/reviewd.1`, a page for each command, and
//! `FOLDER/completions/reviewd.bash`, `.zsh` and `.fish`. `deploy/package/build.sh` calls it, so the program itself needs
//! no generator.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use clap::Command;
use clap_complete::Shell;
use reviewd::cli;

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1) else {
        eprintln!("usage: cargo run --example manual -- FOLDER");
        return ExitCode::from(64);
    };
    let folder = Path::new(&folder);
    let written = write_pages(&folder.join("man"))
        .and_then(|()| write_completions(&folder.join("completions")));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

/// Writes the page of the program, and one for each command.
fn write_pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut program = cli::command().disable_help_flag(true);
    program.build();
    fs::write(folder.join("reviewd.1"), page(program.clone())?)?;
    for command in program.get_subcommands() {
        let file = format!("reviewd-{}.1", command.get_name());
        fs::write(folder.join(file), page(command.clone())?)?;
    }
    Ok(())
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let source = concat!("reviewd ", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .source(source)
        .render(&mut page)?;
    Ok(page)
}

/// Writes a script for each shell that the packages install one for.
fn write_completions(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut cli::command(), "reviewd", &mut script);
        fs::write(folder.join(format!("reviewd.{shell}")), script)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, file: &str) -> String {
        fs::read_to_string(folder.join(file)).expect(file)
    }

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a folder");
        write_pages(folder.path()).expect("the pages are written");
        let program = written(folder.path(), "reviewd.1");
        assert!(program.contains(".TH reviewd 1"), "{program}");
        assert!(program.contains("Exit status"), "{program}");
        let serve = written(folder.path(), "reviewd-serve.1");
        assert!(serve.contains("REVIEWD_ADMIN_LISTEN"), "{serve}");
        assert!(serve.contains("SIGHUP"), "{serve}");
    }

    #[test]
    fn each_shell_completes_flags_and_commands() {
        let folder = tempfile::tempdir().expect("a folder");
        write_completions(folder.path()).expect("the scripts are written");
        for shell in ["bash", "zsh", "fish"] {
            let script = written(folder.path(), &format!("reviewd.{shell}"));
            assert!(script.contains("admin-listen"), "{shell}");
            assert!(script.contains("healthcheck"), "{shell}");
        }
    }
}
