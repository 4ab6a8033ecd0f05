//! Converts pictures from the web into those that the folder keeps: JPEG in two sizes, without metadata.
//!
//! The first bytes tell the format; the name of the file and the header of the response do not count. A picture whose
//! metadata ask for a rotation is rotated, and then the metadata are removed. Transparent parts become white.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, Rgb, RgbImage,
};
use thiserror::Error;

/// Largest number of points of a picture, 50 million; a larger one is refused before it is decoded.
const POINTS_MAX: u64 = 50_000_000;

/// Memory for decoding a picture of that size, with eight bytes for a point.
const DECODE_BYTES_MAX: u64 = 8 * POINTS_MAX;

/// Longest side of the large picture, and of the small one.
const SIDE_MAX: u32 = 1_600;
const THUMBNAIL_SIDE_MAX: u32 = 320;

/// Quality of the JPEG files. Our choice: the usual one for photos on pages.
const QUALITY: u8 = 82;

/// A picture in two sizes, each the bytes of a JPEG file.
#[derive(Clone, Debug)]
pub struct EncodedPhoto {
    /// At most 1,600 points wide and high.
    pub full: Vec<u8>,
    /// At most 320 points wide and high.
    pub thumbnail: Vec<u8>,
}

/// Why bytes are not a picture that can be kept.
#[derive(Debug, Error)]
pub enum PhotoError {
    /// The first bytes are of another format.
    #[error("is not a JPEG, PNG or WebP picture")]
    Format,
    /// It has too many points.
    #[error("has {width} x {height} points, more than {POINTS_MAX}")]
    Size {
        /// Points in a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// It is damaged.
    #[error("cannot be decoded: {0}")]
    Damaged(#[from] ImageError),
}

impl EncodedPhoto {
    /// Decodes a picture and encodes it in both sizes.
    ///
    /// # Errors
    /// See [`PhotoError`].
    pub fn of(bytes: &[u8]) -> Result<EncodedPhoto, PhotoError> {
        let format = image::guess_format(bytes).map_err(|_| PhotoError::Format)?;
        if !matches!(
            format,
            ImageFormat::Jpeg | ImageFormat::Png | ImageFormat::WebP
        ) {
            return Err(PhotoError::Format);
        }
        let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
        let mut limits = Limits::default();
        limits.max_alloc = Some(DECODE_BYTES_MAX);
        reader.limits(limits);
        let mut decoder = reader.into_decoder()?;
        let (width, height) = decoder.dimensions();
        if u64::from(width) * u64::from(height) > POINTS_MAX {
            return Err(PhotoError::Size { width, height });
        }
        // A picture without readable metadata is upright.
        let orientation = decoder.orientation().ok();
        let mut picture = DynamicImage::from_decoder(decoder)?;
        if let Some(orientation) = orientation {
            picture.apply_orientation(orientation);
        }
        Ok(EncodedPhoto {
            full: encode(&picture, SIDE_MAX)?,
            thumbnail: encode(&picture, THUMBNAIL_SIDE_MAX)?,
        })
    }
}

/// Encodes a picture that is at most `side_max` points wide and high.
fn encode(picture: &DynamicImage, side_max: u32) -> Result<Vec<u8>, ImageError> {
    let is_larger = picture.width().max(picture.height()) > side_max;
    let opaque = if is_larger {
        on_white(&picture.resize(side_max, side_max, FilterType::Triangle))
    } else {
        on_white(picture)
    };
    let mut bytes = Vec::new();
    opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY))?;
    Ok(bytes)
}

fn on_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let source = picture.to_rgba8();
    let mut opaque = RgbImage::new(source.width(), source.height());
    for (from, to) in source.pixels().zip(opaque.pixels_mut()) {
        let [red, green, blue, alpha] = from.0;
        *to = Rgb([red, green, blue].map(|value| blend(value, alpha)));
    }
    opaque
}

/// Mixes a value with white.
fn blend(value: u8, alpha: u8) -> u8 {
    let alpha = u16::from(alpha);
    let mixed = (u16::from(value) * alpha + 255 * (255 - alpha)) / 255;
    u8::try_from(mixed).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;

    fn png(width: u32, height: u32, point: [u8; 4]) -> Vec<u8> {
        let picture = RgbaImage::from_pixel(width, height, Rgba(point));
        let mut bytes = Cursor::new(Vec::new());
        picture
            .write_to(&mut bytes, ImageFormat::Png)
            .expect("a picture");
        bytes.into_inner()
    }

    fn size(bytes: &[u8]) -> (u32, u32) {
        let picture = image::load_from_memory_with_format(bytes, ImageFormat::Jpeg);
        let picture = picture.expect("a JPEG picture");
        (picture.width(), picture.height())
    }

    #[test]
    fn a_picture_is_kept_in_two_sizes() {
        let large = EncodedPhoto::of(&png(2_000, 1_000, [200, 0, 0, 255])).expect("a picture");
        assert_eq!(size(&large.full), (1_600, 800));
        assert_eq!(size(&large.thumbnail), (320, 160));
        let small = EncodedPhoto::of(&png(40, 30, [200, 0, 0, 255])).expect("a picture");
        assert_eq!(size(&small.full), (40, 30));
    }

    #[test]
    fn transparent_parts_become_white() {
        let photo = EncodedPhoto::of(&png(8, 8, [0, 0, 0, 0])).expect("a picture");
        let picture = image::load_from_memory(&photo.full).expect("a picture");
        assert_eq!(picture.to_rgb8().get_pixel(4, 4).0, [255; 3]);
    }

    #[test]
    fn a_picture_is_turned_as_its_metadata_say_and_loses_them() {
        let mut jpeg = Vec::new();
        let picture = RgbImage::from_pixel(40, 20, Rgb([9, 9, 9]));
        picture
            .write_with_encoder(JpegEncoder::new(&mut jpeg))
            .expect("a picture");
        // A segment of metadata with the orientation 6: a quarter turn clockwise.
        let exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        jpeg.splice(2..2, exif.iter().copied());
        let photo = EncodedPhoto::of(&jpeg).expect("a picture");
        assert_eq!(size(&photo.full), (20, 40));
        assert_eq!(memchr::memmem::find(&photo.full, b"Exif"), None);
    }

    #[test]
    fn other_bytes_and_too_many_points_are_refused() {
        for bytes in [&b""[..], b"<svg/>", b"GIF89a", b"\x89PNG\r\n\x1a\n"] {
            assert!(EncodedPhoto::of(bytes).is_err(), "{bytes:?}");
        }
        // The size stands in the first chunk, whose checksum follows it.
        let mut huge = png(1, 1, [0; 4]);
        huge[16..20].copy_from_slice(&10_000_u32.to_be_bytes());
        huge[20..24].copy_from_slice(&5_001_u32.to_be_bytes());
        let mut checksum = crc(&huge[12..29]).to_be_bytes();
        huge[29..33].swap_with_slice(&mut checksum);
        let refused = EncodedPhoto::of(&huge).expect_err("too many points");
        assert!(
            matches!(
                refused,
                PhotoError::Size {
                    width: 10_000,
                    height: 5_001
                }
            ),
            "{refused}"
        );
    }

    /// The checksum of PNG.
    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 {
                    0xedb8_8320 ^ (crc >> 1)
                } else {
                    crc >> 1
                };
            }
        }
        !crc
    }
}
