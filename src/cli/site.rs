//! `reviewd export DIR --site OUT`: writes the pages, the feeds and the data as files for a host without a server.
//!
//! Each file replaces its predecessor as a whole, the front page last. Then the files of earlier runs are removed that
//! this run has not written. `.reviewd-site` lists all files, so no other file is ever replaced or removed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::exit::{Failure, Status, tell};
use super::read::read_dataset;
use crate::http::documents::DOCUMENTS;
use crate::model::{MEDIA_DIRECTORY, PHOTO_EXTENSION, Row};
use crate::pages::{BrokenLink, Pages, StaticPage, StaticSite, with_photo_names};
use crate::search::index::IndexOptions;
use crate::server::process::search_memory;
use crate::snapshot::{Snapshot, SnapshotSettings};

/// The file that lists the files of earlier runs.
const LIST: &str = ".reviewd-site";
/// The first line of the list.
const LIST_HEAD: &str =
    "Files written by `reviewd export --site`, which may replace and remove them.";

/// The name of a file until it is complete.
const PARTIAL: &str = ".reviewd-partial";

/// Documents of the service that become files: their addresses, and the names of the files.
const FILES: [(&str, &str); 13] = [
    ("/site.css", "site.css"),
    ("/site.js", "site.js"),
    ("/favicon.svg", "favicon.svg"),
    ("/widget.css", "widget.css"),
    ("/widget.js", "widget.js"),
    ("/badge.svg", "badge.svg"),
    ("/badge.svg?theme=light", "badge-light.svg"),
    ("/badge.svg?theme=dark", "badge-dark.svg"),
    ("/reviews.json", "reviews.json"),
    ("/insights.json", "insights.json"),
    ("/reviews.jsonld", "reviews.jsonld"),
    ("/api/feed.json", "api/feed.json"),
    ("/feed.xml", "feed.xml"),
];

/// What is exported, and for which address.
pub(super) struct SiteExport<'a> {
    pub(super) data: &'a Path,
    pub(super) out: &'a Path,
    pub(super) base_url: &'a str,
    /// `None` for the owner's.
    pub(super) language: Option<&'a str>,
}

/// Writes the site.
///
/// # Errors
/// If the data cannot be used, the folder has files of others, or a file cannot be written.
pub(super) fn write(export: &SiteExport<'_>) -> Result<(), Failure> {
    let snapshot = read_snapshot(export.data, export.base_url, export.language)?;
    let mut folder = SiteFolder::open(export.out)?;
    write_photos(&mut folder, &snapshot, &export.data.join(MEDIA_DIRECTORY))?;
    let pages = Pages::for_files(Arc::new(snapshot));
    let mut site = pages.static_site();
    write_documents(&mut folder, &pages, &mut site)?;
    for row in 0..pages.snapshot().len() {
        folder.write_page(site.review(Row(row)))?;
    }
    let front_page = site.front_page();
    // The other pages link to these lists.
    while let Some(page) = site.next_list().map_err(broken)? {
        folder.write_page(Ok(page))?;
    }
    folder.write_page(front_page)?;
    let summary = folder.finish()?;
    tell(format_args!(
        "{}: {} files, of which {} are new or changed; {} removed",
        export.out.display(),
        summary.all,
        summary.changed,
        summary.removed
    ));
    Ok(())
}

/// Writes the documents of the service, and the owner's logo.
fn write_documents(
    folder: &mut SiteFolder,
    pages: &Pages,
    site: &mut StaticSite<'_>,
) -> Result<(), Failure> {
    let context = pages.context();
    for (address, name) in FILES {
        let row = DOCUMENTS
            .iter()
            .find(|row| row.address == address)
            .expect("a test finds each document");
        if let Some(document) = row.resource(&context) {
            folder.write(name, &file_bytes(name, &document.body))?;
        }
    }
    if let Some(logo) = pages.logo()
        && let Some(name) = site.logo_path()
    {
        folder.write(name, &logo.bytes)?;
    }
    folder.write("widget.json", site.widget_data().as_bytes())?;
    let frame = DOCUMENTS.iter().find(|row| row.address == "/widget.html");
    if let Some(document) = frame.and_then(|row| row.resource(&context)) {
        let html = String::from_utf8_lossy(&document.body);
        folder.write_page(site.frame(&html))?;
    }
    Ok(())
}

/// Reads a data directory and builds everything that pages are made from.
///
/// # Errors
/// If the data cannot be used.
pub(super) fn read_snapshot(
    data: &Path,
    base_url: &str,
    language: Option<&str>,
) -> Result<Snapshot, Failure> {
    let mut dataset = read_dataset(data)?.dataset;
    if let Some(language) = language {
        dataset.site.language = Some(language.to_owned());
    }
    let reviews = dataset.reviews.iter();
    let text_bytes = reviews.map(|review| review.text.len() as u64).sum();
    let settings = SnapshotSettings {
        base_url: base_url.to_owned(),
        index: IndexOptions {
            memory_bytes: search_memory(text_bytes),
            threads: NonZeroUsize::MIN,
            tuning: None,
        },
    };
    Ok(Snapshot::build(dataset, &settings))
}

/// Copies the pictures of the published reviews. One that cannot be read is named on standard error and left out.
fn write_photos(folder: &mut SiteFolder, snapshot: &Snapshot, media: &Path) -> Result<(), Failure> {
    let digests: BTreeSet<&str> = snapshot.picture_digests().collect();
    for digest in digests {
        let name = format!("{digest}{PHOTO_EXTENSION}");
        match fs::read(media.join(&name)) {
            Ok(bytes) => folder.write(&format!("{MEDIA_DIRECTORY}/{name}"), &bytes)?,
            Err(error) => tell(format_args!("{}: {error}", media.join(&name).display())),
        }
    }
    Ok(())
}

/// Returns the bytes of a document as a file: addresses of pictures have extensions, and feeds name no hub, as only a
/// service has one.
fn file_bytes(name: &str, body: &[u8]) -> Vec<u8> {
    match name {
        "api/feed.json" => without_hubs(body),
        "feed.xml" => with_photo_names(&without_hub_line(&String::from_utf8_lossy(body))).into(),
        "reviews.json" | "insights.json" | "reviews.jsonld" => {
            with_photo_names(&String::from_utf8_lossy(body)).into()
        }
        _ => body.to_vec(),
    }
}

/// Returns a JSON feed without the list of hubs.
fn without_hubs(feed: &[u8]) -> Vec<u8> {
    let mut feed: Value = serde_json::from_slice(feed).unwrap_or_default();
    if let Value::Object(keys) = &mut feed {
        keys.remove("hubs");
    }
    with_photo_names(&feed.to_string()).into()
}

/// Returns an Atom feed without the link to the hub, which is on a line of its own.
fn without_hub_line(feed: &str) -> String {
    let lines = feed.split_inclusive('\n');
    lines
        .filter(|line| !line.starts_with("<link rel=\"hub\""))
        .collect()
}

fn broken(error: BrokenLink) -> Failure {
    Failure::new(Status::Data, error.to_string())
}

/// What a run has done.
struct SiteSummary {
    all: usize,
    changed: usize,
    removed: usize,
}

/// A folder of which `reviewd export --site` has written the files.
struct SiteFolder {
    root: PathBuf,
    /// The files of earlier runs.
    listed: BTreeSet<String>,
    /// The files of this run.
    written: BTreeSet<String>,
    /// How many of these are new or differ from those of earlier runs.
    changed: usize,
    /// The list. Each new file is added before it is written, so a later run knows the file even if this run is
    /// interrupted.
    list: File,
}

impl SiteFolder {
    /// Opens the folder, and creates it if it is missing.
    ///
    /// # Errors
    /// If it has files that no run has written, or cannot be read or written.
    fn open(root: &Path) -> Result<SiteFolder, Failure> {
        fs::create_dir_all(root).map_err(|error| failed(root, &error))?;
        let path = root.join(LIST);
        let mut listed = BTreeSet::new();
        match fs::read_to_string(&path) {
            Ok(list) => {
                // The first line is no name.
                let names = list.lines().skip(1).filter(|name| is_inside(name));
                listed.extend(names.map(str::to_owned));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                check_empty(root)?;
                let head = fs::write(&path, format!("{LIST_HEAD}\n"));
                head.map_err(|error| failed(&path, &error))?;
            }
            Err(error) => return Err(failed(&path, &error)),
        }
        let list = File::options().append(true).open(&path);
        Ok(SiteFolder {
            root: root.to_owned(),
            listed,
            written: BTreeSet::new(),
            changed: 0,
            list: list.map_err(|error| failed(&path, &error))?,
        })
    }

    fn write_page(&mut self, page: Result<StaticPage, BrokenLink>) -> Result<(), Failure> {
        let page = page.map_err(broken)?;
        self.write(&page.path, page.html.as_bytes())
    }

    /// Writes a file, unless it has these bytes already.
    ///
    /// # Errors
    /// If it cannot be written, or a file that no run has written has its name.
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.root.join(name);
        let is_listed = self.listed.contains(name);
        if !is_listed && fs::symlink_metadata(&path).is_ok() {
            let message = format!("{}: exists, and is not listed in {LIST}", path.display());
            return Err(Failure::new(Status::CannotCreate, message));
        }
        self.written.insert(name.to_owned());
        if is_listed && fs::read(&path).is_ok_and(|before| before == bytes) {
            return Ok(());
        }
        self.changed += 1;
        if !is_listed {
            writeln!(self.list, "{name}").map_err(|error| failed(&path, &error))?;
        }
        replace(&path, bytes).map_err(|error| failed(&path, &error))
    }

    /// Removes the files of earlier runs that this one has not written, and the folders that are then empty.
    ///
    /// # Errors
    /// If one cannot be removed, or the list cannot be written.
    fn finish(self) -> Result<SiteSummary, Failure> {
        let mut removed = 0;
        for name in self.listed.difference(&self.written) {
            let path = self.root.join(name);
            match fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&path, &error)),
            }
            let mut parent = path.parent();
            while let Some(folder) = parent.filter(|folder| *folder != self.root) {
                // It stays if it has other files.
                if fs::remove_dir(folder).is_err() {
                    break;
                }
                parent = folder.parent();
            }
        }
        let mut list = format!("{LIST_HEAD}\n");
        for name in &self.written {
            list.push_str(name);
            list.push('\n');
        }
        let path = self.root.join(LIST);
        replace(&path, list.as_bytes()).map_err(|error| failed(&path, &error))?;
        Ok(SiteSummary {
            all: self.written.len(),
            changed: self.changed,
            removed,
        })
    }
}

/// Fails if a folder has any files.
fn check_empty(folder: &Path) -> Result<(), Failure> {
    let mut entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    if entries.next().is_none() {
        return Ok(());
    }
    let message = format!(
        "{}: has files that `reviewd export --site` did not write (there is no {LIST}); name an empty directory or a new one",
        folder.display()
    );
    Err(Failure::new(Status::CannotCreate, message))
}

/// Replaces a file as a whole, by a new one that is renamed; creates its folder if that is missing.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let partial = folder.join(PARTIAL);
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}

/// Returns whether a name of the list is that of a file in the folder.
fn is_inside(name: &str) -> bool {
    let mut parts = name.split('/');
    !name.contains('\\') && parts.all(|part| !matches!(part, "" | "." | ".."))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Status::Io, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_a_document_of_the_service() {
        for (address, _) in FILES {
            let found = DOCUMENTS.iter().any(|row| row.address == address);
            assert!(found, "{address}");
        }
    }

    #[test]
    fn a_list_names_no_file_outside_of_the_folder() {
        for name in [
            "",
            "..",
            "../x",
            "a/../../x",
            "/etc/passwd",
            "a//b",
            "a\\b",
            "./x",
        ] {
            assert!(!is_inside(name), "{name:?}");
        }
        for name in ["index.html", "reviews/a/index.html", ".nojekyll"] {
            assert!(is_inside(name), "{name:?}");
        }
    }

    #[test]
    fn feeds_of_files_name_no_hub() {
        let feed = "<a/>\n<link rel=\"hub\" href=\"x\"/>\n<b/>\n";
        assert_eq!(without_hub_line(feed), "<a/>\n<b/>\n");
        assert_eq!(
            without_hubs(br#"{"hubs":[{"url":"x"}],"items":[]}"#),
            br#"{"items":[]}"#
        );
    }
}
