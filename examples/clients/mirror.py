#!/usr/bin/env python3
"""Keeps a copy of all reviews up to date, with nothing but Python's standard library.

    python3 mirror.py http://127.0.0.1:8080 copy.json                # once, for a timer
    python3 mirror.py http://127.0.0.1:8080 copy.json --every 60     # until it is stopped

The copy has the reviews by id, and the cursor from which the next run continues. Both are replaced together, so a run that
is stopped at any moment loses nothing: the next one is told the same changes again.
"""

import argparse
import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request


def read_copy(path):
    """Reads the copy; without one, begins with an empty one."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"cursor": "", "reviews": {}}


def write_copy(path, copy):
    """Replaces the copy atomically."""
    fresh = f"{path}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        json.dump(copy, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def read_changes(service, cursor):
    """Returns the next changes; None if the cursor is not valid any more."""
    query = urllib.parse.urlencode({"after": cursor, "limit": 1000})
    try:
        with urllib.request.urlopen(f"{service}/api/reviews/changes?{query}", timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        issues = json.load(error).get("issues", []) if error.code == 400 else []
        if any(issue["code"] == "invalid_cursor" for issue in issues):
            return None
        raise


def update(service, path):
    """Brings the copy up to date; returns how many changes it was told."""
    copy = read_copy(path)
    told = 0
    while True:
        page = read_changes(service, copy["cursor"])
        if page is None:
            # The log was begun again. The old copy stays on disk until the new one is complete.
            copy = {"cursor": "", "reviews": {}}
            continue
        for review in page["changed"]:
            copy["reviews"][review["id"]] = review
        for removed in page["removed"]:
            copy["reviews"].pop(removed["id"], None)
        copy["cursor"] = page["next_cursor"]
        told += page["returned"]
        if not page["has_more"]:
            write_copy(path, copy)
            return told


def main():
    parser = argparse.ArgumentParser(description="Keeps a copy of all reviews of a service up to date.")
    parser.add_argument("service", help="its address, such as https://reviews.example")
    parser.add_argument("copy", help="the file to keep")
    parser.add_argument("--every", type=int, metavar="SECONDS", help="repeat until stopped")
    arguments = parser.parse_args()
    while True:
        try:
            told = update(arguments.service.rstrip("/"), arguments.copy)
            print(f"{told} changes, {len(read_copy(arguments.copy)['reviews'])} reviews", flush=True)
        except (OSError, http.client.HTTPException, ValueError) as error:
            # The service may be restarting, or end amid a response: the next try continues where this one began.
            if not arguments.every:
                raise SystemExit(f"{arguments.service}: {error!r}")
            print(f"{arguments.service}: {error!r}", flush=True)
        if not arguments.every:
            return
        time.sleep(arguments.every)


if __name__ == "__main__":
    main()
