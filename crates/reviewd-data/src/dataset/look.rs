//! `theme.css`, `logo.svg` and `logo.png`: the files of the owner's look.

use super::problem::{Problem, Problems};
use super::{FileSpec, Files, LOGO_PNG, LOGO_SVG, THEME};
use crate::model::site::{Logo, LogoKind};

/// The first bytes of a PNG file, and those of its first chunk (PNG, 5.2 and 11.2.1).
const PNG_START: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Reads the owner's stylesheet; `None` without one, or with a problem.
pub(super) fn theme(files: &Files, problems: &mut Problems) -> Option<String> {
    let bytes = sized(THEME, files.theme.as_deref(), problems)?;
    let Ok(theme) = std::str::from_utf8(bytes) else {
        problems.push(|| Problem::of_file(THEME.name, "is not UTF-8"));
        return None;
    };
    Some(theme.to_owned())
}

/// Reads the owner's logo; `None` without one, or with a problem.
pub(super) fn logo(files: &Files, problems: &mut Problems) -> Option<Logo> {
    let svg = sized(LOGO_SVG, files.logo_svg.as_deref(), problems);
    let png = sized(LOGO_PNG, files.logo_png.as_deref(), problems);
    if svg.is_some() && png.is_some() {
        problems
            .push(|| Problem::of_file(LOGO_PNG.name, "stands beside logo.svg: keep one of them"));
        return None;
    }
    if let Some(bytes) = svg {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        if !text.contains("<svg") {
            problems.push(|| Problem::of_file(LOGO_SVG.name, "is not an SVG image in UTF-8"));
            return None;
        }
        return Some(Logo {
            kind: LogoKind::Svg,
            bytes: bytes.to_vec(),
        });
    }
    let bytes = png?;
    let Some(kind) = png_size(bytes) else {
        problems.push(|| Problem::of_file(LOGO_PNG.name, "is not a PNG image"));
        return None;
    };
    Some(Logo {
        kind,
        bytes: bytes.to_vec(),
    })
}

/// Returns the bytes of a file that is not too large.
fn sized<'f>(file: FileSpec, bytes: Option<&'f [u8]>, problems: &mut Problems) -> Option<&'f [u8]> {
    let bytes = bytes?;
    if bytes.len() > file.bytes_max {
        let message = format!("has {} bytes, more than {}", bytes.len(), file.bytes_max);
        problems.push(|| Problem::of_file(file.name, message));
        return None;
    }
    Some(bytes)
}

/// Reads the size of a PNG image from its header.
fn png_size(bytes: &[u8]) -> Option<LogoKind> {
    let (width, rest) = bytes.strip_prefix(PNG_START)?.split_first_chunk()?;
    let (height, _) = rest.split_first_chunk()?;
    let width = u32::from_be_bytes(*width);
    let height = u32::from_be_bytes(*height);
    if width == 0 || height == 0 {
        return None;
    }
    Some(LogoKind::Png { width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The logo and the messages of the problems.
    fn read(
        svg: Option<&[u8]>,
        png: Option<&[u8]>,
        theme_css: Option<&[u8]>,
    ) -> (Option<Logo>, String) {
        let files = Files {
            logo_svg: svg.map(<[u8]>::to_vec),
            logo_png: png.map(<[u8]>::to_vec),
            theme: theme_css.map(<[u8]>::to_vec),
            ..Files::default()
        };
        let mut problems = Problems::default();
        let found = logo(&files, &mut problems);
        let _theme = theme(&files, &mut problems);
        let messages: Vec<String> = problems
            .listed
            .iter()
            .map(|one| format!("{} {}", one.file, one.message))
            .collect();
        (found, messages.join("; "))
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = PNG_START.to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    #[test]
    fn the_size_of_a_png_logo_is_that_of_its_header() {
        let (logo, problems) = read(None, Some(&png(300, 40)), None);
        assert_eq!(problems, "");
        let kind = LogoKind::Png {
            width: 300,
            height: 40,
        };
        assert_eq!(logo.map(|logo| logo.kind), Some(kind));
    }

    #[test]
    fn each_wrong_file_is_named() {
        let large = vec![b' '; THEME.bytes_max + 1];
        let fits = vec![b' '; THEME.bytes_max];
        let wide = png(1, 0);
        let whole = png(1, 1);
        let drawing: &[u8] = b"<svg/>";
        for (svg, png, theme, expected) in [
            (
                Some(&b"<p>"[..]),
                None,
                None,
                "logo.svg is not an SVG image in UTF-8",
            ),
            (None, Some(&wide[..]), None, "logo.png is not a PNG image"),
            (
                Some(drawing),
                Some(&whole[..]),
                None,
                "logo.png stands beside logo.svg: keep one of them",
            ),
            (None, None, Some(&b"\xff"[..]), "theme.css is not UTF-8"),
            (
                None,
                None,
                Some(&large[..]),
                "theme.css has 65537 bytes, more than 65536",
            ),
            (Some(drawing), None, Some(&fits[..]), ""),
        ] {
            let (_, problems) = read(svg, png, theme);
            assert_eq!(problems, expected);
        }
    }
}
