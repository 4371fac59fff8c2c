// End to end: a search of a real server and worker in the browser: its page opened before anything is known, a brush on
// its space, a unit stopped by hand with a reason, and the rungs followed without a reload to the end.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, picture, watchedPage } from './browser.mjs';
import { Service, until } from './service.mjs';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const minutes = 60_000;
const name = 'searched-here';
const proposals = 6;
const specification = {
  version: 1,
  name,
  dataset: 'fashion-mnist',
  model: { backbone: 'vit', dim: 32, depth: 1, heads: 2, patch: 7, pool: 'mean' },
  train: { epochs: 4, batch: 32, limit: 960, validate_every: 1, validation_images: 200 },
  matrix: { prior: ['none'] },
  replicates: { seed: [0] },
  search: {
    seed: 7,
    propose: 'sobol',
    space: {
      'train.lr': { log: [1e-4, 1e-2] },
      'train.weight_decay': { linear: [0, 0.1], digits: 2 },
    },
    proposals,
    advance: { rule: 'halve', resource: 'epochs', rungs: [1, 2, 4], keep: '1/2', unit: 'cell' },
  },
  metric: { name: 'top1', reports: 'validation', selects_on: 'validation', direction: 'max', reduce: 'last' },
};

let service;
let browser;
let view;
let checks = 0;
let stories = 0;
let broken = ''; // the check that failed: those after it would only wait for what it did not do

before(
  async () => {
    service = new Service();
    browser = await launch();
    await service.startServer();
    view = await watchedPage(browser, { viewport: { width: 1280, height: 900 } });
  },
  { timeout: minutes },
);

after(async () => {
  if (checks < stories) console.error(service?.report());
  else console.log(`${checks} checks passed`);
  await browser?.close();
  await service?.close();
});

// One check in the order of the story.
function check(what, body, timeout = 2 * minutes) {
  stories += 1;
  test(what, { timeout }, async () => {
    assert.equal(broken, '', 'an earlier check failed');
    broken = what;
    await body(view.page);
    assert.deepEqual(view.misdeeds, []);
    broken = '';
    checks += 1;
  });
}

const shows = (selector, text, timeout = 30_000) =>
  view.page.locator(selector, { hasText: text }).first().waitFor({ timeout });
const inDialog = (text) => view.page.locator('dialog').getByRole('button', { name: text });
const url = () => `${service.url}/experiments/${name}/search`;
const units = () => view.page.locator('table.units tbody tr:not(.spacer)');
const unit = (proposal) => units().filter({ hasText: `#${proposal}` });
const stopped = 0; // the proposal that is stopped by hand

check('an experiment with a search leads to its page', async (page) => {
  const file = join(service.folder, 'specification.json');
  writeFileSync(file, JSON.stringify(specification));
  await service.client('submit', file);
  await page.goto(`${service.url}/experiments/${name}`);
  await page.locator(`a[href="/experiments/${name}/search"]`).click();
  await shows('h1', 'Search');
  assert.equal(page.url(), url());
});

check('every proposal is there before a worker is', async (page) => {
  await shows('.rung-counts', `${proposals} sent`);
  await until('the units', async () => (await units().count()) === proposals);
  assert.equal(await page.locator('.rung').count(), 3);
  assert.equal(await page.locator('.rung').first().locator('a').count(), proposals);
  await shows('.decision', 'begin');
  await page.locator('.search-next li').first().waitFor();
});

check('a brush on an axis narrows the list, by pointer and by keys', async (page) => {
  const strip = page.locator('.brush-strip').first();
  await strip.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await strip.boundingBox();
  await page.mouse.move(x + width / 2, y + height - 2);
  await page.mouse.down();
  await page.mouse.move(x + width / 2, y + height / 2, { steps: 4 });
  await page.mouse.up();
  await shows('.table-note', `of ${proposals} units are within the brushes`);
  await until('a shorter list', async () => (await units().count()) < proposals);
  await page.getByRole('button', { name: 'Clear brushes' }).click();
  await until('the whole list', async () => (await units().count()) === proposals);
  const least = page.getByRole('slider', { name: 'train.lr at least' });
  await least.focus();
  await page.keyboard.press('End'); // above every proposal
  await until('an empty list', async () => (await units().count()) === 0);
  await page.keyboard.press('Escape');
  await until('the whole list', async () => (await units().count()) === proposals);
});

check('a unit is stopped with a reason, which stands in the log', async (page) => {
  await unit(stopped).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Stop 1 unit', exact: true }).click();
  await shows('dialog', 'Stop 1 unit?');
  assert.equal(await inDialog('Stop 1 unit').isEnabled(), false);
  await inDialog('Keep as it is').click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Stop 1 unit', exact: true }).click();
  await page.getByLabel('Reason, for others to read').fill('seen before');
  await inDialog('Stop 1 unit').click();
  await shows('.toast', '1 unit');
  await unit(stopped).locator('.pill', { hasText: 'stopped' }).waitFor();
  await shows('.decision', 'override');
  await picture(page, 'search-stopped-1280-light');
});

check(
  'the rungs fill without a reload until the search has ended',
  async (page) => {
    let loads = 0;
    page.on('load', () => (loads += 1));
    service.startWorker(2);
    await shows('.rung:nth-child(2) .rung-counts', '3 sent', 3 * minutes); // half of six go on
    await shows('.title-row .pill', 'ended', 4 * minutes);
    assert.equal(loads, 0);
    await unit(stopped).locator('.pill', { hasText: 'stopped' }).waitFor();
    const states = await units().locator('.pill').allInnerTexts();
    assert.equal(states.filter((state) => state === 'finished').length, 1, states.join(' '));
    assert.equal(states.filter((state) => /^(stopped|parked)$/.test(state)).length, proposals - 1);
    await shows('.decision .chip', 'advance');
    await shows('.decision .chip', 'end');
    await page.locator('#search-best').waitFor();
    await picture(page, 'search-ended-1280-light');
  },
  6 * minutes,
);

check('trials that went no further are named so, and the winner leads to its trial', async (page) => {
  await page.goto(`${service.url}/experiments/${name}?tab=trials`);
  await shows('table.trials .pill', /parked|stopped/);
  await page.goto(url());
  await units().filter({ hasText: 'finished' }).getByRole('link').first().click();
  await shows('h1', 'Trial');
  await page.locator('.curve-chart canvas').waitFor();
});

for (const [width, colorScheme] of [
  [1280, 'dark'],
  [390, 'light'],
]) {
  check(`the page fits ${width} pixels in the ${colorScheme} theme and is accessible`, async () => {
    const options = { viewport: { width, height: 844 }, colorScheme, reducedMotion: 'reduce' };
    const { page, context, misdeeds } = await watchedPage(browser, options);
    await page.goto(url());
    await page.locator('.decision').first().waitFor({ timeout: 30_000 });
    await page.locator('.curve-chart canvas').first().waitFor();
    const beyond = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.ok(beyond <= 0, `${beyond} pixels wider than a ${width} pixel window`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() =>
      window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }),
    );
    assert.deepEqual(
      violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`),
      [],
    );
    await picture(page, `search-${width}-${colorScheme}`);
    assert.deepEqual(misdeeds, []);
    await context.close();
  });
}
