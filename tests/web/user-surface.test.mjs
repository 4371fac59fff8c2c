// End to end: what a person does in the browser, against a real server and worker: writes an experiment, acts on
// it, reads its trials, compares, drains, deletes. Then every page in both themes and widths, checked for
// accessibility.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { picture } from './browser.mjs';
import { until } from './service.mjs';
import { Story } from './story.mjs';

const minutes = 60_000;
const name = 'written-here';
const specification = `version: 1
name: ${name}
dataset: fashion-mnist
model: {backbone: vit, dim: 32, depth: 1, heads: 2, patch: 7, pool: mean}
train: {epochs: 1, batch: 32, lr: 3.0e-3, limit: 960, validation_images: 200}
matrix:
  prior: [none, learned-absolute]
replicates: {seed: [0, 1]}
baseline: {prior: none}
metric: {name: top1, reports: validation, selects_on: validation, direction: max, reduce: last}
`;

const story = new Story();
const check = (what, body, timeout) => story.check(what, body, timeout);
const shows = (selector, text, timeout) => story.shows(selector, text, timeout);
const button = (text) => story.button(text);
const inDialog = (text) => story.inDialog(text);
const experimentUrl = () => `${story.service.url}/experiments/${name}`;

check('the list is empty and leads to the editor', async (page) => {
  await page.goto(`${story.service.url}/`);
  await shows('h2', 'No experiments yet');
  await page.getByRole('link', { name: 'New experiment' }).click();
  await shows('h1', 'New experiment');
  await shows('.verdict', 'Valid');
});

check('a mistake is marked at its line while one types, and the draft survives a reload', async (page) => {
  const editor = page.getByRole('textbox', { name: 'Specification' });
  await editor.fill(specification.replace('learned-absolute]', 'learned-absolut]'));
  await shows('.verdict', '1 problem');
  await shows('.problem', 'line 7');
  await shows('.problem', 'learned-absolut');
  assert.equal(await page.locator('.editor-marked').innerText(), '7');
  await until('no way to submit', async () => !(await button('Submit').isEnabled()));
  await picture(page, 'create-problem-1280-light');
  await page.locator('.problem').click();
  const refused = story.view.misdeeds.splice(0); // the browser reports each refused plan
  assert.ok(
    refused.every((each) => each.includes('status of 400')),
    refused.join('\n'),
  );
  const caret = await editor.evaluate(
    (field) => field.value.slice(0, field.selectionStart).split('\n').length,
  );
  assert.equal(caret, 7);
  await page.reload();
  await shows('.problem', 'line 7');
  story.view.misdeeds.length = 0; // refused once more
});

check('the plan says what would run, and submitting asks first', async (page) => {
  await page.getByRole('textbox', { name: 'Specification' }).fill(specification);
  await shows('.verdict', 'Valid');
  const figures = await page.locator('.create-side .figure').allTextContents();
  assert.deepEqual(figures, ['Cells2', 'Trials4', 'Stages to run4', 'Done already0']);
  await button('Submit').click();
  await shows('dialog', `Submit ${name}?`);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await button('Submit').click();
  await inDialog('Submit').click();
  await shows('h1', name);
  await until('its address', () => new URL(page.url()).pathname === `/experiments/${name}`);
});

check('it is paused and resumed, each after a question', async (page) => {
  await button('Pause').click();
  await shows('dialog', `Pause ${name}?`);
  await inDialog('Keep as it is').click();
  await shows('.experiment-head .pill', 'active');
  await button('Pause').click();
  await inDialog('Pause').click();
  await shows('.experiment-head .pill', 'paused');
  await shows('.toast', 'is paused');
  await button('Resume').click();
  await inDialog('Resume').click();
  await shows('.experiment-head .pill', 'active');
});

check(
  'a worker runs it to the end',
  async (page) => {
    story.service.startWorker(2);
    await shows('.experiment-head .pill', 'completed', 3 * minutes);
    await shows('table.leaderboard', 'learned-absolute');
    assert.ok(page.url().startsWith(experimentUrl()));
  },
  4 * minutes,
);

check('what another program measured lies beside the curves and in no table', async (page) => {
  const table = () => story.service.client('leaderboard', name, '--json');
  const before = await table();
  const file = join(story.service.folder, 'elsewhere.csv');
  writeFileSync(file, 'step,train/loss\n10,0.75\n30,99.125\n');
  await story.service.client('import', file, '--experiment', name);
  await page.goto(`${experimentUrl()}?series=loss/train`);
  const legend = page.getByRole('list', { name: 'Foreign series' });
  await legend.waitFor();
  assert.match((await legend.innerText()).replace(/\s+/g, ' '), /^foreign: \S*elsewhere\.csv 99\.125 at 30$/);
  await shows('.curves-card', 'never ranked or compared');
  for (const rows of await page.locator('table').allInnerTexts())
    assert.doesNotMatch(rows, /99\.125|elsewhere/);
  assert.equal(await table(), before);
});

check('the list takes one request for all its rows', async (page) => {
  await page.goto('about:blank'); // the page before is live: it may ask until it is left
  const asked = [];
  const note = (request) => asked.push(new URL(request.url()).pathname);
  page.on('request', note);
  await page.goto(`${story.service.url}/experiments`);
  await shows('table.experiments a', name);
  await shows('.connection', 'Live');
  page.off('request', note);
  const list = asked.filter((path) => path.startsWith('/api/v1/experiments'));
  assert.deepEqual([...new Set(list)], ['/api/v1/experiments']);
});

check('what is looked for, grouped and hidden lives in the address', async (page) => {
  await page.getByLabel('Find experiments').fill('no such thing');
  await shows('h2', 'Nothing fits');
  await page.getByLabel('Find experiments').fill('written');
  await shows('table.experiments a', name);
  await page.getByLabel('Group', { exact: true }).selectOption('state');
  await shows('.group-row', 'completed');
  await button('Columns').click();
  await page.locator('.picker').getByLabel('dataset').uncheck();
  await page.keyboard.press('Escape');
  await until('the address', () => {
    const query = new URL(page.url()).searchParams;
    const hidden = (query.get('hide') ?? '').split(',');
    return query.get('q') === 'written' && query.get('group') === 'state' && hidden.includes('dataset');
  });
  await page.reload();
  await shows('.group-row', 'completed');
  assert.equal(await page.locator('th', { hasText: 'Dataset' }).count(), 0);
});

check('a trial shows its points, attempts, device and configuration', async (page) => {
  await page.goto(`${experimentUrl()}/trials/1`);
  await page.locator('#points').waitFor({ timeout: 30_000 });
  await page.locator('.curve-chart canvas').waitFor();
  await shows('.figure', 'Device');
  await shows('table.attempts', 'succeeded');
  await page.locator('.configuration summary').first().click();
  await shows('.configuration code', 'recipe.options.lr');
  await page.getByLabel('Trial 2', { exact: true }).click();
  await shows('h1', 'Trial 2');
});

check('? shows the keys, and keys lead to pages', async (page) => {
  await page.goto(experimentUrl());
  await shows('h1', name);
  await page.keyboard.press('?');
  await shows('dialog .shortcuts', 'Go to Workers');
  await page.keyboard.press('Escape');
  await page.keyboard.press('4');
  await page.locator('table.trials').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await shows('h1', 'Workers');
});

check('the log of an attempt is there to read', async (page) => {
  await page.goto(`${experimentUrl()}/trials/0`);
  const card = page.locator('section[aria-labelledby=log]');
  await card.locator('.log, .quiet').first().waitFor({ timeout: 30_000 });
});

check('two cells are compared seed by seed', async (page) => {
  await page.goto(experimentUrl());
  await page.getByLabel('Pick none to compare').check();
  await page.getByLabel('Pick learned-absolute to compare').check();
  await page.getByRole('link', { name: 'Compare 2' }).click();
  await shows('h1', 'Compare');
  await shows('.compared', 'reference');
  assert.equal(await page.locator('.paired-seed').count(), 2);
  await shows('.settings', 'prior');
  assert.equal(await page.locator('.row-equal').count(), 0);
  await page.getByLabel(/equal settings?$/).check();
  await until('equal settings', async () => (await page.locator('.row-equal').count()) > 5);
  await page.locator('.curve-chart canvas').waitFor();
});

check('the pivot table is pivoted, explained and taken away', async (page) => {
  await page.goto(`${experimentUrl()}?tab=paper`);
  await shows('.pivot-table tbody th', 'learned-absolute');
  await page.locator('.pivot-table td .explain-term').first().focus();
  await shows('[role=tooltip]', 'over 2 seeds');
  await page.keyboard.press('Escape');
  await page.getByLabel('Differences').check();
  await page.locator('.pivot-difference').first().waitFor();
  await until('the address', () => page.url().includes('delta=1'));
  await page.getByRole('button', { name: 'Export' }).click();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as LaTeX' }).click();
  const latex = readFileSync(await (await saved).path(), 'utf8');
  assert.match(latex, /\\toprule/);
  assert.match(latex, /learned-absolute/);
});

check('a figure leaves as a vector and as numbers', async (page) => {
  await page.goto(`${experimentUrl()}?tab=figures`);
  await page.locator('.scatter-point').first().focus();
  for (const [item, start] of [
    ['SVG, light', '<?xml'],
    ['Data as CSV', 'row,ms_per_step,top1'],
  ]) {
    await page.getByRole('button', { name: 'Export' }).first().click();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: item }).click();
    const text = readFileSync(await (await saved).path(), 'utf8');
    assert.ok(text.startsWith(start), text.slice(0, 80));
    assert.ok(text.includes('learned-absolute'));
  }
});

check('a zoom is read as a part and kept in the address', async (page) => {
  await page.goto(`${experimentUrl()}?series=loss/train`);
  await page.locator('.curve-chart canvas').waitFor();
  const part = page.waitForRequest((request) => /curves.*from_step=\d+/.test(request.url()));
  await button('Last half').click();
  await part;
  await until('the zoom in the address', () => /zoom=\d+-/.test(page.url()));
  await button('Whole curve').click();
  await until('the address without it', () => !page.url().includes('zoom='));
});

check('every item of the catalog opens', async (page) => {
  await page.goto(`${story.service.url}/catalog`);
  await shows('.entry', 'violin');
  const items = await page.$$eval('.entry', (links) => links.map((link) => link.getAttribute('href')));
  assert.ok(items.length >= 12);
  for (const item of items) {
    await page.goto(story.service.url + item);
    await page.locator('.item-head h1').waitFor();
    await page.locator('#options').waitFor();
  }
});

check('a worker is drained with a reason and taken back', async (page) => {
  await page.goto(`${story.service.url}/workers`);
  await button('Drain').click();
  await page.getByLabel('Reason, for others to read').fill('new driver');
  await inDialog('Drain').click();
  await shows('.worker .pill', 'draining');
  await shows('.worker', 'new driver');
  await button('Take back').click();
  await inDialog('Take back').click();
  await shows('.worker .pill', 'active');
  await page.locator('.worker h2 a').click();
  await shows('h2', 'What it ran');
  await shows('table.attempts', `${name}/`);
});

const pages = [
  ['list', '/experiments', 'table.experiments a'],
  ['experiment', `/experiments/${name}`, '.curve-chart canvas'],
  ['paper', `/experiments/${name}?tab=paper&delta=1`, '.pivot-table tbody tr'],
  ['figures', `/experiments/${name}?tab=figures`, '.scatter-point'],
  ['curves', `/experiments/${name}?band=interval&smooth=60&runs=1&logy=1&x=seconds`, '.curve-chart canvas'],
  ['paper-table', `/paper-table?of=${name}`, '.pivot-table tbody tr'],
  ['trials', `/experiments/${name}?tab=trials`, 'table.trials a'],
  ['specification', `/experiments/${name}?tab=specification`, '.code'],
  ['trial', `/experiments/${name}/trials/1`, '.curve-chart canvas'],
  ['compare', `/compare?of=${name}/cells/0,${name}/cells/1`, '.curve-chart canvas'],
  ['workers', '/workers', '.worker h2'],
  ['catalog', '/catalog', '.entry'],
  ['claims', `/claims?experiment=${name}`, '.claim-sentences'],
  ['prior', '/catalog?item=prior%2Fviolin', '.options'],
  ['create', '/new', '.plan-cells'],
];

for (const [width, colorScheme] of [
  [1280, 'light'],
  [1280, 'dark'],
  [390, 'light'],
  [390, 'dark'],
]) {
  check(`every page fits ${width} pixels in the ${colorScheme} theme and is accessible`, async () => {
    await story.fits(
      width,
      colorScheme,
      pages.map(([title, path, sight]) => ({ title: `surface-${title}`, path, sights: [sight] })),
    );
  });
}

check('deleting says first what would go', async (page) => {
  await page.goto(experimentUrl());
  await button('More').click();
  await button('Delete').click();
  await shows('dialog .figure', 'Trials4');
  await inDialog('Keep as it is').click();
  await shows('h1', name);
  await button('More').click();
  await button('Delete').click();
  await shows('dialog .figure', 'Trials4');
  await inDialog('Delete for good').click();
  await shows('h2', 'No experiments yet');
  await until('the address of the list', () => new URL(page.url()).pathname === '/experiments');
});
