// A Chromium that reports everything a page should not do: console errors, policy violations, foreign
// requests, exceptions.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const { chromium } = require('playwright-core');

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const launch = () =>
  chromium.launch({ executablePath: process.env.LOCUS_CHROMIUM ?? '/usr/bin/chromium', args: flags });

// A page and the list of its misdeeds, which grows as they happen.
export async function watchedPage(browser, options) {
  const context = await browser.newContext({ acceptDownloads: true, ...options });
  const misdeeds = [];
  await context.exposeFunction('reportViolation', (text) => misdeeds.push(`policy violation: ${text}`));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      window.reportViolation(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  const page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && misdeeds.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => misdeeds.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol.startsWith('http') && hostname !== '127.0.0.1')
      misdeeds.push(`foreign request: ${request.url()}`);
  });
  return { page, context, misdeeds };
}

// Pictures go to LOCUS_SCREENSHOTS; without it, none are taken.
export async function picture(page, name) {
  const folder = process.env.LOCUS_SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
