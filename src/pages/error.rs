//! The page that a browser gets in place of an error in JSON.

use askama::Template;

use super::Pages;
use super::layout::{Layout, rendered};

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'p> {
    layout: &'p Layout,
    title: String,
    heading: &'p str,
    message: &'p str,
}

impl Pages {
    /// Renders what is wrong: a heading, and a line in lower case without a full stop.
    #[must_use]
    pub fn error(&self, heading: &str, message: &str) -> Vec<u8> {
        rendered(&ErrorPage {
            layout: &self.layout,
            title: format!("{heading} – {}", self.layout.title),
            heading,
            message,
        })
        .into_bytes()
    }
}
