//! The parts that all pages share, and the error page. The shared parts are the header with the rating, and the footer.

use askama::Template;
use sha2::{Digest, Sha256};

use super::form::QueryParams;
use super::logo::LogoImage;
use super::messages::{Language, Messages};
use super::rating::RatingStats;
use super::text::{encoded, verifier, without_direction};
use super::{PageLanguage, Pages, text as filters, theme};
use crate::model::platform;
use crate::snapshot::{Snapshot, Verifications};
use crate::wire::date::Date;
use crate::wire::text::hex;

/// The styles that only the documentation has.
pub(crate) const STYLESHEET: &str = include_str!("assets/page.css");
/// The script of `/developers`, which copies and sends the examples; the page can be read without it.
pub(crate) const DEVELOPERS_SCRIPT: &str = include_str!("assets/developers.js");

/// The styles of all pages, without the owner's colors.
const SITE_STYLESHEET: &str = include_str!("assets/site.css");
/// The script of all pages; they work without it.
pub(crate) const SITE_SCRIPT: &str = include_str!("assets/site.js");

/// The common parts of the pages of one snapshot.
#[derive(Debug)]
pub(super) struct Layout {
    /// Whether the pages are written to files, so that nothing may need the service.
    pub(super) is_static: bool,
    /// The stylesheet with the owner's colors.
    pub(super) site_stylesheet: String,
    pub(super) site_stylesheet_version: String,
    pub(super) logo: Option<LogoImage>,
    /// The color schemes that the pages have.
    pub(super) color_scheme: &'static str,
    pub(super) site_script_version: String,
    pub(super) disclaimer: Option<String>,
    /// The day of the dataset.
    pub(super) updated: Date,
    unverified_count: u64,
    /// Who verified how many reviews.
    pub(super) checks: Verifications,
    review_count: u64,
    mean_tenths: Option<u64>,
    /// Width of the filled stars of the mean, from 0 to 120.
    pub(super) stars_width: u64,
    /// The name of the business, for titles.
    pub(super) title: String,
    pub(super) base_url: String,
    pub(super) stylesheet_version: String,
    pub(super) developers_version: String,
}

impl Layout {
    pub(super) fn new(snapshot: &Snapshot, stats: &RatingStats) -> Layout {
        let business = &snapshot.business;
        let stylesheet = theme::stylesheet(SITE_STYLESHEET, &snapshot.site);
        Layout {
            is_static: false,
            site_stylesheet_version: version(&stylesheet),
            site_stylesheet: stylesheet,
            logo: snapshot.site.logo.as_ref().map(LogoImage::of),
            color_scheme: theme::color_scheme(&snapshot.site),
            site_script_version: version(SITE_SCRIPT),
            disclaimer: snapshot.disclaimer.clone(),
            updated: snapshot.updated_at.date(),
            unverified_count: u64::from(snapshot.unverified_count),
            checks: snapshot.verifications.clone(),
            review_count: stats.count,
            mean_tenths: stats.mean_tenths(),
            stars_width: stats.stars_width(),
            title: without_direction(&business.name),
            base_url: snapshot.base_url.clone(),
            stylesheet_version: version(STYLESHEET),
            developers_version: version(DEVELOPERS_SCRIPT),
        }
    }

    /// The path of the picture that a preview of a link shows: the logo, if that is a picture.
    pub(super) fn preview(&self) -> Option<&str> {
        let logo = self.logo.as_ref()?;
        if !logo.is_picture {
            return None;
        }
        Some(&logo.src)
    }
}

/// The parts around the content of a page, in one language.
#[derive(Debug)]
pub(super) struct Frame<'p> {
    pub(super) layout: &'p Layout,
    t: &'static Messages,
    /// The query of links that keep a language which the visitor chose: "" or `?lang=de`.
    pub(super) lang: String,
    /// The other parameters of the page's own query, for links to it in other languages: "" or `rating=5&`.
    pub(super) query: String,
    /// Whether the page exists in all languages.
    pub(super) has_languages: bool,
}

impl<'p> Frame<'p> {
    pub(super) fn new(layout: &'p Layout, language: PageLanguage) -> Frame<'p> {
        let mut lang = String::new();
        if language.is_explicit {
            lang = format!("?lang={}", language.chosen.code());
        }
        Frame {
            layout,
            t: language.chosen.messages(),
            lang,
            query: String::new(),
            has_languages: !layout.is_static,
        }
    }

    /// Returns the frame of a page that exists in English only.
    pub(super) fn english(layout: &'p Layout) -> Frame<'p> {
        Frame {
            has_languages: false,
            ..Frame::new(layout, PageLanguage::of(Language::DEFAULT))
        }
    }

    /// Sets the parameters that links to the page in other languages repeat.
    pub(super) fn with_query(mut self, params: &QueryParams) -> Frame<'p> {
        for (name, value) in params.iter() {
            self.query.push_str(&encoded(&format!("{name}="), value));
            self.query.push('&');
        }
        self
    }

    /// The parameter `lang` for links that have a query already: "" or `&lang=de`.
    pub(super) fn and_lang(&self) -> String {
        self.lang.replace('?', "&")
    }

    /// "4.1 of 5 stars"; `None` without reviews.
    pub(super) fn mean(&self) -> Option<String> {
        let mean = self.t.tenths(self.layout.mean_tenths?);
        Some(self.t.stars_of_5.fill(&[("stars", &mean)]))
    }

    pub(super) fn count(&self) -> String {
        self.t
            .counted(&self.t.review_count, self.layout.review_count)
    }

    pub(super) fn updated(&self) -> String {
        self.t.long_day(self.layout.updated)
    }

    /// How many reviews are not published; `None` if all are.
    pub(super) fn held_back(&self) -> Option<String> {
        let count = self.layout.unverified_count;
        if count == 0 {
            return None;
        }
        Some(self.t.counted(&self.t.held_back, count))
    }

    /// Sentences that say who verified how many reviews.
    pub(super) fn checks(&self) -> Vec<String> {
        let t = self.t;
        let mut checks = Vec::new();
        for (verification, count) in &self.layout.checks.named {
            let name = match verification {
                Some(one) => verifier(&one.by, one.method.as_deref()),
                None => self.layout.title.clone(),
            };
            checks.push(t.counted_with(&t.checked_by, *count, &[("name", &name)]));
        }
        if self.layout.checks.other_count > 0 {
            checks.push(t.counted(&t.checked_by_others, self.layout.checks.other_count));
        }
        if self.layout.checks.account_count > 0 {
            let mut names = Vec::new();
            for by in &self.layout.checks.account_platforms {
                names.push(platform(by).unwrap_or(by));
            }
            let count = self.layout.checks.account_count;
            let values = [("name", &*names.join(&t.comma))];
            checks.push(t.counted_with(&t.published_with_account, count, &values));
        }
        checks
    }

    /// All languages.
    pub(super) fn languages(&self) -> impl Iterator<Item = &'static Messages> + use<> {
        Language::all().map(Language::messages)
    }
}

/// Renders a template.
pub(super) fn rendered(template: &impl Template) -> String {
    // Rendering fails only if the writer fails, and writing to a string never does.
    template.render().unwrap_or_default()
}

/// The first 8 hexadecimal digits of the SHA-256 of a file.
fn version(file: &str) -> String {
    hex(&Sha256::digest(file.as_bytes())[..4])
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'p> {
    frame: Frame<'p>,
    t: &'static Messages,
    title: String,
    status: u16,
    heading: &'p str,
    message: &'p str,
    is_translated: bool,
}

impl Pages {
    /// Renders an error page, in place of JSON. `heading` is English, and `message`, too, in lower case without a full
    /// stop. A page with status 404 has a heading in the visitor's language instead.
    pub(crate) fn error(
        &self,
        language: PageLanguage,
        status: u16,
        heading: &str,
        message: &str,
    ) -> String {
        let t = language.chosen.messages();
        let is_missing = status == 404;
        let shown_heading = if is_missing {
            &t.page_not_found
        } else {
            heading
        };
        rendered(&ErrorPage {
            frame: Frame::new(&self.layout, language),
            t,
            title: format!("{shown_heading} – {}", self.layout.title),
            status,
            heading: shown_heading,
            message,
            is_translated: is_missing,
        })
    }
}
