# The pages in a real browser: search, keyboard, no JavaScript, dark, phone, axe-core, security policy, other sites.
# limit: 600 s

need npm npm
need node nodejs
need chromium chromium
[ -x target/release/reviewd ] || cargo build --quiet --locked --release

tools=$ci_dir/browser
mkdir -p "$tools"
if ! cmp -s .ci/browser/package.json "$tools/package.json" || ! [ -e "$tools/installed" ]; then
    rm -rf "$tools/node_modules" "$tools/installed"
    cp .ci/browser/package.json "$tools/package.json"
    retry 3 timeout --foreground 180 npm --prefix "$tools" install --silent --no-audit --no-fund ||
        skip "the packages of .ci/browser/package.json could not be installed"
    touch "$tools/installed"
fi
# Node searches modules beside the scripts.
cp .ci/browser/*.mjs "$tools/"
CHROMIUM=$(command -v chromium)
export CHROMIUM HOME=$tools/home
mkdir -p "$HOME"

start_server REVIEWD_STATE="$tools/state"
timeout --foreground 300 node "$tools/check.mjs" "$base_url"
mkdir -p "$tools/screenshots"
timeout --foreground 60 node "$tools/screenshots.mjs" "$base_url" "$tools/screenshots"
# README shows copies of them in docs/screenshots, made smaller by `pngquant --quality 70-95`.
echo "screenshots in $tools/screenshots"
