//! `reviewd export --site`: pages as files for a host without a server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::dataset::DataDir;
use crate::support::program::{Ended, command};

/// The address that the files are made for.
const BASE_URL: &str = "https://www.example/about/reviews";

/// Attributes with addresses.
const ATTRIBUTES: [&str; 4] = [" href=\"", " src=\"", " content=\"", " value=\""];

/// Exports the directory to `out`.
fn export(data: &Path, out: &Path, further: &[&str]) -> Ended {
    let mut command = command();
    command.arg("export").arg(data);
    command.arg("--site").arg(out);
    command.args(["--base-url", BASE_URL]).args(further);
    Ended::of(&mut command)
}

/// Every file below a folder, by its path in it.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below the folder");
                let bytes = fs::read(&path).expect("a file");
                found.insert(name.to_string_lossy().into_owned(), bytes);
            }
        }
    }
    found
}

/// The sample with two pictures, of which one review has one and another both.
fn data_with_photos() -> DataDir {
    let data = DataDir::sample();
    let path = data.path().join("reviews.json");
    let text = fs::read_to_string(path).expect("the sample");
    let mut file: Value = serde_json::from_str(&text).expect("JSON");
    fs::create_dir(data.path().join("media")).expect("a folder");
    let digests = ["a".repeat(64), "b".repeat(64)];
    for digest in &digests {
        data.write(&format!("media/{digest}.jpg"), "a picture");
    }
    let medium = |digest: &String| {
        json!({"url": format!("/media/{digest}"), "alt": "The door", "type": "image/jpeg",
            "thumbnail_url": format!("/media/{digest}"), "source_url": null})
    };
    let reviews = file["reviews"].as_array_mut().expect("a list");
    let mut verified = reviews
        .iter_mut()
        .filter(|review| review["verified"] == true);
    verified.next().expect("a review")["media"] = json!([medium(&digests[0])]);
    let both: Vec<Value> = digests.iter().map(medium).collect();
    verified.next().expect("a review")["media"] = json!(both);
    data.write("reviews.json", &file.to_string());
    data
}

/// Returns what is wrong with an address in the file `name`; `None` if it leads to a file or to another site.
fn broken(all: &BTreeMap<String, Vec<u8>>, name: &str, address: &str) -> Option<String> {
    let address = address.replace("&#38;", "&");
    let (path, fragment) = address.split_once('#').unwrap_or((&address, ""));
    let path = path.split('?').next().unwrap_or_default();
    let mut target = if let Some(rest) = path.strip_prefix(BASE_URL) {
        rest.trim_start_matches('/').to_owned()
    } else if path.contains(':') {
        return None;
    } else if path.is_empty() {
        name.to_owned()
    } else {
        let mut parts: Vec<&str> = name.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            if part == ".." {
                parts.pop()?;
            } else {
                parts.push(part);
            }
        }
        parts.join("/")
    };
    if target.is_empty() || target.ends_with('/') {
        target.push_str("index.html");
    }
    let Some(bytes) = all.get(&target) else {
        return Some(format!("{name}: no file for {address}"));
    };
    let has_target = fragment.is_empty()
        || String::from_utf8_lossy(bytes).contains(&format!("id=\"{fragment}\""));
    if has_target {
        None
    } else {
        Some(format!("{name}: no place for {address}"))
    }
}

/// Returns the faults of all addresses in the pages; they are at least `count_min`.
fn broken_links(all: &BTreeMap<String, Vec<u8>>, count_min: usize) -> Vec<String> {
    let mut count = 0;
    let mut faults = Vec::new();
    for (name, bytes) in all {
        if !name.ends_with(".html") {
            continue;
        }
        let html = String::from_utf8_lossy(bytes);
        for attribute in ATTRIBUTES {
            let is_link = matches!(attribute, " href=\"" | " src=\"");
            for rest in html.split(attribute).skip(1) {
                let address = rest.split('"').next().unwrap_or_default();
                if is_link || address.starts_with(BASE_URL) {
                    count += 1;
                    faults.extend(broken(all, name, address));
                }
            }
        }
    }
    assert!(count >= count_min, "{count} links");
    faults
}

/// A folder that is removed at the end, and the site in it.
fn out() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("site");
    (folder, path)
}

#[test]
fn every_link_of_a_site_leads_to_a_file() {
    let data = data_with_photos();
    let (_folder, out) = out();
    export(data.path(), &out, &[]).with(0);
    let all = files(&out);
    assert_eq!(broken_links(&all, 10_000), Vec::<String>::new());
    let pages = all.keys().filter(|name| name.starts_with("reviews/"));
    assert_eq!(pages.count(), 207);
    assert!(all.contains_key("list/has_photos-true.html"));
    assert!(all.contains_key("list/all-page-11.html"));
}

#[test]
fn a_site_needs_no_service() {
    let data = data_with_photos();
    let (_folder, out) = out();
    export(data.path(), &out, &[]).with(0);
    for (name, bytes) in files(&out) {
        let text = String::from_utf8_lossy(&bytes);
        for service in [
            "/api/websub",
            "\"/developers",
            "openapi.json",
            "role=\"search\"",
        ] {
            assert!(!text.contains(service), "{name}: {service}");
        }
        let photo = format!("/media/{}", "a".repeat(64));
        for rest in text.split(&photo).skip(1) {
            assert!(rest.starts_with(".jpg"), "{name}: {rest:.40}");
        }
    }
}

#[test]
fn a_second_run_writes_the_same_bytes() {
    let data = data_with_photos();
    let (_folder, out) = out();
    export(data.path(), &out, &[]).with(0);
    let first = files(&out);
    let ended = export(data.path(), &out, &[]);
    assert!(
        ended
            .stderr
            .contains("of which 0 are new or changed; 0 removed"),
        "{}",
        ended.stderr
    );
    assert_eq!(files(&out), first);
}

#[test]
fn the_pages_of_a_removed_review_go() {
    let data = DataDir::with_reviews(12, "2026-01-01T00:00:00Z");
    let (_folder, out) = out();
    export(data.path(), &out, &[]).with(0);
    fs::write(out.join("CNAME"), "www.example").expect("a file of the owner");
    let before = files(&out);
    let fewer = DataDir::with_reviews(11, "2026-01-01T00:00:00Z");
    export(fewer.path(), &out, &[]).with(0);
    let after = files(&out);
    let gone: Vec<&String> = before
        .keys()
        .filter(|name| !after.contains_key(*name))
        .collect();
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert!(gone[0].starts_with("reviews/"), "{gone:?}");
    let folder = out.join(gone[0]);
    assert!(!folder.parent().expect("a folder").exists());
    assert!(after.contains_key("CNAME"));
    assert_eq!(broken_links(&after, 100), Vec::<String>::new());
}

#[test]
fn a_folder_of_others_is_left_alone() {
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let (_folder, out) = out();
    fs::create_dir(&out).expect("a folder");
    fs::write(out.join("index.html"), "mine").expect("a file");
    let ended = export(data.path(), &out, &[]);
    assert_eq!(ended.status, Some(73));
    assert!(ended.stderr.contains("did not write"), "{}", ended.stderr);
    assert_eq!(files(&out).len(), 1);
}

#[test]
fn a_file_of_the_owner_in_a_site_is_not_replaced() {
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let (_folder, out) = out();
    export(data.path(), &out, &[]).with(0);
    let more = DataDir::with_reviews(4, "2026-01-01T00:00:00Z");
    let known = files(&out);
    let (_other_folder, other) = self::out();
    export(more.path(), &other, &[]).with(0);
    let mut new = files(&other)
        .into_keys()
        .filter(|name| !known.contains_key(name));
    let new = new
        .find(|name| name.starts_with("reviews/"))
        .expect("a new page");
    let path = out.join(&new);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, "mine").expect("a file");
    assert_eq!(export(more.path(), &out, &[]).status, Some(73));
    assert_eq!(fs::read(&path).expect("the file"), b"mine");
}

#[test]
fn a_run_after_an_interrupted_one_completes_it() {
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let (_folder, out) = out();
    export(data.path(), &out, &[]).with(0);
    let whole = files(&out);
    // As after a run that ended between the list and a file, and one that left half a file.
    fs::remove_file(out.join("feed.xml")).expect("a file");
    fs::write(out.join("index.html"), "half").expect("a file");
    export(data.path(), &out, &[]).with(0);
    assert_eq!(files(&out), whole);
}

#[test]
fn a_site_is_in_the_language_that_is_asked_for() {
    let data = DataDir::with_reviews(3, "2026-01-01T00:00:00Z");
    let (_folder, out) = out();
    export(data.path(), &out, &["--language", "ar"]).with(0);
    for (name, bytes) in files(&out) {
        if name.ends_with(".html") {
            let html = String::from_utf8_lossy(&bytes);
            assert!(html.contains("lang=\"ar\" dir=\"rtl\""), "{name}");
        }
    }
    let wrong = export(data.path(), &out, &["--language", "tlh"]);
    assert_eq!(wrong.status, Some(64));
    assert!(
        wrong.stderr.contains("must be one of en, de"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_site_needs_an_address() {
    for arguments in [
        &["export", "--site", "x"][..],
        &[
            "export",
            "--site",
            "x",
            "--base-url",
            "https://a.example/?x",
        ],
        &["export", "--site", "x", "--base-url", "ftp://a.example"],
        &[
            "export",
            "--site",
            "x",
            "--base-url",
            "https://a.example",
            "--format",
            "csv",
        ],
    ] {
        let mut command = command();
        command.args(arguments);
        assert_eq!(Ended::of(&mut command).status, Some(64), "{arguments:?}");
    }
}

/// Runs `reviewd render` on the sample.
fn render(arguments: &[&str]) -> Ended {
    let data = DataDir::sample();
    let mut command = command();
    command.arg("render").arg(arguments[0]).arg(data.path());
    command.args(&arguments[1..]);
    Ended::of(&mut command)
}

#[test]
fn a_widget_for_a_build_step_needs_no_server() {
    let html = render(&["widget", "--count", "2", "--min-rating", "4"]).with(0);
    assert!(
        html.starts_with("<section class=\"reviewd\" lang=\"en\""),
        "{html}"
    );
    assert_eq!(html.matches("<article>").count(), 2, "{html}");
    assert!(html.contains("Shown here: 4 stars and more"), "{html}");
    for needed in ["<script", "<link", "<img", "style=", "href=\"/"] {
        assert!(!html.contains(needed), "{needed}: {html}");
    }
    let linked = render(&["widget", "--base-url", "https://www.example/reviews/"]).with(0);
    assert!(
        linked.contains("href=\"https://www.example/reviews/reviews/"),
        "{linked}"
    );
    assert_eq!(render(&["widget", "--count", "0"]).status, Some(64));
    assert_eq!(render(&["widget", "--count", "101"]).status, Some(64));
}

#[test]
fn linked_data_for_a_build_step_is_a_script_element() {
    let html = render(&["jsonld", "--base-url", "https://www.example/reviews"]).with(0);
    let json = html
        .strip_prefix("<script type=\"application/ld+json\">")
        .and_then(|rest| rest.strip_suffix("</script>\n"));
    let data: Value = serde_json::from_str(json.expect("an element")).expect("JSON");
    assert!(
        data.to_string()
            .contains("https://www.example/reviews/reviews/")
    );
    assert!(!html.contains("127.0.0.1"));
    assert_eq!(render(&["jsonld"]).status, Some(64));
}
