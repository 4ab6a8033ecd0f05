"""Reads the feeds of a running server with common parsers: feedparser for Atom, feedparser-rs (feedparser has no
JSON Feed) for both, and JSON Feed 1.1 by the rules of its standard."""

import json
import re
import sys
import urllib.request

import feedparser
import feedparser_rs

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")
TOP_STRINGS = {
    "version", "title", "home_page_url", "feed_url", "description", "user_comment", "next_url", "icon", "favicon",
    "language",
}
ITEM_STRINGS = {
    "id", "url", "external_url", "title", "content_html", "content_text", "summary", "image", "banner_image",
    "date_published", "date_modified", "language",
}
URLS = {
    "home_page_url", "feed_url", "next_url", "icon", "favicon", "url", "external_url", "image", "banner_image",
    "avatar",
}

problems = []


def check(holds, message):
    """Records a problem; all problems are printed at the end."""
    if not holds:
        problems.append(message)


def strings(thing, names, place):
    """Each of these keys that is present is a string, and a URL if it must be one."""
    for name in names & thing.keys():
        value = thing[name]
        check(isinstance(value, str), f"{place}.{name} is not a string: {value!r}")
        if name in URLS and isinstance(value, str):
            check(re.match(r"https?://\S+$", value), f"{place}.{name} is not a URL: {value!r}")


def extensions(thing, known, place):
    """Keys beyond the standard begin with an underscore."""
    for name in thing.keys() - known:
        check(name.startswith("_"), f"{place}.{name} is no key of JSON Feed 1.1")


def authors(thing, place):
    for number, author in enumerate(thing.get("authors", [])):
        at = f"{place}.authors[{number}]"
        strings(author, {"name", "url", "avatar"}, at)
        extensions(author, {"name", "url", "avatar"}, at)
        check(author.keys() & {"name", "url", "avatar"}, f"{at} has none of name, url and avatar")


def check_item(item, place):
    """https://www.jsonfeed.org/version/1.1/, "Items"."""
    strings(item, ITEM_STRINGS, place)
    check(item.get("id"), f"{place}.id is missing or empty")
    check(item.keys() & {"content_html", "content_text"}, f"{place} has neither content_html nor content_text")
    for name in {"date_published", "date_modified"} & item.keys():
        check(RFC3339.match(item[name]), f"{place}.{name} is not an RFC 3339 time: {item[name]!r}")
    check(all(isinstance(tag, str) for tag in item.get("tags", [])), f"{place}.tags are not strings")
    authors(item, place)
    extensions(item, ITEM_STRINGS | {"authors", "tags", "attachments"}, place)


def check_json_feed(feed):
    """https://www.jsonfeed.org/version/1.1/, "Top-level"."""
    check(feed.get("version") == "https://jsonfeed.org/version/1.1", f"version is {feed.get('version')!r}")
    check(feed.get("title"), "title is missing or empty")
    strings(feed, TOP_STRINGS, "feed")
    authors(feed, "feed")
    extensions(feed, TOP_STRINGS | {"authors", "expired", "hubs", "items"}, "feed")
    for number, hub in enumerate(feed.get("hubs", [])):
        check(hub.keys() == {"type", "url"}, f"hubs[{number}] is not type and url: {hub}")
    items = feed.get("items")
    check(isinstance(items, list), "items is not an array")
    for number, item in enumerate(items or []):
        check_item(item, f"items[{number}]")
    ids = [item.get("id") for item in items or []]
    check(len(ids) == len(set(ids)), "two items share an id")


def read(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.headers, answer.read()


def fetch(url, media_type):
    """Returns the Content-Type and the bytes at `url`, which must have the media type."""
    headers, body = read(url)
    given = headers.get("Content-Type", "")
    check(given.split(";")[0] == media_type, f"{url} is {given!r}, not {media_type}")
    return given, body


def check_parsed(parsed, version, place):
    """Checks the result of a feed parser, which must not have found a problem."""
    check(not parsed.bozo, f"{place}: {parsed.bozo and parsed.bozo_exception!r}")
    check(parsed.version == version, f"{place}: seen as {parsed.version!r}, not {version}")
    check(parsed.feed.title, f"{place}: no title is seen")
    check(parsed.entries, f"{place}: no entries are seen")


def check_atom(base_url):
    """The ids of the entries of /feed.xml."""
    url = f"{base_url}/feed.xml"
    given, body = fetch(url, "application/atom+xml")
    atom = feedparser.parse(body, response_headers={"content-type": given, "content-location": url})
    check_parsed(atom, "atom10", "feed.xml by feedparser")
    check_parsed(feedparser_rs.parse(body), "atom10", "feed.xml by feedparser-rs")
    for name in ("id", "updated"):
        check(atom.feed.get(name), f"feed.xml has no {name}")
    for number, entry in enumerate(atom.entries):
        for name in ("id", "title", "updated_parsed"):
            check(entry.get(name), f"feed.xml: entry {number} has no {name}")
    links = {link.rel: link.href for link in atom.feed.get("links", [])}
    check(links.get("self") == url, f"feed.xml names itself {links.get('self')!r}")
    check("hub" in links, "feed.xml names no hub")
    return [entry.get("id") for entry in atom.entries]


def check_json(base_url):
    """The ids of the items of /api/feed.json."""
    url = f"{base_url}/api/feed.json"
    _, body = fetch(url, "application/json")
    parsed = feedparser_rs.parse(body)
    check_parsed(parsed, "json11", "feed.json by feedparser-rs")
    feed = json.loads(body)
    check_json_feed(feed)
    check(feed.get("feed_url") == url, f"feed.json names itself {feed.get('feed_url')!r}")
    ids = [item.get("id") for item in feed.get("items", [])]
    check([entry.id for entry in parsed.entries] == ids, "feedparser-rs sees other items in feed.json")
    return ids


def main():
    base_url = sys.argv[1]
    atom_ids = check_atom(base_url)
    json_ids = check_json(base_url)
    check(atom_ids == json_ids, "the two feeds list different entries")
    check(1 <= len(json_ids) <= 50, f"the feeds hold {len(json_ids)} entries, not 1 to 50")
    for problem in problems:
        print(problem)
    print(f"{len(json_ids)} entries in each feed, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
