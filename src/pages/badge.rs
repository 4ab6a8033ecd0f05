//! `/badge.svg` with rating and count, and `/favicon.svg`.

use super::rating_stats::RatingStats;
use super::text::counted;

/// A star.
pub(super) const FAVICON: &str = include_str!("assets/favicon.svg");

/// The colours of a badge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Theme {
    /// What the reader's system prefers.
    System,
    Light,
    Dark,
}

const LIGHT: &str = ".card{fill:#fff;stroke:#d9d5cc}.strong{fill:#1d2429}.soft{fill:#59626a}.on{fill:#b3730b}.off{fill:#ddd8ce}";
const DARK: &str = ".card{fill:#1b2024;stroke:#3a4248}.strong{fill:#f1efea}.soft{fill:#aab2b8}.on{fill:#e9b04a}.off{fill:#444c52}";

/// Width of one character of the texts, in pixels: an upper estimate for common fonts.
const COUNT_CHARACTER: f64 = 6.9;

/// Draws the badge. It contains numbers only, nothing from the dataset that needs escaping.
pub(super) fn render(stats: &RatingStats, theme: Theme) -> Vec<u8> {
    let mean = stats.mean_short();
    let count = counted(stats.count, "review", "reviews");
    let label = match &mean {
        Some(mean) => format!("{mean} of 5 stars, {count}"),
        None => "No reviews yet".to_owned(),
    };
    let count_width = (count.chars().count() as f64 * COUNT_CHARACTER).ceil();
    let (stars_at, star, gap) = (50.0, 15.0, 2.0);
    let count_at = stars_at + 5.0 * (star + gap) + 8.0;
    let width = count_at + count_width + 12.0;
    let style = match theme {
        Theme::System => format!("{LIGHT}@media(prefers-color-scheme:dark){{{DARK}}}"),
        Theme::Light => LIGHT.to_owned(),
        Theme::Dark => DARK.to_owned(),
    };
    let mut drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"32\" viewBox=\"0 0 {width} 32\" role=\"img\" aria-label=\"{label}\">\
         <title>{label}</title><style>{style}text{{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}}</style>\
         <defs><path id=\"s\" d=\"{STAR}\"/><clipPath id=\"c\"><rect x=\"{stars_at}\" y=\"0\" width=\"{}\" height=\"32\"/></clipPath></defs>\
         <rect class=\"card\" x=\".5\" y=\".5\" width=\"{}\" height=\"31\" rx=\"7\"/>\
         <text class=\"strong\" x=\"12\" y=\"22\" font-size=\"18\" font-weight=\"700\" textLength=\"28\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
        stars_width(stats, star, gap),
        width - 1.0,
        mean.as_deref().unwrap_or("–"),
    );
    for (class, clip) in [("off", ""), ("on", " clip-path=\"url(#c)\"")] {
        drawing.push_str(&format!("<g class=\"{class}\"{clip}>"));
        for place in 0..5 {
            let x = stars_at + f64::from(place) * (star + gap);
            drawing.push_str(&format!(
                "<use href=\"#s\" transform=\"translate({x} 8.5) scale({})\"/>",
                star / 24.0
            ));
        }
        drawing.push_str("</g>");
    }
    drawing.push_str(&format!(
        "<text class=\"soft\" x=\"{count_at}\" y=\"21\" font-size=\"13\">{count}</text></svg>\n"
    ));
    drawing.into_bytes()
}

/// Returns the width of the filled stars: whole ones with their gaps, and a part of one.
fn stars_width(stats: &RatingStats, star: f64, gap: f64) -> f64 {
    let tenths = stats.mean_tenths().unwrap_or(0);
    let (whole, part) = ((tenths / 10) as f64, (tenths % 10) as f64 / 10.0);
    whole * (star + gap) + part * star
}

/// A star of five points in a square of 24.
const STAR: &str = "M12 1.8l3.1 6.5 7.1 1-5.2 5 1.3 7.1-6.3-3.4-6.3 3.4 1.3-7.1-5.2-5 7.1-1z";
