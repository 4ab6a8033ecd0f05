// Makes the pictures of README from the sample: screenshots.mjs BASE_URL DIRECTORY.
import { open, start } from './browser.mjs';

const [base, directory] = process.argv.slice(2);
const browser = await start();
for (const [name, path, options] of [
  ['front-page', '/', { viewport: { width: 1160, height: 900 } }],
  ['search-dark', '/?aspect=fees&polarity=negative', { viewport: { width: 1160, height: 900 }, colorScheme: 'dark' }],
  ['developers', '/developers', { viewport: { width: 1160, height: 900 } }],
  ['phone', '/', { viewport: { width: 390, height: 780 } }],
]) {
  const page = await open(browser, options, []);
  await page.goto(base + path, { waitUntil: 'networkidle' });
  await page.screenshot({ path: `${directory}/${name}.png` });
  await page.context().close();
}
await browser.close();
