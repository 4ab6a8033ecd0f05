// Scores of Lighthouse for the pages, and what they must be: lighthouse.mjs BASE_URL. Ends with 1 if one is lower.
import lighthouse from 'lighthouse';
import { launch } from 'chrome-launcher';

const base = process.argv[2];
const PERFORMANCE_MIN = 95;
const FLAGS = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-background-networking'];
const chrome = await launch({ chromePath: process.env.CHROMIUM || '/usr/bin/chromium', chromeFlags: FLAGS });
const [review] = (await (await fetch(`${base}/api/reviews/search?has_reply=true&limit=1`)).json()).reviews;
// Searches are not indexed, on purpose.
const PAGES = [
  { path: '/', isIndexed: true },
  { path: '/?lang=ar', isIndexed: true },
  { path: `/reviews/${review.id}`, isIndexed: true },
  { path: '/?words=probate', isIndexed: false },
];
const faults = [];
for (const { path, isIndexed } of PAGES) {
  const { lhr } = await lighthouse(base + path, { port: chrome.port, output: 'json', logLevel: 'error' });
  const score = (name) => Math.round(lhr.categories[name].score * 100);
  const shift = lhr.audits['cumulative-layout-shift'].numericValue;
  const scores = ['performance', 'accessibility', 'best-practices', 'seo'].map((name) => `${name} ${score(name)}`);
  console.log(`${path}: ${scores.join(', ')}, layout shift ${shift}`);
  const wanted = { accessibility: 100, 'best-practices': 100, performance: PERFORMANCE_MIN, ...(isIndexed && { seo: 100 }) };
  for (const [name, least] of Object.entries(wanted)) if (score(name) < least) faults.push(`${path}: ${name} ${score(name)} < ${least}`);
  if (shift > 0) faults.push(`${path}: the layout shifts by ${shift}`);
}
chrome.kill();
if (faults.length) { console.error(`FAILED\n${faults.join('\n')}`); process.exit(1); }
