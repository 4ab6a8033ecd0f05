// The widgets and the pages in a stock Firefox, by WebDriver BiDi: firefox.mjs BASE_URL OTHER_BASE_URL.
import assert from 'node:assert/strict';
import puppeteer from 'puppeteer-core';
import { checkHostile, hostileSite } from './hostile.mjs';

const [base, other] = process.argv.slice(2);
const browser = await puppeteer.launch({
  browser: 'firefox', executablePath: process.env.FIREFOX || '/usr/bin/firefox-esr', headless: true,
});
const page = await browser.newPage();
page.setDefaultTimeout(30_000);

const site = await hostileSite(base, other);
await checkHostile(page, site, base, other);
site.close();
console.log('ok: the widgets show themselves on a hostile page');

await page.setViewport({ width: 390, height: 844 });
await page.goto(base);
const home = await page.evaluate(() => ({
  overflow: document.documentElement.scrollWidth - innerWidth,
  first: document.querySelector('#list > li').getBoundingClientRect().y,
  ago: document.querySelector('#list time .ago')?.textContent,
}));
assert.ok(home.overflow <= 0, `${home.overflow} pixels too wide`);
assert.ok(home.first < 900, `the first review is at ${home.first}`);
assert.ok(home.ago, 'the age of a review');
await page.click('#find summary');
await page.type('#words', 'probate');
await page.waitForFunction(() => location.search === '?words=probate' && document.querySelector('mark'));
console.log('ok: the front page fits a phone and searches');
await browser.close();
