# Checks of the dependencies; sourced by steps that have found the tools.
# The database of advisories is fetched by a command of its own, so that a failed check is never mistaken for a failed fetch.

# A stated reason for a duplicate version that no longer exists is an error, too.
cargo deny --offline --log-level error check --hide-inclusion-graph -D unmatched-skip -D unnecessary-skip \
    bans licenses sources
if ! timeout --foreground 60 cargo deny --log-level error fetch db >"$ci_dir/advisories.log" 2>&1; then
    echo "ADVISORIES NOT CHECKED: their database cannot be fetched here"
else
    cargo deny --log-level error check --disable-fetch --hide-inclusion-graph advisories
    echo "cargo deny: no advisory"
    if command -v cargo-audit >/dev/null; then
        timeout --foreground 120 cargo audit --quiet
        echo "cargo audit: no advisory"
    else
        echo "cargo audit is not installed; cargo deny reads the same database"
    fi
fi
