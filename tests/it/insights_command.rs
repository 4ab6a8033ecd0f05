//! `reviewd insights`: the document, and the reasons behind an aspect.

use crate::support::program::run;
use crate::support::{Program, get};

fn sample() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/data").to_owned()
}

#[test]
fn the_document_is_the_one_that_is_served() {
    let output = run(&["insights", &sample()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let program = Program::serve(&["--data", &sample()]);
    let mut served = get(program.address(), "/insights.json", &[]).body;
    served.push(b'\n');
    assert_eq!(output.stdout, served);
}

#[test]
fn an_aspect_is_explained() {
    let output = run(&["insights", &sample(), "--explain", "fees"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text.contains("\nnegative  ") && text.contains("[fees]"),
        "{text}"
    );
    let output = run(&["insights", &sample(), "--explain", "none"]);
    assert_eq!(output.status.code(), Some(64));
}
