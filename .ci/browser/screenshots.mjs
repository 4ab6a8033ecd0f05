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
await browser.close();
