//! The owner's colors, corners and typefaces.
//!
//! They are rules at the end of two stylesheets, that of the pages and that of the frame, attributes of the badge, and
//! values for the element. In the stylesheet of the pages, the owner's own rules come last.
//!
//! An accent that cannot be read is repaired, in the light scheme and in the dark one separately: its lightness in
//! OKLCH changes, and nothing else, until it has a contrast of 4.5 with the cards and the ground of the page (WCAG 2.2,
//! 1.4.3).

use serde::Serialize;

use crate::model::site::{Color, Font, Scheme, Site};

/// Least contrast of text.
const CONTRAST_MIN: f64 = 4.5;

/// Colors of the cards and the ground in the light scheme, as in the stylesheet.
const LIGHT_GROUNDS: Grounds = Grounds {
    colors: [rgb(0xff, 0xff, 0xff), rgb(0xf6, 0xf6, 0xf3)],
    are_dark: false,
};
/// The same in the dark scheme.
const DARK_GROUNDS: Grounds = Grounds {
    colors: [rgb(0x19, 0x1e, 0x22), rgb(0x11, 0x14, 0x17)],
    are_dark: true,
};

/// The light grounds of other sites on which the accent of the element can be read: from white to a light gray. Our
/// choice: most pages have such a ground, and a color that the page itself sets wins.
const ELEMENT_LIGHT_GROUNDS: Grounds = Grounds {
    colors: [rgb(0xff, 0xff, 0xff), rgb(0xe8, 0xe8, 0xe4)],
    are_dark: false,
};
/// The dark grounds: from black to a dark gray.
const ELEMENT_DARK_GROUNDS: Grounds = Grounds {
    colors: [rgb(0x00, 0x00, 0x00), rgb(0x2d, 0x35, 0x3a)],
    are_dark: true,
};

/// The colors of text on the accent, of which the one with more contrast is used.
const LIGHT_INK: Color = rgb(0xff, 0xff, 0xff);
const DARK_INK: Color = rgb(0x0d, 0x1b, 0x19);

/// The condition of the dark colors in the stylesheet.
const DARK_MEDIA: &str = "@media (prefers-color-scheme: dark)";

const SYSTEM: &str = "system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", \"Liberation Sans\", Arial, sans-serif";
const SERIF: &str = "\"Iowan Old Style\", \"Palatino Linotype\", Palatino, \"URW Palladio L\", Georgia, \"Noto Serif\", serif";
const HUMANIST: &str =
    "Seravek, \"Gill Sans Nova\", Ubuntu, Calibri, \"DejaVu Sans\", source-sans-pro, sans-serif";
const ROUNDED: &str = "ui-rounded, \"Hiragino Maru Gothic ProN\", Quicksand, Comfortaa, Manjari, \"Arial Rounded MT\", Calibri, sans-serif";

/// How often the range of lightness is halved: to less than a thousandth, which is finer than a step of a channel.
const HALVINGS: u32 = 12;

/// The colors on which an accent must be readable.
struct Grounds {
    colors: [Color; 2],
    are_dark: bool,
}

/// Returns the stylesheet of the pages with the owner's choices.
pub(super) fn stylesheet(base: &str, site: &Site) -> String {
    let dark_media = match site.scheme {
        Scheme::Auto => DARK_MEDIA,
        Scheme::Light => "@media not all",
        Scheme::Dark => "@media all",
    };
    let mut sheet = base.replace(DARK_MEDIA, dark_media);
    if let Some(scheme) = default_theme(site) {
        sheet.push_str(&format!(":root {{ color-scheme: {scheme}; }}\n"));
    }
    if let Some(accent) = site.accent {
        // Only for screens: on paper the accent is that of the stylesheet.
        if site.scheme != Scheme::Dark {
            let rule = accent_rule(accent, &LIGHT_GROUNDS);
            sheet.push_str(&format!("@media screen {{ {rule} }}\n"));
        }
        if site.scheme != Scheme::Light {
            let rule = accent_rule(accent, &DARK_GROUNDS);
            sheet.push_str(&format!("{dark_media} {{ @media screen {{ {rule} }} }}\n"));
        }
    }
    if let Some(radius) = site.radius {
        sheet.push_str(&format!(":root {{ --radius: {radius}px; }}\n"));
    }
    if let Some(typefaces) = typefaces(site.font) {
        sheet.push_str(&format!(
            ":root {{ --font: {typefaces}; --font-display: {typefaces}; }}\n"
        ));
    }
    if let Some(theme) = &site.theme {
        sheet.push_str(theme);
    }
    sheet
}

/// Returns the stylesheet of the frame with the owner's choices. The scheme is not among them, because the HTML of the
/// frame names it.
pub(super) fn frame_stylesheet(base: &str, site: &Site) -> String {
    let mut sheet = base.to_owned();
    if let Some(accent) = site.accent {
        let light = hex_color(repaired(accent, &LIGHT_GROUNDS));
        let dark = hex_color(repaired(accent, &DARK_GROUNDS));
        sheet.push_str(&format!(
            ":root {{ --accent: {light}; }}\n\
             {DARK_MEDIA} {{ :root:not([data-theme]) {{ --accent: {dark}; }} }}\n\
             [data-theme=dark] {{ --accent: {dark}; }}\n"
        ));
    }
    if let Some(radius) = site.radius {
        sheet.push_str(&format!(":root {{ --radius: {radius}px; }}\n"));
    }
    if let Some(typefaces) = typefaces(site.font) {
        sheet.push_str(&format!(":root {{ --font: {typefaces}; }}\n"));
    }
    sheet
}

/// Returns the only color scheme that the owner wants, for pages, frame and badge; `None` follows the visitor's system.
pub(super) fn default_theme(site: &Site) -> Option<&'static str> {
    match site.scheme {
        Scheme::Auto => None,
        Scheme::Light => Some("light"),
        Scheme::Dark => Some("dark"),
    }
}

/// Returns the typefaces of the badge.
pub(super) fn badge_font(site: &Site) -> &'static str {
    typefaces(site.font).unwrap_or(SYSTEM)
}

/// The owner's choices that the element uses. It takes font and text color from the page around it.
#[derive(Debug, Serialize)]
pub(super) struct ElementLook {
    accent: Option<ElementAccent>,
    /// Pixels.
    radius: Option<u8>,
}

/// The accent for a page with dark text on light ground, and for the opposite.
#[derive(Debug, Serialize)]
struct ElementAccent {
    light: String,
    dark: String,
}

impl ElementLook {
    pub(super) fn of(site: &Site) -> ElementLook {
        ElementLook {
            accent: site.accent.map(|accent| ElementAccent {
                light: hex_color(repaired(accent, &ELEMENT_LIGHT_GROUNDS)),
                dark: hex_color(repaired(accent, &ELEMENT_DARK_GROUNDS)),
            }),
            radius: site.radius,
        }
    }
}

/// The value of `<meta name="color-scheme">`.
pub(super) fn color_scheme(site: &Site) -> &'static str {
    match site.scheme {
        Scheme::Auto => "light dark",
        Scheme::Light => "light",
        Scheme::Dark => "dark",
    }
}

/// The typefaces of texts and headings; `None` for those of the stylesheet, which differ.
fn typefaces(font: Font) -> Option<&'static str> {
    match font {
        Font::Mixed => None,
        Font::System => Some(SYSTEM),
        Font::Serif => Some(SERIF),
        Font::Humanist => Some(HUMANIST),
        Font::Rounded => Some(ROUNDED),
    }
}

/// The rule that sets the accent, as it can be read on `grounds`, and the color of text on it.
fn accent_rule(accent: Color, grounds: &Grounds) -> String {
    let accent = repaired(accent, grounds);
    let ink = if contrast(LIGHT_INK, accent) >= contrast(DARK_INK, accent) {
        LIGHT_INK
    } else {
        DARK_INK
    };
    format!(
        ":root {{ --accent: {}; --accent-ink: {}; }}",
        hex_color(accent),
        hex_color(ink)
    )
}

/// Returns the color itself if it can be read on `grounds`, else with the nearest lightness with which it can: darker
/// on light grounds, lighter on dark ones.
fn repaired(color: Color, grounds: &Grounds) -> Color {
    if has_contrast(color, grounds) {
        return color;
    }
    let mut oklab = Oklab::of(color);
    // White can be read on dark grounds and black on light ones, so one of them is where the search begins.
    let mut passing = if grounds.are_dark { 1.0 } else { 0.0 };
    let mut failing = oklab.lightness;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(failing, passing);
        oklab.lightness = middle;
        if has_contrast(oklab.to_color(), grounds) {
            passing = middle;
        } else {
            failing = middle;
        }
    }
    oklab.lightness = passing;
    let repaired = oklab.to_color();
    if has_contrast(repaired, grounds) {
        return repaired;
    }
    // A saturated color of this lightness is outside of sRGB, and was clipped.
    if grounds.are_dark {
        rgb(255, 255, 255)
    } else {
        rgb(0, 0, 0)
    }
}

fn has_contrast(color: Color, grounds: &Grounds) -> bool {
    grounds
        .colors
        .iter()
        .all(|ground| contrast(color, *ground) >= CONTRAST_MIN)
}

/// The contrast ratio of WCAG 2.2.
fn contrast(one: Color, other: Color) -> f64 {
    let one = luminance(one) + 0.05;
    let other = luminance(other) + 0.05;
    one.max(other) / one.min(other)
}

fn luminance(color: Color) -> f64 {
    let [red, green, blue] = linear(color);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The channels as linear light, from 0 to 1.
fn linear(color: Color) -> [f64; 3] {
    [color.red, color.green, color.blue].map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    })
}

/// A channel from linear light; values outside of sRGB are clipped.
fn channel(linear: f64) -> u8 {
    let value = linear.clamp(0.0, 1.0);
    let encoded = if value <= 0.003_130_8 {
        value * 12.92
    } else {
        1.055 * value.powf(1.0 / 2.4) - 0.055
    };
    (encoded * 255.0).round() as u8
}

/// A color of OKLab (Björn Ottosson, 2020); hue and chroma of OKLCH are the direction and length of `a` and `b`.
struct Oklab {
    lightness: f64,
    a: f64,
    b: f64,
}

impl Oklab {
    fn of(color: Color) -> Oklab {
        let [red, green, blue] = linear(color);
        let l = (0.412_221_47 * red + 0.536_332_54 * green + 0.051_445_99 * blue).cbrt();
        let m = (0.211_903_5 * red + 0.680_699_55 * green + 0.107_396_96 * blue).cbrt();
        let s = (0.088_302_46 * red + 0.281_718_84 * green + 0.629_978_7 * blue).cbrt();
        Oklab {
            lightness: 0.210_454_26 * l + 0.793_617_79 * m - 0.004_072_05 * s,
            a: 1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
            b: 0.025_904_04 * l + 0.782_771_77 * m - 0.808_675_77 * s,
        }
    }

    fn to_color(&self) -> Color {
        let l = (self.lightness + 0.396_337_78 * self.a + 0.215_803_76 * self.b).powi(3);
        let m = (self.lightness - 0.105_561_35 * self.a - 0.063_854_17 * self.b).powi(3);
        let s = (self.lightness - 0.089_484_18 * self.a - 1.291_485_5 * self.b).powi(3);
        Color {
            red: channel(4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s),
            green: channel(-1.268_438 * l + 2.609_757_4 * m - 0.341_319_4 * s),
            blue: channel(-0.004_196_09 * l - 0.703_418_6 * m + 1.707_614_7 * s),
        }
    }
}

const fn rgb(red: u8, green: u8, blue: u8) -> Color {
    Color { red, green, blue }
}

fn hex_color(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accent_can_be_read_in_both_schemes() {
        let steps = [0, 51, 102, 153, 204, 255];
        for red in steps {
            for green in steps {
                for blue in steps {
                    let accent = rgb(red, green, blue);
                    let light = repaired(accent, &LIGHT_GROUNDS);
                    let dark = repaired(accent, &DARK_GROUNDS);
                    assert!(has_contrast(light, &LIGHT_GROUNDS), "{accent:?} {light:?}");
                    assert!(has_contrast(dark, &DARK_GROUNDS), "{accent:?} {dark:?}");
                }
            }
        }
    }

    #[test]
    fn an_accent_with_contrast_stays_and_another_keeps_its_hue() {
        let teal = rgb(0x1f, 0x5f, 0x58);
        assert_eq!(repaired(teal, &LIGHT_GROUNDS), teal);
        let pale = rgb(0xff, 0xd2, 0x4a);
        let accent = Oklab::of(pale);
        let darker = Oklab::of(repaired(pale, &LIGHT_GROUNDS));
        assert!(darker.lightness < accent.lightness);
        assert!((darker.b.atan2(darker.a) - accent.b.atan2(accent.a)).abs() < 0.2);
    }

    #[test]
    fn oklab_of_red_is_that_of_its_author() {
        let red = Oklab::of(rgb(255, 0, 0));
        assert!((red.lightness - 0.628).abs() < 0.001, "{}", red.lightness);
        assert!((red.a - 0.225).abs() < 0.001, "{}", red.a);
        assert!((red.b - 0.126).abs() < 0.001, "{}", red.b);
        assert_eq!(red.to_color(), rgb(255, 0, 0));
    }

    #[test]
    fn the_owners_own_rules_come_last() {
        let site = Site {
            accent: Color::parse("#1f5f58"),
            theme: Some("h1 { color: red }".to_owned()),
            ..Site::default()
        };
        let sheet = stylesheet("body {}\n", &site);
        assert!(sheet.starts_with("body {}\n@media screen"), "{sheet}");
        assert!(sheet.ends_with("\nh1 { color: red }"), "{sheet}");
    }

    #[test]
    fn the_frame_has_the_owners_accent_in_each_theme() {
        let site = Site {
            accent: Color::parse("#1f5f58"),
            radius: Some(4),
            font: Font::Serif,
            ..Site::default()
        };
        let sheet = frame_stylesheet("body {}\n", &site);
        assert!(
            sheet.starts_with("body {}\n:root { --accent: #1f5f58; }\n"),
            "{sheet}"
        );
        let dark = hex_color(repaired(rgb(0x1f, 0x5f, 0x58), &DARK_GROUNDS));
        let rule = format!("[data-theme=dark] {{ --accent: {dark}; }}");
        assert!(sheet.contains(&rule), "{sheet}");
        assert!(sheet.contains(":root { --radius: 4px; }"), "{sheet}");
        assert!(
            sheet.contains(&format!(":root {{ --font: {SERIF}; }}")),
            "{sheet}"
        );
        assert_eq!(frame_stylesheet("body {}\n", &Site::default()), "body {}\n");
    }

    #[test]
    fn an_owners_scheme_leaves_no_question_to_the_system() {
        let base = "@media (prefers-color-scheme: dark) { :root { --x: 1; } }\n";
        let site = |scheme| Site {
            scheme,
            ..Site::default()
        };
        assert_eq!(stylesheet(base, &site(Scheme::Auto)), base);
        assert!(stylesheet(base, &site(Scheme::Light)).contains("@media not all {"));
        assert!(stylesheet(base, &site(Scheme::Dark)).contains("@media all {"));
    }
}
