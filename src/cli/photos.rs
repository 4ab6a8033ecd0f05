//! `import --media`: fetches the pictures of reviews into the directory `media` of the folder.
//!
//! Files are written to a directory beside `media`, and moved when all are there, so an interruption leaves the folder
//! as it was. `media/sources.json` has the address of each picture, so that none is fetched twice.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sha2::{Digest, Sha256};

use super::exit::{Failure, Status, tell};
use super::folder::put;
use super::progress::WorkProgress;
use crate::import::fetch::{FetchError, FetchSettings, Fetcher};
use crate::import::photo::{EncodedPhoto, PhotoError};
use crate::import::{PhotoCounts, PhotoFiles, PhotoTable, short_message};
use crate::model::{MEDIA_DIRECTORY, PHOTO_EXTENSION};
use crate::wire::text::hex;

/// The file with the addresses of the pictures.
const SOURCES: &str = "sources.json";

/// The directory of files that are not complete.
const STAGING: &str = ".media.new";

/// Pictures that are fetched at the same time.
const THREADS: usize = 8;

/// The exit status of a program that Ctrl-C has ended, as shells have it: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// Most failures that a report names.
const FAILURES_MAX: usize = 10;

/// Why a picture was not fetched.
#[derive(Debug, thiserror::Error)]
enum PictureError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Photo(#[from] PhotoError),
    #[error("cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// The pictures of a folder.
pub(super) struct PhotoStore {
    media: PathBuf,
    staging: PathBuf,
    /// The pictures that the folder has.
    pub(super) table: PhotoTable,
}

/// What one import has fetched, not yet in the folder.
#[derive(Default)]
pub(super) struct FetchedPhotos {
    pub(super) table: PhotoTable,
    pub(super) counts: PhotoCounts,
}

impl PhotoStore {
    /// Reads which pictures the folder has.
    pub(super) fn open(folder: &Path) -> Result<PhotoStore, Failure> {
        let media = folder.join(MEDIA_DIRECTORY);
        let path = media.join(SOURCES);
        let table = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let message = format!(
                    "{}: cannot be read: {}",
                    path.display(),
                    short_message(&error)
                );
                Failure::new(Status::Data, message)
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => PhotoTable::new(),
            Err(error) => return Err(io_failure(&path, &error)),
        };
        Ok(PhotoStore {
            media,
            staging: folder.join(STAGING),
            table,
        })
    }

    /// Fetches the pictures at these addresses; a picture that cannot be fetched is counted and stays where it is. On
    /// Ctrl-C the program ends, and the folder is as it was.
    ///
    /// # Errors
    /// If the settings cannot be used, or the staging directory cannot be created.
    pub(super) fn fetch(
        &self,
        urls: &[String],
        settings: &FetchSettings,
    ) -> Result<FetchedPhotos, Failure> {
        let fetcher = Fetcher::new(settings)
            .map_err(|error| Failure::new(Status::Usage, format!("--media-ca: {error}")))?;
        // A killed import may have left the directory.
        remove_directory(&self.staging).map_err(|error| io_failure(&self.staging, &error))?;
        fs::create_dir(&self.staging).map_err(|error| io_failure(&self.staging, &error))?;
        let is_fetching = clean_up_on_interrupt(&self.staging);
        let job = FetchJob {
            urls,
            next: AtomicUsize::new(0),
            fetcher,
            staging: &self.staging,
            decoder: Mutex::new(()),
            progress: WorkProgress::begin("fetching pictures", urls.len() as u64),
            fetched: Mutex::new(FetchedPhotos::default()),
        };
        thread::scope(|scope| {
            for _ in 0..THREADS.min(urls.len()) {
                scope.spawn(|| job.run());
            }
        });
        let fetched = job.fetched.into_inner();
        // From here on the files are moved and written, which takes a moment and is not interrupted.
        is_fetching.store(false, Ordering::Relaxed);
        Ok(fetched.unwrap_or_else(PoisonError::into_inner))
    }

    /// Moves the fetched pictures into the folder.
    pub(super) fn keep(&mut self, fetched: PhotoTable) -> Result<(), Failure> {
        self.move_files()
            .map_err(|error| io_failure(&self.media, &error))?;
        self.table.extend(fetched);
        self.write_table()
    }

    fn move_files(&self) -> io::Result<()> {
        fs::create_dir_all(&self.media)?;
        for entry in fs::read_dir(&self.staging)? {
            let entry = entry?;
            fs::rename(entry.path(), self.media.join(entry.file_name()))?;
        }
        fs::remove_dir(&self.staging)?;
        File::open(&self.media)?.sync_all()
    }

    /// Removes the fetched pictures that were not moved into the folder.
    pub(super) fn discard(&self) {
        let _gone = remove_directory(&self.staging);
    }

    /// Removes the files of all pictures but those of which one of `digests` is a file; returns how many it removed.
    pub(super) fn remove_all_but(&mut self, digests: &[String]) -> Result<u64, Failure> {
        let mut kept: HashSet<String> = digests.iter().cloned().collect();
        let before = self.table.len();
        self.table
            .retain(|_, files| kept.contains(&files.full) || kept.contains(&files.thumbnail));
        // A review may use only one of the two files of a picture; the other one belongs to it.
        for files in self.table.values() {
            kept.insert(files.full.clone());
            kept.insert(files.thumbnail.clone());
        }
        let mut removed = 0;
        let entries = match fs::read_dir(&self.media) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(io_failure(&self.media, &error)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(digest) = name.strip_suffix(PHOTO_EXTENSION) else {
                continue;
            };
            if !kept.contains(digest) {
                fs::remove_file(entry.path()).map_err(|error| io_failure(&entry.path(), &error))?;
                removed += 1;
            }
        }
        if self.table.len() < before {
            self.write_table()?;
        }
        Ok(removed)
    }

    fn write_table(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.table).expect("texts are JSON");
        put(&self.media.join(SOURCES), None, text.as_bytes())
    }
}

/// What the threads of one import share.
struct FetchJob<'j> {
    urls: &'j [String],
    /// The position of the next address.
    next: AtomicUsize,
    fetcher: Fetcher,
    staging: &'j Path,
    /// Held while a picture is decoded, which takes hundreds of megabytes.
    decoder: Mutex<()>,
    progress: WorkProgress,
    fetched: Mutex<FetchedPhotos>,
}

/// The files of a picture that was fetched.
struct WrittenPhoto {
    files: PhotoFiles,
    /// The bytes of both files.
    bytes: u64,
}

impl FetchJob<'_> {
    /// Fetches one picture after another, until no thread has any left to begin.
    fn run(&self) {
        while let Some(url) = self.urls.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = self.fetch(url);
            let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Ok(written) => {
                    fetched.table.insert(url.clone(), written.files);
                    fetched.counts.fetched += 1;
                    fetched.counts.bytes += written.bytes;
                }
                Err(error) => {
                    fetched.counts.failed += 1;
                    if fetched.counts.failures.len() < FAILURES_MAX {
                        let url = crate::wire::text::quote(url);
                        fetched.counts.failures.push(format!("{url} {error}"));
                    }
                }
            }
            drop(fetched);
            self.progress.step();
        }
    }

    /// Fetches a picture, and writes both of its files.
    fn fetch(&self, url: &str) -> Result<WrittenPhoto, PictureError> {
        let bytes = self.fetcher.fetch(url)?;
        let decoder = self.decoder.lock().unwrap_or_else(PoisonError::into_inner);
        let photo = EncodedPhoto::of(&bytes)?;
        drop(decoder);
        let files = PhotoFiles {
            full: self.write(&photo.full)?,
            thumbnail: self.write(&photo.thumbnail)?,
        };
        let bytes = photo.full.len() + photo.thumbnail.len();
        Ok(WrittenPhoto {
            files,
            bytes: bytes as u64,
        })
    }

    /// Writes a file, and returns its digest.
    fn write(&self, bytes: &[u8]) -> io::Result<String> {
        let digest = hex(&Sha256::digest(bytes));
        write_file(
            &self.staging.join(format!("{digest}{PHOTO_EXTENSION}")),
            bytes,
        )?;
        Ok(digest)
    }
}

/// On Ctrl-C, removes the staging directory and ends the program, as long as the returned flag is set.
fn clean_up_on_interrupt(staging: &Path) -> Arc<AtomicBool> {
    let is_fetching = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&is_fetching);
    let staging = staging.to_owned();
    let thread = thread::Builder::new().name("interrupt".to_owned());
    // Without the thread Ctrl-C ends the program as before, and the next import removes the directory.
    let _started = thread.spawn(move || {
        let built = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        let Ok(runtime) = built else {
            return;
        };
        while runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            if flag.load(Ordering::Relaxed) {
                let _gone = remove_directory(&staging);
                tell("interrupted: nothing was written");
                std::process::exit(INTERRUPTED);
            }
        }
    });
    is_fetching
}

/// Writes a file, and returns when it is on disk.
fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn remove_directory(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn io_failure(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Status::Io, format!("{}: {error}", path.display()))
}
