// A page of another site that is as hostile to the widgets as real ones are, and what must hold on it in every browser.
// Works with the pages of Playwright and of Puppeteer.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';

const STYLES = `
html { font-size: 62.5% }
body { font: 16px/3 serif; color: #222; background: #fff; margin: 8px }
* { box-sizing: content-box !important; text-transform: uppercase; letter-spacing: 3px; text-align: right; font-style: italic; text-indent: 2em }
h3, p, ul, li, a, b, div, img, svg, span, button, summary { display: none !important; color: red !important; position: absolute !important }
iframe { display: block }
.box, .review, .head, .text, .by, .stars { visibility: hidden !important }
`;

/** Serves a page with elements of two services, a frame, and an element of a service that is gone. */
export const hostileSite = async (base, other) => {
  // The script of the page sets its own method on all lists, and an element of its own.
  const own = 'Array.prototype.toJSON = () => "spoiled"; Array.prototype.extra = 1; customElements.define("site-header", class extends HTMLElement {});';
  const policy = `default-src 'none'; script-src 'self' ${base} ${other}; connect-src ${base} ${other}; img-src ${base}; ` +
    `frame-src ${base}; style-src 'self'; base-uri 'none'; require-trusted-types-for 'script'`;
  const files = {
    '/own.js': ['text/javascript', own],
    '/own.css': ['text/css', STYLES],
    '/': ['text/html', `<!doctype html><html lang="en"><title>A site</title><link rel="icon" href="${base}/favicon.svg">
<link rel="stylesheet" href="/own.css"><script src="/own.js"></script>
<script src="${base}/widget.js" async></script><script src="${other}/widget.js" async></script>
<site-header></site-header>
<reviewd-reviews id="first" src="${base}" layout="grid" count="2"></reviewd-reviews>
<reviewd-reviews id="second" src="${other}" count="2" min-rating="4"></reviewd-reviews>
<reviewd-reviews id="dead" src="http://127.0.0.1:1"><strong id="ours">Our reviews</strong></reviewd-reviews>
<iframe src="${base}/widget.html?limit=2" title="Reviews"></iframe></html>`],
  };
  const site = createServer((request, reply) => {
    const [type, body] = files[request.url] || [];
    if (!type) { reply.writeHead(404).end(); return; }
    reply.writeHead(200, { 'Content-Type': `${type}; charset=utf-8`, 'Content-Security-Policy': policy });
    reply.end(body);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => site.once('listening', resolve));
  return { url: `http://127.0.0.1:${site.address().port}/`, close: () => site.close() };
};

const names = async (base, query) => {
  const found = await (await fetch(`${base}/api/reviews/search?${query}`)).json();
  return found.reviews.map((one) => one.author);
};

/** Opens the page and asserts what must hold. */
export const checkHostile = async (page, site, base, other) => {
  await page.goto(site.url);
  await page.waitForFunction(() => ['first', 'second'].every((id) =>
    document.getElementById(id).shadowRoot?.querySelectorAll('li').length === 2));
  const shown = await page.evaluate(() => ['first', 'second'].map((id) => {
    const root = document.getElementById(id).shadowRoot;
    const name = root.querySelector('.name');
    const style = getComputedStyle(name);
    const text = getComputedStyle(root.querySelector('.text'));
    return {
      names: [...root.querySelectorAll('.name')].map((one) => one.textContent),
      note: root.querySelector('.note') ? root.querySelector('.note').textContent : '',
      style: [style.display, style.textTransform, style.letterSpacing, style.fontStyle, style.textIndent, style.visibility, style.fontSize],
      lines: parseFloat(text.lineHeight) / parseFloat(text.fontSize),
      isVisible: name.getBoundingClientRect().height > 10,
    };
  }));
  assert.deepEqual(shown[0].names, await names(base, 'limit=2'));
  assert.deepEqual(shown[1].names, await names(other, 'limit=2&min_rating=4'));
  assert.match(shown[1].note, /4 stars and more/);
  for (const one of shown) {
    assert.deepEqual(one.style, ['block', 'none', 'normal', 'normal', '0px', 'visible', '16px']);
    assert.ok(Math.abs(one.lines - 1.5) < 0.05, `line height ${one.lines}`);
    assert.ok(one.isVisible);
  }
  // The words of the owner stay where no service answers, without a gap.
  await page.waitForFunction(() => !document.getElementById('dead').shadowRoot.querySelector('.reserve'));
  assert.equal(await page.evaluate(() => document.querySelector('#dead #ours').getBoundingClientRect().height > 0), true);
  // The frame has the height of its content: more than the 150 pixels of every frame.
  await page.waitForFunction(() => parseFloat(document.querySelector('iframe').style.height) > 250);
};
