//! Startup: the output of the program, refused data, and exit statuses.

use std::process::Stdio;

use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::{LISTEN, command, run};
use crate::support::{Program, get};

const DATE: &str = "2026-01-01T00:00:00Z";

/// Runs the program without arguments in a directory, and checks that it prints that it serves `what`, and where.
fn assert_served(directory: &DataDir, what: &str) {
    let mut command = command();
    command.current_dir(directory.path()).stdout(Stdio::piped());
    command.env("REVIEWD_LISTEN", "127.0.0.1:0");
    command.env("REVIEWD_LOG_FORMAT", "json");
    let program = Program::spawn(command);
    let address = program.address();
    assert_eq!(get(address, "/healthz", &[]).status, 200);
    program.signal("TERM");
    let (status, printed) = program.wait();
    assert_eq!(status, Some(0));
    let begin = format!("reviewd serves {what}");
    assert!(printed.starts_with(&begin), "{printed}");
    let example = format!("\n  curl 'http://{address}/");
    assert_eq!(printed.matches(&example).count(), 3, "{printed}");
    for path in ["/ ", "/developers ", "/reviews.json "] {
        let line = format!("\n  http://{address}{path}");
        assert!(printed.contains(&line), "{path}: {printed}");
    }
}

#[test]
fn without_arguments_a_sample_is_served() {
    assert_served(&DataDir::empty(), "a sample");
}

#[test]
fn without_arguments_the_directory_named_data_is_served() {
    let directory = DataDir::empty();
    std::fs::create_dir(directory.path().join("data")).unwrap();
    directory.write("data/reviews.json", &reviews_json(2, DATE));
    assert_served(&directory, "the reviews in `data`");
}

/// Starts the program on `data`, which it refuses with `status`, and returns what it prints.
#[track_caller]
fn refused(data: &DataDir, status: i32) -> String {
    let path = data.path().to_str().unwrap();
    run(&["serve", "--listen", "127.0.0.1:0", "--data", path]).with(status)
}

#[test]
fn missing_data_exit_66() {
    let said = refused(&DataDir::empty(), 66);
    assert!(said.contains("there is no such file"), "{said}");
}

#[test]
fn broken_data_exit_65_and_every_problem_is_named() {
    let data = DataDir::empty();
    let broken = reviews_json(4, DATE)
        .replace("\"rating\":1", "\"rating\":9")
        .replace("\"rating\":3", "\"rating\":7");
    data.write("reviews.json", &broken);
    let said = refused(&data, 65);
    for problem in ["reviews[0].rating", "reviews[2].rating"] {
        assert!(said.contains(problem), "{said}");
    }
}

#[test]
fn the_process_disables_transparent_huge_pages_by_itself() {
    let mut command = command();
    command.arg("serve").args(LISTEN);
    command.env_remove("MIMALLOC_ALLOW_THP");
    assert_eq!(Program::spawn(command).status("THP_enabled"), "0");
}
