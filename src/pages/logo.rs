//! The owner's logo: the file, and how the pages show it.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::Pages;
use crate::model::site::{Logo, LogoKind};
use crate::wire::text::hex;

/// Height of the logo on the pages, in pixels; that of the stylesheet.
const HEIGHT: u64 = 48;

/// The logo of the pages of one snapshot.
#[derive(Debug)]
pub(crate) struct LogoImage {
    pub(crate) bytes: Bytes,
    /// The path with the version of the file.
    pub(super) src: String,
    version: String,
    pub(super) height: u64,
    /// `None` for a drawing, which has no size of its own.
    pub(super) width: Option<u64>,
    /// Whether it is a PNG image, which previews of links can show; else a drawing.
    pub(crate) is_picture: bool,
}

impl LogoImage {
    pub(super) fn of(logo: &Logo) -> LogoImage {
        let version = hex(&Sha256::digest(&logo.bytes)[..4]);
        let mut image = LogoImage {
            bytes: Bytes::copy_from_slice(&logo.bytes),
            src: format!("/logo?v={version}"),
            version,
            height: HEIGHT,
            width: None,
            is_picture: false,
        };
        if let LogoKind::Png { width, height } = logo.kind {
            image.width = Some(u64::from(width) * HEIGHT / u64::from(height));
            image.is_picture = true;
        }
        image
    }
}

impl Pages {
    /// Returns the logo; `None` if the owner has none.
    pub(crate) fn logo(&self) -> Option<&LogoImage> {
        self.layout.logo.as_ref()
    }

    /// Returns whether `query` is the version of the logo, so that its response may be cached for ever.
    pub(crate) fn is_logo_version(&self, query: &str) -> bool {
        let logo = self.layout.logo.as_ref();
        logo.is_some_and(|logo| query.strip_prefix("v=") == Some(&logo.version))
    }
}
