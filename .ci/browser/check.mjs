// Looks at the pages as a person does, in a real browser: check.mjs BASE_URL OTHER_BASE_URL, the latter of another business. Ends with 1 at the first thing that is wrong.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { HtmlValidate } from 'html-validate';
import { open, start } from './browser.mjs';
import { checkHostile, hostileSite } from './hostile.mjs';

const [base, other] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await start();
const complaints = [];
let checks = 0;

const check = async (name, options, steps) => {
  const page = await open(browser, options, complaints);
  try {
    await steps(page);
    assert.deepEqual(complaints, [], 'the browser complains');
  } catch (error) {
    console.error(`FAILED: ${name}\n${error.stack}`);
    process.exit(1);
  }
  await page.context().close();
  checks += 1;
  console.log(`ok: ${name}`);
};

const desktop = { viewport: { width: 1280, height: 900 } };
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true };
const found = (page) => page.locator('#list article').count();
const api = async (query) => (await (await fetch(`${base}/api/reviews/search?${query}`)).json());
const reached = (page, query) => page.waitForURL((url) => url.search === query);
const menu = (page, name) => page.locator('details', { has: page.locator('summary', { hasText: name }) }).first();
const choose = async (page, name, value) => {
  await menu(page, name).locator('summary').click();
  await menu(page, name).locator('.panel a', { hasText: value }).first().click();
};

await check('the first review begins within 900 pixels', desktop, async (page) => {
  for (const width of [390, 900, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(base);
    const { y } = await page.locator('#list > li').first().boundingBox();
    assert.ok(y < 900, `${y} at ${width}`);
  }
});

await check('typing searches without loading the page, and the way back works', desktop, async (page) => {
  await page.goto(base);
  await page.evaluate(() => { window.stays = true; });
  await page.locator('#find summary').click();
  await page.locator('#words').pressSequentially('probate', { delay: 20 });
  await reached(page, '?words=probate');
  await page.locator('mark').first().waitFor();
  assert.equal(await found(page), (await api('words=probate')).matched);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'words');
  assert.match(await page.locator('#found').textContent(), /reviews? match/);
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('#found'));
  assert.equal(await page.locator('#words').inputValue(), '');
  assert.equal(await page.evaluate(() => window.stays), true, 'one document all along');
});

await check('filters combine, chips take them away', desktop, async (page) => {
  await page.goto(base);
  await choose(page, 'Stars', '5 stars');
  await reached(page, '?rating=5');
  await choose(page, 'Service', 'Probate');
  await page.waitForURL(/mentions_service=/);
  const query = new URL(page.url()).search.slice(1);
  await page.waitForFunction((count) => document.querySelector('#found').textContent.startsWith(count), String((await api(query)).matched));
  await page.locator('.chip[aria-current]', { hasText: '5 stars' }).click();
  await page.waitForURL((url) => !url.search.includes('rating'));
  assert.equal(await page.evaluate(() => document.activeElement.id), 'reviews');
});

await check('more reviews follow without one twice, and the focus goes with them', desktop, async (page) => {
  await page.goto(`${base}/?rating=5&limit=50`);
  const matched = (await api('rating=5&limit=1')).matched;
  while (await page.locator('#more [rel=next]').count()) {
    const before = await found(page);
    await page.locator('#more [rel=next]').click();
    await page.waitForFunction((count) => document.querySelectorAll('#list article').length > count, before);
    const focused = await page.evaluate(() => [...document.querySelectorAll('#list h3')].indexOf(document.activeElement));
    assert.equal(focused, before);
  }
  const ids = await page.locator('#list article').evaluateAll((all) => all.map((one) => one.id));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(ids.length, matched);
});

await check('an aspect leads to the words it was counted from', desktop, async (page) => {
  await page.goto(base);
  await page.locator('.aspects a', { hasText: 'critical' }).first().click();
  await page.waitForURL(/aspect=.*polarity=negative/);
  await page.locator('mark').first().waitFor();
  assert.ok(await found(page) > 0);
  assert.ok(await page.locator('mark').count() >= await found(page));
});

await check('everything is reached by the keyboard, and Escape closes a menu', desktop, async (page) => {
  await page.goto(base);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
  await page.goto(base);
  const wanted = new Set(['.bars a', '.sources a', '#find summary', '#order summary', '.filters summary', '.chip', '#list a', '.aspects a', '.faq summary', '#more a']);
  for (let press = 0; press < 200 && wanted.size; press += 1) {
    await page.keyboard.press('Tab');
    for (const selector of wanted) {
      const state = await page.evaluate((one) => {
        const focused = document.activeElement;
        if (!focused.matches(one)) return '';
        return getComputedStyle(focused).outlineStyle === 'none' ? 'without a mark' : 'marked';
      }, selector);
      assert.notEqual(state, 'without a mark', selector);
      if (state) wanted.delete(selector);
    }
  }
  assert.deepEqual([...wanted], []);
  await page.locator('#find summary').focus();
  await page.keyboard.press('Enter');
  await page.locator('#words').focus();
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#find').getAttribute('open'), null);
  assert.equal(await page.evaluate(() => document.activeElement.parentElement.id), 'find');
  await page.keyboard.press('Enter');
  await page.locator('#words').focus();
  await page.keyboard.type('invoice');
  await page.keyboard.press('Enter');
  await page.waitForURL(/words=invoice/);
  await page.locator('mark').first().waitFor();
});

await check('without JavaScript the search, pages, menus and aspects work', { ...desktop, javaScriptEnabled: false }, async (page) => {
  await page.goto(base);
  await page.locator('#find summary').click();
  await page.locator('#words').fill('probate');
  await page.locator('#search button').click();
  await page.waitForURL(/words=probate/);
  assert.equal(await found(page), (await api('words=probate')).matched);
  await page.goto(base);
  await page.locator('a[rel=next]').click();
  await page.waitForURL(/cursor=/);
  assert.equal(await found(page), 20);
  await page.goto(base);
  await choose(page, 'Source', 'Yelp');
  await page.waitForURL(/source=yelp/);
  await page.goto(base);
  await page.locator('.aspects h3 a').first().click();
  await page.waitForURL(/aspect=/);
  assert.ok(await page.locator('mark').count() > 0);
  await page.locator('#list .end').first().click();
  await page.waitForURL(/\/reviews\//);
  assert.equal(await page.locator('article').count(), 1);
});

await check('the page of a review leads back, on, and to its source', desktop, async (page) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const [review] = (await api('limit=1')).reviews;
  await page.goto(`${base}/reviews/${review.id}`);
  await page.locator('[data-copy]').click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${base}/reviews/${review.id}`);
  await page.locator('[data-copy]', { hasText: 'Copied' }).waitFor();
  assert.ok(await page.locator('.next a').count() > 0);
  await page.locator('.to-all').click();
  await page.waitForURL(/\/#reviews$/);
});

await check('no day of a document is relative without the script', { ...desktop, javaScriptEnabled: false }, async (page) => {
  await page.goto(base);
  assert.match(await page.locator('#list time').first().textContent(), /^\d+ \w+ \d{4}$/);
});

const endpoint = (page, id) => page.locator('article', { has: page.locator(`#${id}`) });

await check('examples for developers can be copied and tried', desktop, async (page) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(base);
  await page.locator('.site a', { hasText: 'For developers' }).click();
  await page.waitForURL(/developers$/);
  const search = endpoint(page, 'searchReviews');
  await search.locator('.code .copy').first().click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, `curl --compressed '${base}/api/reviews/search?min_rating=4&limit=5'`);
  await search.locator('summary', { hasText: 'Try' }).click();
  await search.locator('[name=rating]').fill('1');
  await search.locator('[name=min_rating]').fill('');
  await search.locator('button[type=submit]').click();
  await search.locator('.output').waitFor();
  const shown = await search.locator('.output').textContent();
  assert.match(shown, /^GET \/api\/reviews\/search\?rating=1&limit=5\n200 /);
  assert.ok(shown.includes(`"matched": ${(await api('rating=1&limit=1')).matched},`));
  const one = endpoint(page, 'getReview');
  await one.locator('summary', { hasText: 'Try' }).click();
  await one.locator('button[type=submit]').click();
  await one.locator('.output', { hasText: '"author"' }).waitFor();
  const agent = endpoint(page, 'sendMessage');
  await agent.locator('summary', { hasText: 'Try' }).click();
  await agent.locator('button[type=submit]').click();
  await agent.locator('.output', { hasText: '"jsonrpc": "2.0"' }).waitFor();
});

await check('examples in JavaScript run as they stand', desktop, async (page) => {
  await page.goto(`${base}/developers`);
  const codes = await page.locator('.code', { has: page.locator('.label', { hasText: /^JavaScript$/ }) }).locator('code').allTextContents();
  // Not the one that gives a hub another party's callback, and not that of a picture, which the sample does not have.
  const runs = codes.filter((code) => !/hub\.callback|\/media\//.test(code));
  assert.ok(runs.length > 15 && codes.length - runs.length === 2, `${runs.length} of ${codes.length}`);
  for (const code of runs) {
    const AsyncFunction = (async () => {}).constructor;
    const lines = [];
    await new AsyncFunction('console', code)({ log: (...words) => lines.push(words) });
    const [status, content] = lines[0];
    assert.ok(status === 200 ? content : status === 204, code);
  }
});

await check('the documentation reads and searches without JavaScript', { ...desktop, javaScriptEnabled: false }, async (page) => {
  await page.goto(`${base}/developers`);
  assert.equal(await page.locator('form.try:not([hidden]) button:visible').count(), 0);
  const search = endpoint(page, 'searchReviews');
  await search.locator('summary', { hasText: 'Try' }).click();
  await search.locator('[name=limit]').fill('1');
  await search.locator('button[type=submit]').click();
  await page.waitForURL(/api\/reviews\/search\?.*limit=1/);
  assert.match(await page.locator('body').textContent(), /"returned":1,/);
});

await check('a second visit asks whether anything has changed', desktop, async (page) => {
  await page.goto(base);
  const asked = page.waitForRequest(`${base}/`);
  const reply = await page.reload();
  const fields = await (await asked).allHeaders();
  assert.ok(fields['if-none-match'], 'the copy is confirmed');
  assert.ok([200, 304].includes(reply.status()));
});

await check('the first view is under 60 KB', desktop, async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
  await page.goto(base, { waitUntil: 'networkidle' });
  assert.ok(bytes > 5_000 && bytes < 60_000, `${bytes} bytes`);
  console.log(`    ${bytes} bytes`);
});

const [newest] = (await api('limit=1')).reviews;
const PAGES = ['/', '/?lang=ar', '/?words=probate', '/?aspect=fees&polarity=negative&lang=de', '/?query=nobody+wrote+this', `/reviews/${newest.id}`, '/widget.html', '/developers'];
for (const [name, options] of [
  ['desktop', desktop],
  ['dark', { ...desktop, colorScheme: 'dark' }],
  ['phone', phone],
  ['dark phone', { ...phone, colorScheme: 'dark' }],
  ['narrow', { viewport: { width: 320, height: 640 } }],
]) {
  await check(`axe finds nothing, and nothing is cut off: ${name}`, options, async (page) => {
    for (const path of PAGES) {
      await page.goto(base + path);
      // Menus are closed: an open one covers chips below it.
      await page.evaluate(() => document.querySelectorAll('details:not([name=menu])').forEach((one) => { one.open = true; }));
      // By the debugger, as the page's own policy forbids it.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      const faults = violations.map((one) => `${path} ${one.id}: ${one.nodes[0].html} ${one.nodes[0].failureSummary}`);
      assert.deepEqual(faults, []);
      const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      assert.ok(content <= width, `${path} is ${content} wide in ${width}`);
    }
  });
}

await check('a search on a phone goes to its results', phone, async (page) => {
  await page.goto(base);
  await page.locator('#find summary').click();
  await page.locator('#words').fill('probate');
  await page.locator('#words').press('Enter');
  await page.locator('mark').first().waitFor();
  await page.waitForFunction(() => document.querySelector('#reviews').getBoundingClientRect().top < 500);
});

await check('a refused search tells why', desktop, async (page) => {
  const reply = await page.goto(`${base}/?rating=9`);
  assert.equal(reply.status(), 400);
  assert.match(await page.locator('[role=alert]').textContent(), /must be an integer from 1 to 5/);
  // The browser itself reports the status of a page.
  complaints.splice(0, complaints.length, ...complaints.filter((one) => !one.includes('400 (Bad Request)')));
});

// Another site, with a policy as strict as the widgets allow.
const policy = `default-src 'none'; script-src ${base}; connect-src ${base}; img-src ${base}; frame-src ${base}; ` +
  "base-uri 'none'; require-trusted-types-for 'script'";
const site = createServer((request, reply) => {
  if (request.url !== '/') { reply.writeHead(404).end(); return; }
  reply.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy });
  reply.end(`<!doctype html><html lang="en"><title>A site</title><link rel="icon" href="${base}/favicon.svg">
<script src="${base}/widget.js" async></script>
<img src="${base}/badge.svg" alt="Our reviews">
<iframe src="${base}/widget.html?limit=2" title="Reviews"></iframe>
<reviewd-reviews src="${base}" count="4" min-rating="5" service="probate"></reviewd-reviews></html>`);
}).listen(0, '127.0.0.1');
await new Promise((resolve) => site.once('listening', resolve));
await check('badge, frame and element work on another site under a strict policy', desktop, async (page) => {
  await page.goto(`http://127.0.0.1:${site.address().port}/`);
  const items = page.locator('reviewd-reviews li');
  await items.first().waitFor();
  const expected = (await api('limit=4&min_rating=5&mentions_service=probate')).reviews;
  assert.deepEqual(await page.locator('reviewd-reviews h3').allTextContents(), expected.map((one) => one.author));
  assert.ok(await page.locator('img').evaluate((image) => image.complete && image.naturalWidth > 100));
  assert.equal(await page.frameLocator('iframe').locator('ol > li').count(), 2);
  await page.locator('reviewd-reviews').evaluate((element) => element.setAttribute('count', '1'));
  await page.waitForFunction(() => document.querySelector('reviewd-reviews').shadowRoot.querySelectorAll('li').length === 1);
});

await check('the owner\u2019s link stays where the service is silent', desktop, async (page) => {
  await page.goto(`http://127.0.0.1:${site.address().port}/`);
  await page.evaluate((dead) => {
    const element = document.createElement('reviewd-reviews');
    element.setAttribute('src', dead);
    const link = document.createElement('a');
    link.href = '/ours';
    link.id = 'ours';
    link.textContent = 'Our reviews';
    element.append(link);
    document.body.append(element);
  }, `http://127.0.0.1:${site.address().port}`);
  await page.waitForFunction(() => !document.querySelector('reviewd-reviews:last-of-type').shadowRoot.querySelector('.reserve'));
  assert.ok(await page.locator('#ours').isVisible());
  complaints.length = 0;
});
site.close();

const hostile = await hostileSite(base, other);
await check('two services, a frame and a dead service on a hostile page', desktop, async (page) => {
  await checkHostile(page, hostile, base, other);
  // The dead service.
  complaints.length = 0;
});
hostile.close();

await check('the page below an element does not jump', desktop, async (page) => {
  const own = createServer((request, reply) => {
    if (request.url !== '/') { reply.writeHead(404).end(); return; }
    reply.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    reply.end(`<!doctype html><html lang="en"><title>A site</title><link rel="icon" href="${base}/favicon.svg">
<script src="${base}/widget.js"></script>
${['list', 'grid', 'carousel', 'wall'].map((layout) => `<reviewd-reviews src="${base}" layout="${layout}" count="3"></reviewd-reviews><p>Below ${layout}.</p>`).join('')}</html>`);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => own.once('listening', resolve));
  await page.addInitScript(() => {
    window.shift = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.shift += entry.value; }).observe({ type: 'layout-shift', buffered: true });
  });
  await page.goto(`http://127.0.0.1:${own.address().port}/`, { waitUntil: 'networkidle' });
  await page.locator('reviewd-reviews li').nth(11).waitFor();
  const shift = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(window.shift)))));
  assert.ok(shift < 0.02, `cumulative layout shift ${shift}`);
  console.log(`    layout shift ${shift.toFixed(3)}`);
  own.close();
});

/** The contrast of an element's text with a background of one color (WCAG 2.2, relative luminance). */
const contrast = (locator, background) => locator.evaluate((element, ground) => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const paint = (...colors) => {
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (color) => {
    const [r, g, b] = color.map((one) => (one /= 255) <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [one, other] = [light(paint(ground)), light(paint(ground, getComputedStyle(element).color))];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}, background);

// The documentation's own lines on pages of another site, light and dark.
const snippet = readFileSync('docs/widgets.md', 'utf8').match(/^```html\n[^]*?^```/gm).slice(0, 3).join('\n').replaceAll(/^```.*$/gm, '');
for (const [name, background, color] of [['light', '#ffffff', '#333333'], ['dark', '#14181b', '#e0e0e0']]) {
  const own = createServer((request, reply) => {
    if (request.url !== '/') { reply.writeHead(404).end(); return; }
    reply.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    reply.end(`<!doctype html><html lang="en"><title>A site</title><meta name="viewport" content="width=device-width">
<link rel="icon" href="${base}/favicon.svg"><style>body{background:${background};color:${color}}</style>
${snippet.replaceAll('https://reviews.example', base)}</html>`);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => own.once('listening', resolve));
  await check(`the lines of the documentation fit a phone and can be read: ${name}`, phone, async (page) => {
    await page.goto(`http://127.0.0.1:${own.address().port}/`);
    await page.locator('reviewd-reviews li').first().waitFor();
    const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(content <= width, `${content} wide in ${width}`);
    for (const part of ['.name', '.when', '.text', '.head a', '.note']) {
      const ratio = await contrast(page.locator(`reviewd-reviews ${part}`).first(), background);
      assert.ok(ratio >= 4.5, `${part}: ${ratio.toFixed(2)}:1`);
    }
  });
  own.close();
}
await check('the frame keeps its colors in a dark system', { ...desktop, colorScheme: 'dark' }, async (page) => {
  const ground = () => page.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
  await page.goto(`${base}/widget.html?theme=light`);
  assert.equal(await ground(), 'rgb(255, 255, 255)');
  await page.goto(`${base}/widget.html`);
  const dark = await ground();
  assert.notEqual(dark, 'rgb(255, 255, 255)');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(`${base}/widget.html?theme=dark`);
  assert.equal(await ground(), dark);
});
await browser.close();

const validator = new HtmlValidate({
  extends: ['html-validate:standard'],
  // Ours: white space of templates, and lists without bullets, which is no matter of validity.
  rules: { 'no-trailing-whitespace': 'off', 'long-title': 'off' },
});
for (const path of [...PAGES, '/?rating=9']) {
  const text = await (await fetch(base + path)).text();
  const report = await validator.validateString(text);
  const faults = report.results.flatMap((result) => result.messages).map((one) => `${path}:${one.line}: ${one.ruleId}: ${one.message}`);
  assert.deepEqual(faults, []);
}
console.log(`${checks} checks in the browser, ${PAGES.length + 1} pages valid`);
