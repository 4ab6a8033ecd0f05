// What the scripts of this folder share: Debian's chromium, headless, with nothing of its own on the network.
import { chromium } from 'playwright-core';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--force-prefers-reduced-motion',
];

/** Starts a browser with a profile of its own, which ends with it. */
export const start = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS });

/** Opens a page in a context of its own; what the console and the security policy complain of is added to `complaints`. */
export const open = async (browser, options, complaints) => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('console', (message) => {
    // Beside JSON the browser asks for an icon by this name, at a time of its own.
    if (message.location().url.endsWith('/favicon.ico')) return;
    if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return page;
};
