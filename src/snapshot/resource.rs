//! A stored document: body, media type, entity-tag and date, with its compressed variants.

use std::io::Write;
use std::sync::OnceLock;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::wire::date::Timestamp;
use crate::wire::etag::EntityTag;
use crate::wire::negotiate::Coding;
use crate::wire::text::hex;

/// Bodies below this many bytes are not compressed: they fit one packet either way.
const COMPRESS_FROM_BYTES: usize = 1_024;

/// Level of gzip, 1 to 9.
const GZIP_LEVEL: u32 = 6;

/// Quality of brotli, 0 to 11.
const BROTLI_QUALITY: i32 = 5;

/// Window of brotli, as the exponent of a power of two: 4 MiB, which every browser supports.
const BROTLI_WINDOW: i32 = 22;

/// One stored document of a snapshot.
#[derive(Debug)]
pub struct Resource {
    /// The uncompressed document.
    pub body: Bytes,
    /// Its Content-Type.
    pub media_type: &'static str,
    /// Strong entity-tag, computed from the body.
    pub etag: EntityTag,
    /// The date of the dataset, for Last-Modified.
    pub last_modified: Timestamp,
    /// SHA-256 of the body.
    pub digest: [u8; 32],
    gzip: OnceLock<Option<Bytes>>,
    brotli: OnceLock<Option<Bytes>>,
}

impl Resource {
    /// Creates a resource from a complete document; hashes it once.
    #[must_use]
    pub fn new(body: Bytes, media_type: &'static str, last_modified: Timestamp) -> Resource {
        let digest = Sha256::digest(&body).into();
        Resource {
            etag: EntityTag::from_digest(&digest),
            digest,
            body,
            media_type,
            last_modified,
            gzip: OnceLock::new(),
            brotli: OnceLock::new(),
        }
    }

    /// Returns the version of the body for URLs that identify it: eight hexadecimal digits.
    #[must_use]
    pub fn version(&self) -> String {
        hex(&self.digest[..4])
    }

    /// Returns the body in `coding`, or `None` if there is no such variant: not yet compressed, or not smaller.
    #[must_use]
    pub fn encoded(&self, coding: Coding) -> Option<&Bytes> {
        match coding {
            Coding::Identity => Some(&self.body),
            Coding::Gzip => self.gzip.get()?.as_ref(),
            Coding::Brotli => self.brotli.get()?.as_ref(),
        }
    }

    /// Creates the missing variants, until `cancelled`, which is asked before each, returns true.
    pub fn compress(&self, cancelled: &impl Fn() -> bool) {
        let variants: [(_, Compressor); 2] = [(&self.gzip, gzip), (&self.brotli, brotli)];
        for (variant, compressor) in variants {
            if variant.get().is_none() && !cancelled() {
                // Two snapshots may share a document that takes a minute: then a second thread waits here for the first.
                variant.get_or_init(|| smaller(&self.body, compressor));
            }
        }
    }
}

/// Compresses a whole body.
type Compressor = fn(&[u8]) -> std::io::Result<Vec<u8>>;

/// Compresses `body`. `None` if it is not worth it: the body is short, or the result is not smaller. Also `None` if the
/// compressor fails, which it only does if memory is exhausted.
fn smaller(body: &[u8], compressor: Compressor) -> Option<Bytes> {
    if body.len() < COMPRESS_FROM_BYTES {
        return None;
    }
    let mut encoded = compressor(body).ok()?;
    if encoded.len() >= body.len() {
        return None;
    }
    encoded.shrink_to_fit();
    Some(Bytes::from(encoded))
}

fn gzip(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder =
        flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL));
    encoder.write_all(body)?;
    encoder.finish()
}

fn brotli(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoded = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW,
        size_hint: body.len(),
        ..brotli::enc::BrotliEncoderParams::default()
    };
    brotli::BrotliCompress(&mut &body[..], &mut encoded, &parameters)?;
    Ok(encoded)
}
