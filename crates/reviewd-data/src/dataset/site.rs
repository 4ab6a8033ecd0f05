//! `site.json`: the look and the language of the pages.

use super::LIST_MAX;
use super::json::{JsonItem, TextRule};
use super::trades::{TRADES, clientele};
use crate::model::site::{Clientele, Color, Font, ReviewLink, Scheme, Site};

/// Largest radius of corners in pixels.
const RADIUS_MAX: u8 = 24;

/// The languages in which the pages have words; a test of the pages compares the list with their message files.
pub const PAGE_LANGUAGES: [&str; 10] = ["en", "de", "es", "fr", "it", "nl", "pl", "pt", "ja", "ar"];

/// Reads the file; `None` for the trade if it names none.
pub(super) fn site(item: JsonItem<'_>) -> SiteFile {
    item.object(|keys| SiteFile {
        site: Site {
            language: keys.non_null_key("language").and_then(language),
            accent: keys.non_null_key("accent").and_then(color),
            scheme: keys.non_null_key("scheme").map(scheme).unwrap_or_default(),
            radius: keys.non_null_key("radius").map(radius),
            font: keys.non_null_key("font").map(font).unwrap_or_default(),
            back_url: keys
                .non_null_key("back_url")
                .map(|item| item.string(TextRule::Url)),
            review_links: keys
                .non_null_key("review_links")
                .map(review_links)
                .unwrap_or_default(),
            ..Site::default()
        },
        clientele: keys.non_null_key("trade").and_then(clientele_of_trade),
    })
}

/// The contents of the file.
#[derive(Default)]
pub(super) struct SiteFile {
    /// Without the clientele, the theme and the logo, which come from elsewhere.
    pub(super) site: Site,
    /// By the trade, if the file names one.
    pub(super) clientele: Option<Clientele>,
}

fn language(item: JsonItem<'_>) -> Option<String> {
    let wanted = format!("a language of the pages: {}", PAGE_LANGUAGES.join(", "));
    item.parsed_string(wanted, |tag| {
        let mut languages = PAGE_LANGUAGES.into_iter();
        languages
            .find(|language| *language == tag)
            .map(str::to_owned)
    })
}

fn clientele_of_trade(item: JsonItem<'_>) -> Option<Clientele> {
    let names = TRADES.map(|(trade, _)| trade);
    let wanted = format!("one of the trades: {}", names.join(", "));
    let found = item.parsed_string(wanted, |name| {
        names.into_iter().find(|permitted| *permitted == name)
    });
    found.map(clientele)
}

fn color(item: JsonItem<'_>) -> Option<Color> {
    item.parsed_string("a color such as \"#1f5f58\"", Color::parse)
}

fn scheme(item: JsonItem<'_>) -> Scheme {
    let wanted = "one of auto, light, dark";
    let found = item.parsed_string(wanted, |word| {
        Scheme::ALL.into_iter().find(|scheme| scheme.word() == word)
    });
    found.unwrap_or_default()
}

fn font(item: JsonItem<'_>) -> Font {
    let names = Font::ALL.map(Font::word);
    let wanted = format!("one of {}", names.join(", "));
    let found = item.parsed_string(wanted, |word| {
        Font::ALL.into_iter().find(|font| font.word() == word)
    });
    found.unwrap_or_default()
}

fn radius(item: JsonItem<'_>) -> u8 {
    let number = item.number(0.0..=f64::from(RADIUS_MAX));
    let whole = number.as_u64().and_then(|number| u8::try_from(number).ok());
    whole.unwrap_or_else(|| {
        item.push_problem("is not a whole number of pixels");
        0
    })
}

fn review_links(item: JsonItem<'_>) -> Vec<ReviewLink> {
    let links = item.items(LIST_MAX, |item| {
        item.object(|keys| ReviewLink {
            source: keys.key("source").string(TextRule::Name),
            url: keys.key("url").string(TextRule::Url),
        })
    });
    item.push_duplicates("source", links.iter().map(|link| &link.source));
    links
}

#[cfg(test)]
mod tests {
    use crate::dataset::tests::problems_of_site;

    #[test]
    fn each_wrong_value_is_named() {
        for (file, expected) in [
            (
                r#"{"accent": "teal"}"#,
                "accent: \"teal\" is not a color such as",
            ),
            (
                r#"{"radius": 25}"#,
                "radius: 25 is not a number from 0 to 24",
            ),
            (r#"{"radius": 1.5}"#, "radius: 1.5 is not a whole number"),
            (
                r#"{"language": "tlh"}"#,
                "language: \"tlh\" is not a language of the pages: en, de",
            ),
            (
                r#"{"trade": "alchemy"}"#,
                "trade: \"alchemy\" is not one of the trades: legal",
            ),
            (
                r#"{"scheme": "sepia"}"#,
                "scheme: \"sepia\" is not one of auto, light, dark",
            ),
            (
                r#"{"font": "Papyrus"}"#,
                "font: \"Papyrus\" is not one of mixed",
            ),
            (
                r#"{"back_url": "javascript:x"}"#,
                "back_url: \"javascript:x\" is not an absolute http",
            ),
            (r#"{"colour": "red"}"#, "colour: is not a known key"),
            (
                r#"{"review_links": [{"source": "a", "url": "x"}]}"#,
                "review_links[0].url: \"x\" is not an absolute http",
            ),
        ] {
            let problems = problems_of_site(file);
            assert!(problems.contains(expected), "{file}: {problems}");
        }
        assert_eq!(problems_of_site(r#"{"accent": null, "radius": 24}"#), "");
    }
}
