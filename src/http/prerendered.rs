//! Prerendered parts of the responses with a stored document: heads, as bytes and as header maps, that lack only the date
//! of now, and large bodies in a memfd for `sendfile`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hyper::header::HeaderMap;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::wire::negotiate::Coding;

/// Bodies from this many bytes on are kept a second time where the kernel can send them without copying: for 1 MB that
/// is a third of the work.
const FILE_BYTES_MIN: usize = 64 * 1024;

/// Bodies beyond this are not: a second copy of them is more than a machine may have.
const FILE_BYTES_MAX: usize = 64 << 20;

/// What is ready of one document, by coding; each place is written once, when it is first needed or in the background.
#[derive(Debug, Default)]
pub(crate) struct PrerenderedHeads {
    served: [OnceLock<Box<[u8]>>; 4],
    not_modified: [OnceLock<Box<[u8]>>; 4],
    /// The same two for HTTP/2, where hyper writes the head.
    served_maps: [OnceLock<HeaderMap>; 4],
    not_modified_maps: [OnceLock<HeaderMap>; 4],
    files: [OnceLock<Arc<MemFd>>; 4],
}

impl PrerenderedHeads {
    /// Returns the place of the head of a 200 in `coding`.
    pub(crate) fn served(&self, coding: Coding) -> &OnceLock<Box<[u8]>> {
        &self.served[coding as usize]
    }

    /// Returns the place of the head of a 304 to a request that would have got `coding`.
    pub(crate) fn not_modified(&self, coding: Coding) -> &OnceLock<Box<[u8]>> {
        &self.not_modified[coding as usize]
    }

    /// Returns the place of the fields of a 200 in `coding`.
    pub(crate) fn served_map(&self, coding: Coding) -> &OnceLock<HeaderMap> {
        &self.served_maps[coding as usize]
    }

    /// Returns the place of the fields of a 304 to a request that would have got `coding`.
    pub(crate) fn not_modified_map(&self, coding: Coding) -> &OnceLock<HeaderMap> {
        &self.not_modified_maps[coding as usize]
    }

    /// Returns the body in `coding` as the kernel sends it, where it was stored.
    pub(crate) fn file(&self, coding: Coding) -> Option<&Arc<MemFd>> {
        self.files[coding as usize].get()
    }

    /// Returns where the kernel has `bytes`, if they are a large part of `body`, the same memory, and that was stored.
    pub(crate) fn part(&self, body: &[u8], bytes: &[u8]) -> Option<MemFdRange> {
        let file = self.file(Coding::Identity)?;
        let at = bytes.as_ptr().addr().checked_sub(body.as_ptr().addr())?;
        let is_part = bytes.len() >= FILE_BYTES_MIN && at.checked_add(bytes.len())? <= body.len();
        is_part.then(|| MemFdRange {
            file: Arc::clone(file),
            at,
        })
    }

    /// Stores `body` for the kernel, if it is worth it and was not yet; where the system refuses, it is sent from `body`.
    pub(crate) fn store(&self, coding: Coding, body: &[u8]) {
        let place = &self.files[coding as usize];
        let is_worth_it = (FILE_BYTES_MIN..=FILE_BYTES_MAX).contains(&body.len());
        if is_worth_it
            && place.get().is_none()
            && let Ok(file) = MemFd::new(body)
        {
            // A second thread has stored the same bytes.
            let _ = place.set(Arc::new(file));
        }
    }
}

/// A sealed memfd: bytes in anonymous memory with a descriptor, which can no longer be changed.
#[derive(Debug)]
pub struct MemFd(OwnedFd);

impl MemFd {
    /// Copies `bytes` into a memfd and seals it.
    ///
    /// # Errors
    /// Where the kernel has no memory, or no descriptor, for it.
    pub(crate) fn new(bytes: &[u8]) -> io::Result<MemFd> {
        let mut file = File::from(MemFd::begin()?);
        file.write_all(bytes)?;
        let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, all)?;
        Ok(MemFd(OwnedFd::from(file)))
    }

    /// Creates it empty, and never to be executed: Linux before 6.3 does not know how to say that, and one that is set to
    /// (`vm.memfd_noexec`) refuses all else.
    fn begin() -> rustix::io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let create = |flags| memfd_create("reviewd-document", flags);
        match create(flags | MemfdFlags::NOEXEC_SEAL) {
            Err(Errno::INVAL) => create(flags),
            outcome => outcome,
        }
    }
}

impl AsFd for MemFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A body that is sent from where it is stored.
#[derive(Clone, Debug)]
pub struct FileBody {
    /// The bytes.
    pub bytes: Bytes,
    /// The same bytes, where the kernel can send them by itself.
    pub file: Option<MemFdRange>,
    /// What comes behind them, seldom more than brackets.
    pub tail: Bytes,
}

/// A part of what the kernel has.
#[derive(Clone, Debug)]
pub struct MemFdRange {
    /// Where it is.
    pub file: Arc<MemFd>,
    /// Its first byte; its length is that of the bytes it goes with.
    pub at: usize,
}

impl MemFdRange {
    /// Returns all of `file`.
    pub(crate) fn whole(file: &Arc<MemFd>) -> MemFdRange {
        MemFdRange {
            file: Arc::clone(file),
            at: 0,
        }
    }

    /// Reads its first `bytes` bytes as the kernel would send them; for the oracle.
    ///
    /// # Errors
    /// When the file ends before.
    #[doc(hidden)]
    pub fn read(&self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut read = vec![0; bytes];
        let mut filled = 0;
        while filled < bytes {
            let offset = (self.at + filled) as u64;
            match rustix::io::pread(&*self.file, &mut read[filled..], offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => filled += more,
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn bodies_of_the_right_size_are_stored_and_cannot_be_changed() {
        for (size, is_stored) in [
            (FILE_BYTES_MIN - 1, false),
            (FILE_BYTES_MIN, true),
            (FILE_BYTES_MAX, true),
            (FILE_BYTES_MAX + 1, false),
        ] {
            let ready = PrerenderedHeads::default();
            ready.store(Coding::Gzip, &vec![0; size]);
            assert_eq!(ready.file(Coding::Gzip).is_some(), is_stored, "{size}");
        }
        let ready = PrerenderedHeads::default();
        ready.store(Coding::Gzip, &[7; FILE_BYTES_MIN]);
        assert!(ready.file(Coding::Identity).is_none());
        let file = ready.file(Coding::Gzip).unwrap();
        let knows_noexec = memfd_create("probe", MemfdFlags::NOEXEC_SEAL).is_ok();
        let mode = rustix::fs::fstat(file).unwrap().st_mode;
        assert_eq!(mode & 0o111 == 0, knows_noexec, "{mode:o}");
        let mut own = File::from(file.0.try_clone().unwrap());
        assert!(own.write_all(b"x").is_err() && own.set_len(1).is_err());
        let mut read = Vec::new();
        std::io::Seek::rewind(&mut own).unwrap();
        own.read_to_end(&mut read).unwrap();
        assert_eq!(read, [7; FILE_BYTES_MIN]);
    }

    #[test]
    fn a_large_part_of_a_stored_body_is_found_by_its_place() {
        let ready = PrerenderedHeads::default();
        let body = vec![7; FILE_BYTES_MIN + 10];
        let at = |bytes: &[u8]| ready.part(&body, bytes).map(|part| part.at);
        assert_eq!(at(&body), None, "not stored yet");
        ready.store(Coding::Identity, &body);
        assert_eq!(at(&body[3..]), Some(3));
        assert_eq!(at(&body[..FILE_BYTES_MIN]), Some(0));
        assert_eq!(at(&body[10..]), Some(10));
        assert_eq!(at(&body[11..]), None, "too small");
        assert_eq!(at(&body.clone()), None, "the same bytes elsewhere");
    }
}
