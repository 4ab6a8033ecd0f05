//! Pictures and videos of a review, in the many forms of exports: addresses in a list, objects with sizes, or one text
//! with commas.

use serde_json::{Map, Value, json};

use reviewd_data::dataset::{MEDIA_MAX, URL_BYTES_MAX, is_absolute_url};

/// Keys of an object with the address of a picture, the largest first.
const KEYS: &str = "original originalUrl full large url Url src link href image imageUrl photo photoUrl mediaUrl normal huge \
    medium contentUrl googleUrl";

/// Keys with the address of a small version.
const SMALL_KEYS: &str = "thumbnailUrl thumbnail thumbnail_url thumb thumbUrl small compact";

/// Keys of an object that contains such an object.
const INNER_KEYS: &str = "urls Sizes sizes photo image node";

/// Returns the media of `values` as they are stored: at most [`MEDIA_MAX`], without repetitions.
pub(super) fn media(values: &[Value]) -> Vec<Value> {
    let mut found = Vec::new();
    for value in values {
        collect(value, &mut found);
    }
    let mut media: Vec<Value> = Vec::new();
    for one in found {
        if media.iter().all(|other| other["url"] != one["url"]) {
            media.push(one);
        }
    }
    media.truncate(MEDIA_MAX);
    media
}

fn collect(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::String(text) => {
            let parts = text.split([',', ' ', '\n', '|', ';']);
            found.extend(parts.filter_map(|part| medium(part.trim(), None)));
        }
        Value::Array(values) => {
            for value in values {
                collect(value, found);
            }
        }
        Value::Object(object) => found.extend(of_object(object)),
        _ => {}
    }
}

/// Returns the picture of an object, unless it is hidden.
fn of_object(object: &Map<String, Value>) -> Option<Value> {
    if object.get("hidden") == Some(&Value::Bool(true)) {
        return None;
    }
    let large = address(object, KEYS);
    let small = address(object, SMALL_KEYS);
    if let Some(url) = large.or(small) {
        return medium(url, large.and(small));
    }
    INNER_KEYS
        .split_whitespace()
        .find_map(|key| of_object(object.get(key)?.as_object()?))
}

/// Returns the first address at `keys`, which may be the address itself or an object that has it.
fn address<'o>(object: &'o Map<String, Value>, keys: &str) -> Option<&'o str> {
    keys.split_whitespace()
        .find_map(|key| match object.get(key)? {
            Value::String(url) => Some(url.as_str()),
            Value::Object(inner) => address(inner, "url Url src"),
            _ => None,
        })
}

fn medium(url: &str, thumbnail: Option<&str>) -> Option<Value> {
    let url = valid(url)?;
    let mut medium = json!({"url": url, "alt": "", "type": media_type(&url)});
    if let Some(thumbnail) = thumbnail.and_then(valid) {
        medium["thumbnail_url"] = thumbnail.into();
    }
    Some(medium)
}

fn valid(url: &str) -> Option<String> {
    let url = match url.strip_prefix("//") {
        Some(rest) => format!("https://{rest}"),
        None => url.to_owned(),
    };
    if url.len() > URL_BYTES_MAX || !is_absolute_url(&url) {
        return None;
    }
    Some(url)
}

/// Returns the media type by the end of the path; an unknown one is a picture.
fn media_type(url: &str) -> &'static str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let extension = path.rsplit('.').next().unwrap_or_default();
    match &*extension.to_ascii_lowercase() {
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "heic" => "image/heic",
        "mp4" | "m4v" => "video/mp4",
        "mov" => "video/quicktime",
        "webm" => "video/webm",
        "mp3" => "audio/mpeg",
        _ => "image/jpeg",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_every_form() {
        let url = "https://a.example/1.png";
        for value in [
            json!(url),
            json!([url, url]),
            json!(format!("{url}, {url}")),
            json!([{"urls": {"original": url, "small": "https://a.example/s.png"}, "hidden": false}]),
            json!([{"Sizes": {"normal": {"Url": url}}}]),
            json!([{"thumbnailUrl": url}]),
            json!([{"url": url}, {"url": "https://a.example/2.png", "hidden": true}]),
        ] {
            let found = media(std::slice::from_ref(&value));
            assert_eq!(found.len(), 1, "{value}");
            assert_eq!(found[0]["url"], url, "{value}");
            assert_eq!(found[0]["type"], "image/png", "{value}");
        }
        assert!(media(&[json!("x"), json!(["ftp://a.example/1"]), json!(1)]).is_empty());
    }
}
