//! `reviewd render widget|jsonld DIR`: prints a fragment of HTML for a build step of another site.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::config::DATA_DEFAULT;
use super::exit::{Failure, Status, print};
use super::site::read_snapshot;
use super::values::{number, parse_page_language, parse_site_url};
use crate::pages::Pages;
use crate::search::query::Buffers;

#[derive(Args)]
pub(super) struct RenderArgs {
    /// What is printed
    #[arg(value_name = "FRAGMENT")]
    fragment: FragmentKind,
    /// Directory with reviews.json and the files beside it
    #[arg(value_name = "DIR", default_value = DATA_DEFAULT)]
    data: PathBuf,
    /// Public address of the pages of the reviews, for links to them; without it, reviews link to their sources
    #[arg(long, value_name = "URL", required_if_eq("fragment", "jsonld"), value_parser = parse_site_url)]
    base_url: Option<String>,
    /// Number of reviews of the widget, the newest first
    #[arg(long, value_name = "N", default_value = "3", value_parser = number(1, 100))]
    count: u32,
    /// Least stars of the reviews of the widget, which then says that it leaves out others
    #[arg(long, value_name = "STARS", default_value = "1", value_parser = number(1, 5))]
    min_rating: u32,
    /// Language of the widget's own words, such as de [default: that of site.json, or English]
    #[arg(long, value_name = "TAG", value_parser = parse_page_language)]
    language: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FragmentKind {
    /// The newest reviews as HTML, without script or style
    Widget,
    /// The linked data of the business and its reviews, as a script element
    Jsonld,
}

/// Prints the fragment.
pub(super) fn run(args: &RenderArgs) -> Result<(), Failure> {
    let base_url = args.base_url.as_deref().unwrap_or_default();
    let snapshot = read_snapshot(&args.data, base_url, args.language.as_deref())?;
    let pages = Pages::for_files(Arc::new(snapshot));
    let fragment = match args.fragment {
        FragmentKind::Jsonld => pages.json_ld_element(),
        FragmentKind::Widget => widget(&pages, args)?,
    };
    print(fragment.as_bytes())
}

fn widget(pages: &Pages, args: &RenderArgs) -> Result<String, Failure> {
    let query = format!("limit={}&min_rating={}", args.count, args.min_rating);
    let mut buffers = Buffers::default();
    let language = pages.language(b"", std::iter::empty());
    let query = pages
        .parse_query(query.as_bytes(), language, &mut buffers)
        .map_err(|issues| {
            let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
            Failure::new(Status::Usage, issues.join("; "))
        })?;
    Ok(pages.fragment(&query, args.base_url.is_some()))
}
