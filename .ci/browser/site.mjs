// Checks an exported site as files and below a path of a plain server: site.mjs DIRECTORY.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';
import { open, start } from './browser.mjs';

const directory = process.argv[2];
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml', '.jpg': 'image/jpeg', '.xml': 'application/xml' };
const PREFIX = '/some/where/';

// Knows files and folders, and nothing else.
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  const path = normalize(pathname.endsWith('/') ? `${pathname}index.html` : pathname);
  try {
    if (!path.startsWith(PREFIX)) throw new Error('elsewhere');
    const body = await readFile(join(directory, path.slice(PREFIX.length)));
    response.writeHead(200, { 'Content-Type': TYPES[extname(path)] || 'application/octet-stream', 'Access-Control-Allow-Origin': '*' });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const served = `http://127.0.0.1:${server.address().port}${PREFIX}`;

let failures = 0;
const expect = (isTrue, what) => {
  console.log(`${isTrue ? 'ok' : 'FAILED'}: ${what}`);
  if (!isTrue) failures += 1;
};
const browser = await start();
for (const [name, base] of [['files', `file://${directory}/`], ['a path of a server', served]]) {
  for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }]) {
    const complaints = [];
    const page = await open(browser, { viewport }, complaints);
    const missing = [];
    page.on('requestfailed', (request) => missing.push(request.url()));
    page.on('response', (response) => { if (response.status() >= 400) missing.push(response.url()); });
    await page.goto(`${base}index.html`, { waitUntil: 'load' });
    const visited = [];
    const look = async () => {
      visited.push(page.url());
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run({ preload: false }));
      for (const { id, nodes } of violations) complaints.push(`${page.url()}: ${id}: ${nodes[0].html.slice(0, 120)}`);
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) complaints.push(`${page.url()}: wider than the window`);
    };
    const follow = async (selector) => {
      await Promise.all([page.waitForNavigation(), page.evaluate((selector) => document.querySelector(selector).click(), selector)]);
      await look();
    };
    await look();
    await follow('.bars a');
    await follow('.chip[aria-current]');
    await follow('#more [rel=next]');
    await follow('#list h3 + .source ~ .when a, #list .when a');
    await follow('.to-all');
    const styles = await page.evaluate(() => getComputedStyle(document.querySelector('.wall')).display);
    expect(styles === 'grid', `${name}, ${viewport.width}: styles are loaded`);
    expect(new Set(visited).size >= 4, `${name}, ${viewport.width}: links lead from page to page`);
    expect(missing.length === 0, `${name}, ${viewport.width}: nothing is missing ${missing.join(' ')}`);
    expect(complaints.length === 0, `${name}, ${viewport.width}: axe and the console find nothing ${complaints.join('; ')}`);
    await page.context().close();
  }
}

// The element on a page of another origin, with the data of the site.
const shop = createServer((request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end(`<!doctype html><html lang="en"><title>Shop</title><reviewd-reviews src="${served}" count="4"><a href="#">Reviews</a></reviewd-reviews><script src="${served}widget.js"></script>`);
});
await new Promise((resolve) => shop.listen(0, '127.0.0.1', resolve));
const page = await open(browser, {}, []);
await page.goto(`http://127.0.0.1:${shop.address().port}/`);
await page.waitForFunction(() => document.querySelector('reviewd-reviews').shadowRoot?.querySelector('.review'));
const count = await page.evaluate(() => document.querySelector('reviewd-reviews').shadowRoot.querySelectorAll('.review').length);
expect(count === 4, `the element shows as many reviews as it is told: ${count}`);
await browser.close();
shop.close();
server.close();
process.exit(failures ? 1 : 0);
