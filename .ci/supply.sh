# What the dependencies are held to; sourced by steps that have found the tools.
# The databases of advisories come from elsewhere: without them the rest is checked, and that is said.

cargo deny --log-level error check --hide-inclusion-graph bans licenses sources
if timeout --foreground 60 cargo deny --log-level error check --hide-inclusion-graph advisories >"$ci_dir/advisories.log" 2>&1; then
    echo "cargo deny: no advisory"
elif grep -qiE 'fetch|clone|network|resolve|connect' "$ci_dir/advisories.log"; then
    echo "ADVISORIES NOT CHECKED by cargo deny: their database cannot be fetched here"
else
    cat "$ci_dir/advisories.log"
    fail "cargo deny has found advisories"
fi
if ! command -v cargo-audit >/dev/null; then
    echo "ADVISORIES NOT CHECKED by cargo audit: it is not installed"
elif timeout --foreground 60 cargo audit --quiet >"$ci_dir/audit.log" 2>&1; then
    echo "cargo audit: no advisory"
elif grep -qiE 'fetch|clone|network|resolve|connect' "$ci_dir/audit.log"; then
    echo "ADVISORIES NOT CHECKED by cargo audit: their database cannot be fetched here"
else
    cat "$ci_dir/audit.log"
    fail "cargo audit has found advisories"
fi
