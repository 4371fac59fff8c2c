// Takes the pictures of README.md: a real dashboard over the demonstration that is kept among the tests.
//   LOCUS_BIN=build/release/bin node web/dev/pictures.mjs    (after npm run build in web/)
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, watchedPage } from '../../tests/web/browser.mjs';
import { Service, until } from '../../tests/web/service.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const experiment = 'fashion-mnist-priors';
const heading = 60; // of every page, over what is scrolled to

const service = new Service();
mkdirSync(service.data, { recursive: true });
// Six priors over five seeds; of the kept ones only that of schema 6 is the whole demonstration.
copyFileSync(join(root, 'tests/storage/testdata/schema-6.db'), join(service.data, 'locus.db'));
const browser = await launch();
try {
  await service.startServer();
  const options = { viewport: { width: 1280, height: 1000 }, colorScheme: 'light', reducedMotion: 'reduce' };
  const { page, misdeeds } = await watchedPage(browser, options);
  const take = (name) => page.screenshot({ path: join(root, 'docs/images', `${name}.png`) });
  const scrolledTo = (selector) =>
    page
      .locator(selector)
      .evaluate((node, above) => window.scrollBy(0, node.getBoundingClientRect().top - above), heading);

  await page.goto(`${service.url}/experiments/${experiment}`);
  await page.locator('.curve-chart canvas').waitFor();
  await page.locator('.sweep-plot svg').waitFor();
  await page.locator('.connection', { hasText: 'Live' }).waitFor();
  await take('experiment');
  await scrolledTo('.curves-card');
  await take('curves');
  await page.goto(`${service.url}/catalog`);
  await until('the small pictures of the priors in sight', () =>
    page.$$eval(
      '.entries-prior .thumbnail',
      (all) => all.length >= 12 && all.every((one) => one.hasChildNodes()),
    ),
  );
  await take('catalog');
  if (misdeeds.length > 0) throw new Error(misdeeds.join('\n'));
} finally {
  await browser.close();
  await service.close();
}
