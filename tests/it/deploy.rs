//! The files in `deploy/`: they name only metrics, flags and addresses that exist.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use reviewd::server::AccessLogTarget;

use crate::hub::rig;
use crate::support::program::run;
use crate::support::{Server, get};

/// Every file below `deploy/`, with its text.
fn files() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(found.len() >= 8, "{found:?}");
    found
}

/// The words of `text` that begin with one of `prefixes`.
fn words<'t>(text: &'t str, prefixes: &[&str]) -> Vec<&'t str> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)))
        .collect()
}

#[test]
fn dashboard_and_alerts_name_only_metrics_that_exist() {
    let temp = tempfile::tempdir().unwrap();
    let hub = rig::settings(&temp);
    let server = Server::start_with(|config| {
        config.hub = Some(hub);
        config.admin_listen = Some("127.0.0.1:0".parse().unwrap());
        config.access_log = Some(AccessLogTarget::File(temp.path().join("access.log")));
    });
    let admin = server.running().admin_addr().unwrap();
    let metrics = get(admin, "/metrics", &[]);
    let known: HashSet<&str> = words(metrics.text(), &["reviewd_", "process_"])
        .into_iter()
        .collect();
    let mut named = HashSet::new();
    for (path, text) in files() {
        for name in words(&text, &["reviewd_", "process_"]) {
            assert!(known.contains(name), "{}: {name}", path.display());
            named.insert(name.to_owned());
        }
    }
    assert!(named.len() > 25, "{named:?}");
}

#[test]
fn units_and_containers_set_only_variables_that_exist() {
    let settings = run(&["config", "--json"]).stdout;
    let settings: Vec<serde_json::Value> = serde_json::from_slice(&settings).unwrap();
    let known: HashSet<&str> = settings
        .iter()
        .filter_map(|setting| setting["variable"].as_str())
        .collect();
    for (path, text) in files() {
        for name in words(&text, &["REVIEWD_"]) {
            assert!(known.contains(name), "{}: {name}", path.display());
        }
    }
}

#[test]
fn the_dashboard_is_json_whose_panels_have_queries() {
    let text = include_str!("../../deploy/grafana/reviewd.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 15);
    for panel in panels {
        assert!(panel["targets"][0]["expr"].is_string(), "{panel}");
    }
}
