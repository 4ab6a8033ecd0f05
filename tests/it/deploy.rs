//! The files in `deploy/`: they name only metrics and variables that exist, and restart and stop the service correctly.

use std::collections::HashSet;

use reviewd::server::{DataSource, TlsFiles};

use crate::hub::rig;
use crate::support::dataset::DataDir;
use crate::support::program::run;
use crate::support::{Server, files_below, get, wait_until};
use crate::tls::{ALWAYS, write_pair};

/// The words of `text` that begin with one of `prefixes`.
fn words<'t>(text: &'t str, prefixes: &[&str]) -> Vec<&'t str> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)))
        .collect()
}

const METRICS: &[&str] = &["reviewd_", "process_"];

/// Asserts that every word of `deploy/` that begins with one of `prefixes` is `known`, and that there are over `least`.
fn assert_known(known: &[&str], prefixes: &[&str], least: usize) {
    let mut named = HashSet::new();
    for (path, text) in files_below("deploy") {
        for name in words(&text, prefixes) {
            assert!(known.contains(&name), "{}: {name}", path.display());
            named.insert(name.to_owned());
        }
    }
    assert!(named.len() > least, "{named:?}");
}

#[test]
fn dashboard_and_alerts_name_only_metrics_that_exist() {
    let temp = tempfile::tempdir().unwrap();
    let hub = rig::settings(&temp);
    // Certificate metrics exist only with TLS.
    write_pair(temp.path(), ALWAYS);
    // Those of sources exist only with one.
    let data = DataDir::sample();
    data.write("sync.json", r#"{"sources": {"google": {}}}"#);
    let server = Server::start_with(|config| {
        config.data = DataSource::Directory(data.path().to_owned());
        config.hub = Some(hub);
        config.tls = Some(TlsFiles {
            certificate: temp.path().join("cert.pem"),
            key: temp.path().join("key.pem"),
            hsts_s: 0,
        });
        config.admin_listen = Some("127.0.0.1:0".parse().unwrap());
    });
    let admin = server.running().admin_addr().unwrap();
    let metrics = || get(admin, "/metrics", &[]);
    wait_until("the state of the sources is read", || {
        metrics().text().contains("reviewd_source_changes_total{")
    });
    assert_known(&words(metrics().text(), METRICS), METRICS, 25);
}

#[test]
fn the_dashboard_shows_what_the_alerts_are_about() {
    let alerts = include_str!("../../deploy/prometheus/alerts.yaml");
    let dashboard = include_str!("../../deploy/grafana/reviewd.json");
    let shown = words(dashboard, METRICS);
    for name in words(alerts, METRICS) {
        assert!(shown.contains(&name), "{name}");
    }
}

#[test]
fn each_alert_has_an_expression_a_wait_a_severity_and_a_summary() {
    let text = include_str!("../../deploy/prometheus/alerts.yaml");
    let alerts: Vec<&str> = text.split("- alert: ").skip(1).collect();
    assert!(alerts.len() >= 16, "{}", alerts.len());
    for alert in &alerts {
        for part in ["expr: ", "for: ", "severity: ", "summary: "] {
            assert_eq!(alert.matches(part).count(), 1, "{part} in {alert}");
        }
    }
}

/// systemd gives up after five starts within ten seconds: a shorter pause would not outlast a late reader of a log.
#[test]
fn the_unit_waits_between_two_starts_so_that_systemd_does_not_give_up() {
    let unit = include_str!("../../deploy/systemd/reviewd.service");
    let pause = unit
        .lines()
        .find_map(|line| line.strip_prefix("RestartSec="));
    let seconds: u32 = pause.expect("a pause").parse().expect("seconds");
    assert!(seconds > 2, "{seconds}");
}

/// Exit statuses 64 to 66 and 78 are errors that a restart does not fix; a restart loop would hide them.
#[test]
fn the_unit_does_not_restart_after_errors_that_only_the_operator_can_fix() {
    let unit = include_str!("../../deploy/systemd/reviewd.service");
    assert!(unit.contains("RestartPreventExitStatus=64 65 66 78\n"));
    for line in [
        // Not notify-reload: systemd 249 does not know it, and would treat the unit as simple, without readiness.
        "Type=notify",
        "ExecReload=kill -HUP $MAINPID",
        "Requires=reviewd.socket",
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
    let socket = include_str!("../../deploy/systemd/reviewd.socket");
    assert!(socket.contains("ListenStream="));
    assert!(!socket.contains("Accept=yes"));
}

/// Nodes still send a terminating pod connections for some seconds, and do not retry a refused one on another pod.
#[test]
fn a_terminating_pod_still_listens_for_some_seconds() {
    for text in [
        include_str!("../../deploy/kubernetes/reviewd.yaml"),
        include_str!("../../deploy/kubernetes/replicas.yaml"),
    ] {
        let (_, rest) = text.split_once("preStop:").unwrap();
        let (_, seconds) = rest.split_once("seconds: ").unwrap();
        let seconds: u32 = seconds.lines().next().unwrap().parse().unwrap();
        let (_, grace) = text.split_once("terminationGracePeriodSeconds: ").unwrap();
        let grace: u32 = grace.lines().next().unwrap().parse().unwrap();
        // Draining takes up to 8 s for requests, and 8 s for deliveries.
        assert!(seconds >= 5, "{seconds} of {grace}");
        assert!(grace > seconds + 16, "{seconds} of {grace}");
    }
}

/// Copied as they are, they would publish links that never work.
#[test]
fn no_shipped_file_sets_a_placeholder_as_public_address() {
    for (path, text) in files_below("deploy") {
        let lines = text.lines().map(str::trim);
        let live = lines.filter(|line| !line.starts_with('#') && !line.contains("\"url\""));
        for line in live {
            let is_placeholder = line.contains("://") && line.contains(".example");
            let is_secret = line.contains("postgres://");
            assert!(!is_placeholder || is_secret, "{}: {line}", path.display());
        }
    }
}

#[test]
fn units_and_containers_set_only_variables_that_exist() {
    let settings = run(&["config", "--json"]).json(0);
    let settings = settings.as_array().unwrap().iter();
    let known = settings.filter_map(|setting| setting["variable"].as_str());
    assert_known(&known.collect::<Vec<_>>(), &["REVIEWD_"], 5);
}
