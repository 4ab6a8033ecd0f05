//! The ZIP archives that platforms send: the files with reviews of one place.
//!
//! Google's Takeout has a folder for each place, with `data.json` and `reviews*.json`; Facebook's has one file. Sizes are
//! limited by the archive's directory and again while a file is unpacked.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use serde_json::Value;
use zip::ZipArchive;

use super::record::ReadError;
use super::text::normal;

/// Largest unpacked size of all files with reviews in an archive: 512 MiB; a larger archive is refused.
const UNPACKED_BYTES_MAX: u64 = 512 << 20;

/// Files in an archive; one with more is refused.
const FILES_MAX: usize = 100_000;

/// Largest size of a file that may name the place.
const PLACE_FILE_BYTES_MAX: u64 = 1 << 20;

/// Parts of names of files with reviews.
const REVIEW_NAMES: [&str; 4] = ["review", "rating", "recommendation", "testimonial"];

/// Keys of a place's `data.json` that may have its name, the best first.
const PLACE_NAME_KEYS: [&str; 4] = ["title", "locationName", "name", "storefrontName"];

/// A file of an archive.
#[derive(Debug)]
pub struct ArchivedFile {
    /// Its path in the archive.
    pub name: String,
    /// Its unpacked bytes.
    pub bytes: Vec<u8>,
}

/// Whether a source is an archive of files rather than a workbook, which is a ZIP file, too.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    if !bytes.starts_with(b"PK\x03\x04") {
        return false;
    }
    let Ok(archive) = ZipArchive::new(Cursor::new(bytes)) else {
        return false;
    };
    let is_book = archive
        .file_names()
        .flatten()
        .any(|name| name.starts_with("xl/"));
    !is_book
}

/// Returns the files with reviews in an archive, of the place that `place` names if there are several.
///
/// # Errors
/// If it cannot be read, has no reviews, or those of several places.
pub fn unpack(bytes: &[u8], place: Option<&str>) -> Result<Vec<ArchivedFile>, ReadError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| ReadError::whole(format!("is an archive that cannot be read: {error}")))?;
    if archive.len() > FILES_MAX {
        return Err(ReadError::whole(format!(
            "is an archive of more than {FILES_MAX} files"
        )));
    }
    let names: Vec<String> = archive
        .file_names()
        .flatten()
        .map(Cow::into_owned)
        .collect();
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names.iter().filter(|name| has_reviews(name)) {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        folders
            .entry(folder.to_owned())
            .or_default()
            .push(name.clone());
    }
    if folders.is_empty() {
        return Err(ReadError::whole(
            "is an archive without a file of reviews (such as reviews.json): unpack it and name the file",
        ));
    }
    let mut places = Vec::new();
    for (folder, files) in folders {
        let label = place_name(&mut archive, &folder);
        places.push(Place {
            folder,
            label,
            files,
        });
    }
    let chosen = choose(places, place)?;
    let mut left = UNPACKED_BYTES_MAX;
    let mut unpacked = Vec::new();
    for name in chosen.files {
        let bytes = read(&mut archive, &name, left)?;
        left -= bytes.len() as u64;
        unpacked.push(ArchivedFile { name, bytes });
    }
    Ok(unpacked)
}

/// A folder of an archive.
struct Place {
    folder: String,
    /// The name of the business in the folder's data, else the name of the folder.
    label: String,
    files: Vec<String>,
}

/// Whether `name` names a place, by the business or by the folder.
fn is_named(place: &Place, name: &str) -> bool {
    normal(&place.label) == normal(name) || place.folder.ends_with(name)
}

fn choose(places: Vec<Place>, asked: Option<&str>) -> Result<Place, ReadError> {
    let mut quoted_labels = Vec::new();
    for place in &places {
        quoted_labels.push(format!("{:?}", place.label));
    }
    let labels = quoted_labels.join(", ");
    let mut fitting = places;
    if let Some(asked) = asked {
        fitting.retain(|place| is_named(place, asked));
    }
    if fitting.len() > 1 {
        return Err(ReadError::whole(format!(
            "is an archive with reviews of several places: choose one with --place: {labels}"
        )));
    }
    fitting.pop().ok_or_else(|| {
        ReadError::whole(format!(
            "has no such place (--place); the places are {labels}"
        ))
    })
}

fn has_reviews(name: &str) -> bool {
    let lower = name.to_lowercase();
    let file = lower.rsplit('/').next().unwrap_or_default();
    let extension = file.rsplit('.').next().unwrap_or_default();
    let is_readable = ["json", "csv", "xml", "jsonl"].contains(&extension);
    is_readable && REVIEW_NAMES.iter().any(|part| file.contains(part))
}

/// The name of the business in the `data.json` of its folder, else the last part of the folder's path.
fn place_name(archive: &mut ZipArchive<Cursor<&[u8]>>, folder: &str) -> String {
    let folder_name = folder.rsplit('/').next().unwrap_or_default().to_owned();
    let path = format!("{folder}/data.json");
    let Ok(bytes) = read(archive, path.trim_start_matches('/'), PLACE_FILE_BYTES_MAX) else {
        return folder_name;
    };
    let data: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    for key in PLACE_NAME_KEYS {
        let name = data[key].as_str().unwrap_or_default();
        if !name.is_empty() && !name.contains('/') {
            return name.to_owned();
        }
    }
    folder_name
}

fn read(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    name: &str,
    bytes_max: u64,
) -> Result<Vec<u8>, ReadError> {
    let file = archive
        .by_name(name)
        .map_err(|error| ReadError::whole(format!("{name}: cannot be unpacked: {error}")))?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| ReadError::whole(format!("{name}: cannot be unpacked: {error}")))?;
    if bytes.len() as u64 > bytes_max {
        return Err(ReadError::whole(format!(
            "{name}: unpacks to more than {bytes_max} bytes"
        )));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            writer
                .start_file(*name, SimpleFileOptions::default())
                .expect("a file");
            writer.write_all(text.as_bytes()).expect("memory");
        }
        writer.finish().expect("an archive").into_inner()
    }

    #[test]
    fn the_files_of_one_place_are_unpacked_and_several_places_are_asked_for() {
        let north = ("Takeout/location-1/data.json", r#"{"title":"North"}"#);
        let one = ("Takeout/location-1/reviews.json", "[1]");
        let more = ("Takeout/location-1/reviews-2.json", "[2]");
        let other = ("Takeout/location-2/reviews.json", "[3]");
        let single = archive(&[north, one, more, ("Takeout/a.jpg", "")]);
        assert!(is_archive(&single));
        let names =
            |files: Vec<ArchivedFile>| files.into_iter().map(|file| file.name).collect::<Vec<_>>();
        assert_eq!(
            names(unpack(&single, None).expect("one place")),
            [one.0, more.0]
        );
        let both = archive(&[north, one, other]);
        let error = unpack(&both, None).expect_err("two places").to_string();
        assert!(
            error.ends_with("choose one with --place: \"North\", \"location-2\""),
            "{error}"
        );
        assert_eq!(names(unpack(&both, Some("north")).expect("North")), [one.0]);
        assert!(unpack(&both, Some("South")).is_err());
        assert!(unpack(&archive(&[("a.txt", "")]), None).is_err());
    }
}
