// End to end: a search of a real server and worker in the browser: its page opened before anything is known, a brush on
// its space, a unit stopped by hand with a reason, and the rungs followed without a reload to the end.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { picture } from './browser.mjs';
import { until } from './service.mjs';
import { Story } from './story.mjs';

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

const story = new Story();
const check = (what, body, timeout) => story.check(what, body, timeout);
const shows = (selector, text, timeout) => story.shows(selector, text, timeout);
const inDialog = (text) => story.inDialog(text);
const url = () => `${story.service.url}/experiments/${name}/search`;
const units = () => story.view.page.locator('table.units tbody tr:not(.spacer)');
const unit = (proposal) => units().filter({ hasText: `#${proposal}` });
const stopped = 0; // the proposal that is stopped by hand

check('an experiment with a search leads to its page', async (page) => {
  const file = join(story.service.folder, 'specification.json');
  writeFileSync(file, JSON.stringify(specification));
  await story.service.client('submit', file);
  await page.goto(`${story.service.url}/experiments/${name}`);
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
    story.service.startWorker(2);
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
  await page.goto(`${story.service.url}/experiments/${name}?tab=trials`);
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
    const sights = ['.decision', '.curve-chart canvas'];
    await story.fits(width, colorScheme, [{ title: 'search', path: `/experiments/${name}/search`, sights }]);
  });
}
