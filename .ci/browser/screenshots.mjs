// Makes the pictures of README from the sample: screenshots.mjs BASE_URL DIRECTORY.
import { open, start } from './browser.mjs';

const [base, directory] = process.argv.slice(2);
const browser = await start();
for (const [name, colorScheme] of [['front-page', 'light'], ['front-page-dark', 'dark']]) {
  const page = await open(browser, { viewport: { width: 1160, height: 900 }, colorScheme }, []);
  await page.goto(`${base}/`, { waitUntil: 'networkidle' });
  await page.screenshot({ path: `${directory}/${name}.png` });
  await page.context().close();
}
const [review] = (await (await fetch(`${base}/api/reviews/search?has_reply=true&min_rating=5&limit=1`)).json()).reviews;
const page = await open(browser, { viewport: { width: 390, height: 844 } }, []);
await page.goto(`${base}/reviews/${review.id}`, { waitUntil: 'networkidle' });
await page.screenshot({ path: `${directory}/review-page.png` });
await page.goto(`${base}/?lang=ar`, { waitUntil: 'networkidle' });
await page.screenshot({ path: `${directory}/front-page-arabic.png` });
await browser.close();
