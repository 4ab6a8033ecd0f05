//! The pages as files for a host without a server: which pages there are, how their files are called, and links between
//! them that work from a folder, from any host and below any path.
//!
//! The service renders each page. There is no search, and choosing a filter replaces the one in use, so the pages are
//! finite: the page of each review, and the lists by one filter or by an aspect with a polarity.
//!
//! Links between the pages become relative. Canonical addresses and those for previews stay absolute and get the names
//! of the files.

use std::collections::{HashMap, VecDeque};

use askama::filters::{Html, escape};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::{PageLanguage, Pages};
use crate::model::{MEDIA_PATH, PHOTO_EXTENSION, Row, photo_digest};
use crate::search::query::Buffers;
use crate::search::run::Scratch;
use crate::wire::form::{decode_into, pairs};
use crate::wire::text::{cut, hex};

/// Files that pages link to, with the same paths as on the service.
const ASSETS: [&str; 11] = [
    "/site.css",
    "/site.js",
    "/favicon.svg",
    "/feed.xml",
    "/api/feed.json",
    "/reviews.json",
    "/reviews.jsonld",
    "/insights.json",
    "/widget.css",
    "/widget.js",
    "/widget.html",
];

/// Attributes whose values may be addresses.
const ATTRIBUTES: [&str; 4] = ["href", "src", "content", "value"];

/// The query of the data of the element: the most reviews that it can show.
const ELEMENT_QUERY: &[u8] = b"limit=100";

/// Bytes of a part of a file's name that comes from a value; a longer value is told by its digest.
const NAME_PART_BYTES_MAX: usize = 40;

/// A page as a file.
#[derive(Debug)]
pub(crate) struct StaticPage {
    /// Relative to the folder, with `/` between names.
    pub(crate) path: String,
    pub(crate) html: String,
}

/// A page links to a page that has no file. This is a bug of the program.
#[derive(Debug, Error)]
#[error("{from} links to {target:?}, which has no file")]
pub(crate) struct BrokenLink {
    from: String,
    target: String,
}

/// The file of a page.
#[derive(Clone, Debug)]
struct PageFile {
    path: String,
    /// The name of the list that the page is a part of; "" for a page of another kind.
    list: String,
    /// The number of the part, from 1.
    number: u32,
}

impl PageFile {
    /// Returns the file of a page that is not a part of a list.
    fn single(path: impl Into<String>) -> PageFile {
        PageFile {
            path: path.into(),
            list: String::new(),
            number: 1,
        }
    }
}

/// Renders the pages of one snapshot, one after another.
pub(crate) struct StaticSite<'p> {
    pages: &'p Pages,
    language: PageLanguage,
    /// The files of the lists, by their addresses on the service.
    lists: HashMap<String, PageFile>,
    /// Addresses of lists that are not rendered yet.
    waiting: VecDeque<String>,
    buffers: Buffers,
    scratch: Scratch,
}

impl Pages {
    /// Returns the pages as files, in the owner's language; they must have been made by [`Pages::for_files`].
    pub(crate) fn static_site(&self) -> StaticSite<'_> {
        StaticSite {
            pages: self,
            language: PageLanguage::of(self.default_language()),
            lists: HashMap::new(),
            waiting: VecDeque::new(),
            buffers: Buffers::default(),
            scratch: Scratch::default(),
        }
    }
}

impl StaticSite<'_> {
    /// Renders the front page; the lists that it links to are rendered by [`StaticSite::next_list`].
    ///
    /// # Errors
    /// A link to a page without a file.
    pub(crate) fn front_page(&mut self) -> Result<StaticPage, BrokenLink> {
        let file = PageFile {
            list: "all".to_owned(),
            ..PageFile::single("index.html")
        };
        let html = self.pages.home(self.language);
        self.page(&file, &html)
    }

    /// Renders the page of the review in `row`.
    ///
    /// # Errors
    /// A link to a page without a file.
    pub(crate) fn review(&mut self, row: Row) -> Result<StaticPage, BrokenLink> {
        let id = self.pages.snapshot.index.id(row);
        let file = PageFile::single(review_path(id));
        let html = self.pages.review(row, self.language, &mut self.scratch);
        self.page(&file, &html)
    }

    /// Renders the next list that a page rendered so far links to; `None` if there is no other.
    ///
    /// # Errors
    /// A link to a page without a file.
    pub(crate) fn next_list(&mut self) -> Result<Option<StaticPage>, BrokenLink> {
        let Some(address) = self.waiting.pop_front() else {
            return Ok(None);
        };
        let file = self.lists[&address].clone();
        let query = address.trim_start_matches("/?").as_bytes();
        let parsed = self
            .pages
            .parse_query(query, self.language, &mut self.buffers);
        let Ok(query) = parsed else {
            return Err(BrokenLink {
                from: file.path,
                target: address,
            });
        };
        let html = self.pages.search(&query, self.language, &mut self.scratch);
        self.page(&file, &html).map(Some)
    }

    /// Returns the page for a frame, `html` as the service renders it, as a file.
    ///
    /// # Errors
    /// A link to a page without a file.
    pub(crate) fn frame(&mut self, html: &str) -> Result<StaticPage, BrokenLink> {
        self.page(&PageFile::single("widget.html"), html)
    }

    /// Returns the data of the element: the newest 100 reviews.
    pub(crate) fn widget_data(&mut self) -> String {
        let parsed = self
            .pages
            .parse_query(ELEMENT_QUERY, self.language, &mut self.buffers);
        let query = parsed.expect("a constant query is valid");
        let data = self
            .pages
            .widget_data(&query, self.language, &mut self.scratch);
        with_photo_names(&data)
    }

    /// Returns a page of the service as a file, whose links lead to files.
    fn page(&mut self, file: &PageFile, html: &str) -> Result<StaticPage, BrokenLink> {
        let relinked = self.relink(file, html)?;
        Ok(StaticPage {
            path: file.path.clone(),
            html: with_photo_names(&relinked),
        })
    }

    /// Rewrites the addresses of this service in the attributes of a page. `="` begins the value of an attribute and
    /// nothing else, because our templates write all attributes in double quotes, and escape these in values and texts.
    fn relink(&mut self, file: &PageFile, html: &str) -> Result<String, BrokenLink> {
        let mut out = String::with_capacity(html.len());
        let mut rest = html;
        while let Some((before, after)) = rest.split_once("=\"") {
            out.push_str(before);
            out.push_str("=\"");
            rest = after;
            let name = before.rsplit(' ').next().unwrap_or_default();
            if !ATTRIBUTES.contains(&name) {
                continue;
            }
            let (value, after) = after.split_once('"').unwrap_or((after, ""));
            match self.address(file, name, &unescaped(value))? {
                Some(address) => {
                    let address = escape(address, Html).expect("writing to a string never fails");
                    out.push_str(&address.0.to_string());
                }
                None => out.push_str(value),
            }
            out.push('"');
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Returns the address of the file that replaces the address `value` of this service; `None` if it is another one.
    fn address(
        &mut self,
        from: &PageFile,
        attribute: &str,
        value: &str,
    ) -> Result<Option<String>, BrokenLink> {
        let base_url = &self.pages.snapshot.base_url;
        if let Some(target) = value.strip_prefix(base_url.as_str()) {
            // Without a file it is another address on the same host.
            let Some(path) = self.file_of(from, target) else {
                return Ok(None);
            };
            return Ok(Some(format!(
                "{base_url}/{}",
                path.replace("index.html", "")
            )));
        }
        let is_link = matches!(attribute, "href" | "src");
        if !is_link || !value.starts_with('/') || value.starts_with("//") {
            return Ok(None);
        }
        let Some(path) = self.file_of(from, value) else {
            return Err(BrokenLink {
                from: from.path.clone(),
                target: cut(value).to_owned(),
            });
        };
        let up = "../".repeat(from.path.matches('/').count());
        Ok(Some(format!("{up}{path}")))
    }

    /// Returns the path of the file of an address on the service, with the fragment and the version of the address. A
    /// list that no page has linked to before is rendered later.
    fn file_of(&mut self, from: &PageFile, target: &str) -> Option<String> {
        let end = target.find('#').unwrap_or(target.len());
        let (address, fragment) = target.split_at(end);
        if address == "/" {
            return Some(format!("index.html{fragment}"));
        }
        if address.starts_with("/?") {
            return Some(format!("{}{fragment}", self.list(from, address)));
        }
        if let Some(id) = address.strip_prefix("/reviews/") {
            self.pages.snapshot.index.row_of_id(id)?;
            return Some(format!("{}{fragment}", review_path(id)));
        }
        let end = address.find('?').unwrap_or(address.len());
        let (path, version) = address.split_at(end);
        if path == "/logo" {
            return Some(format!("{}{version}", self.logo_path()?));
        }
        if photo_digest(path).is_some() {
            return Some(format!("{}{PHOTO_EXTENSION}", path.trim_start_matches('/')));
        }
        if !ASSETS.contains(&path) {
            return None;
        }
        Some(format!("{}{version}", path.trim_start_matches('/')))
    }

    /// Returns the path of the file of a list. A list that has none yet gets one: the next part of the list that `from`
    /// is a part of, or the first part of another list.
    fn list(&mut self, from: &PageFile, address: &str) -> String {
        if let Some(page) = self.lists.get(address) {
            return page.path.clone();
        }
        let list = list_name(address);
        let is_next = address.contains("cursor=");
        let mut number = 1;
        if is_next && from.list == list {
            number = from.number + 1;
        }
        let path = if number == 1 {
            format!("list/{list}.html")
        } else {
            format!("list/{list}-page-{number}.html")
        };
        let file = PageFile {
            path: path.clone(),
            list,
            number,
        };
        self.lists.insert(address.to_owned(), file);
        self.waiting.push_back(address.to_owned());
        path
    }

    /// Returns the file of the owner's logo, if there is one.
    pub(crate) fn logo_path(&self) -> Option<&'static str> {
        let logo = self.pages.logo()?;
        if logo.is_picture {
            return Some("logo.png");
        }
        Some("logo.svg")
    }
}

/// The path of the page of a review. It is the index of a folder, so that hosts send it for the address that the
/// service uses.
fn review_path(id: &str) -> String {
    format!("reviews/{id}/index.html")
}

/// Returns a name for a list, which differs for different filters: `rating-5`, `aspect-fees-polarity-negative`.
fn list_name(address: &str) -> String {
    let query = address.trim_start_matches("/?");
    let mut name = String::new();
    for pair in pairs(query.as_bytes()) {
        if pair.name == b"cursor" {
            continue;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&decoded(pair.name));
        name.push('-');
        name.push_str(&file_name(&decoded(pair.value)));
    }
    if name.is_empty() {
        return "all".to_owned();
    }
    name
}

/// Decodes a part of a query. A part with a broken escape stays as it is: a text of the owner may link to such an
/// address.
fn decoded(raw: &[u8]) -> String {
    let mut text = String::new();
    if decode_into(raw, &mut text).is_err() {
        return String::from_utf8_lossy(raw).into_owned();
    }
    text
}

/// Returns a value as a part of a file's name. Values that differ only in other characters have different digests.
fn file_name(value: &str) -> String {
    let plain = value
        .chars()
        .filter(|character| matches!(character, 'a'..='z' | '0'..='9' | '_'));
    let plain: String = plain.take(NAME_PART_BYTES_MAX).collect();
    if plain == value {
        return plain;
    }
    let digest = hex(&Sha256::digest(value.as_bytes())[..4]);
    format!("{plain}-{digest}")
}

/// Returns `text` with an extension at the end of each address of our own pictures, by which a host knows the media
/// type.
pub(crate) fn with_photo_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MEDIA_PATH) {
        let end = at + MEDIA_PATH.len() + 64;
        let is_photo = rest
            .get(at..end)
            .is_some_and(|path| photo_digest(path).is_some());
        if !is_photo {
            let (before, after) = rest.split_at(at + MEDIA_PATH.len());
            out.push_str(before);
            rest = after;
            continue;
        }
        let (before, after) = rest.split_at(end);
        out.push_str(before);
        if !after.starts_with(PHOTO_EXTENSION) {
            out.push_str(PHOTO_EXTENSION);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Undoes the escapes of our templates in the value of an attribute.
fn unescaped(value: &str) -> String {
    let mut text = value.to_owned();
    for (escaped, character) in [
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ] {
        text = text.replace(escaped, character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_names_that_tell_them_apart() {
        for (address, expected) in [
            ("/?cursor=abc", "all"),
            ("/?rating=5", "rating-5"),
            ("/?rating=5&cursor=abc", "rating-5"),
            (
                "/?aspect=fees&polarity=negative",
                "aspect-fees-polarity-negative",
            ),
        ] {
            assert_eq!(list_name(address), expected);
        }
        assert_ne!(list_name("/?source=A"), list_name("/?source=a"));
        assert_ne!(list_name("/?source=%D9%84"), list_name("/?source=%D9%85"));
    }

    #[test]
    fn only_own_pictures_get_an_extension() {
        let digest = "a".repeat(64);
        let photo = format!("https://a.example/media/{digest}");
        for (text, expected) in [
            (photo.clone(), format!("{photo}.jpg")),
            (format!("\"{photo}.jpg\""), format!("\"{photo}.jpg\"")),
            ("/media/é".to_owned(), "/media/é".to_owned()),
            ("/media/".to_owned(), "/media/".to_owned()),
        ] {
            assert_eq!(with_photo_names(&text), expected);
        }
    }
}
