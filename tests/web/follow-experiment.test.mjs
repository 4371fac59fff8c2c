// End to end: a browser follows a real experiment from its submission to its last number, without a reload,
// and reads the same
// leaderboard as the command line prints.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, picture, watchedPage } from './browser.mjs';
import { Service, until } from './service.mjs';

const name = 'browser-follows';
const specification = {
  version: 1,
  name,
  dataset: 'fashion-mnist',
  model: {
    backbone: 'vit',
    dim: 32,
    depth: 2,
    heads: 4,
    patch: 7,
    pool: 'mean',
  },
  train: { epochs: 2, batch: 32, lr: 0.003, limit: 6400 },
  matrix: { prior: ['none', 'learned-absolute'] },
  replicates: { seed: [0, 1] },
  stages: [{ evaluate: { resolution: [28, 42] } }],
  baseline: { prior: 'learned-absolute' },
  metric: {
    name: 'top1',
    reports: 'test',
    selects_on: 'validation',
    direction: 'max',
    reduce: 'last',
  },
};
// The same with more steps than anybody waits for: what is looked at while it runs cannot end meanwhile.
const endless = {
  ...specification,
  name: 'browser-watches',
  train: { ...specification.train, epochs: 10_000 },
};
const trials = 4; // of either
const minutes = 60_000;

let service;
let browser;
let view;
let checks = 0;
let finished = 0; // tests; fewer than all: what the processes said is printed

before(
  async () => {
    service = new Service();
    browser = await launch();
    await service.startServer();
    view = await watchedPage(browser, {
      viewport: { width: 1280, height: 900 },
    });
  },
  { timeout: minutes },
);

after(async () => {
  if (finished < 3) console.error(service?.report());
  else console.log(`${checks} checks passed`);
  await browser?.close();
  await service?.close();
});

// A step of a longer story, with a name and an outcome of its own.
const check = (t, what, body) =>
  t.test(what, async () => {
    await body();
    checks += 1;
  });

const shows = (selector, text, timeout = 30_000) =>
  view.page.locator(selector, { hasText: text }).first().waitFor({ timeout });
const number = (value) => (typeof value === 'number' ? value : Number(value)); // NaN travels as a word

async function submit(experiment) {
  const file = join(service.folder, 'specification.json');
  writeFileSync(file, JSON.stringify(experiment));
  await service.client('submit', file);
}

// The leaderboard as drawn: text per column of every row.
function drawnRows() {
  return view.page.$$eval('table.leaderboard tbody tr', (rows) =>
    rows.map((row) => {
      const text = (column) => row.querySelector(`td.column-${column}`).innerText.replace(/\s+/g, ' ').trim();
      return {
        label: row.querySelector('.cell-label').textContent,
        n: text('n'),
        mean: text('mean'),
        difference: row.querySelector('.difference b')?.textContent ?? '',
        p: row.querySelector('.p-value')?.firstChild.textContent ?? '',
      };
    }),
  );
}

// The numbers behind the drawing, as the page hands them out.
async function downloadedRows() {
  const waiting = view.page.waitForEvent('download');
  await view.page.getByLabel('Download the leaderboard as CSV').click();
  const text = readFileSync(await (await waiting).path(), 'utf8');
  const [head, ...lines] = text
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      line
        .match(/("([^"]|"")*"|[^,]*)(,|$)/g)
        .map((field) => field.replace(/,$/, '').replace(/^"|"$/g, '').replace(/""/g, '"')),
    );
  return lines.map((line) => Object.fromEntries(head.map((column, i) => [column, line[i]])));
}

// "82.31 ± 0.36" against the unrounded pair.
function assertRounds(text, expected, what) {
  const plain = text.replace(/\u2212/g, '-').replace('+', '');
  const decimals = (plain.split('.')[1] ?? '').length;
  assert.equal(
    Number(plain),
    Number(expected.toFixed(decimals)),
    `${what}: ${text} is not ${expected} rounded`,
  );
}

test(
  'follows a running experiment to its end and reads the leaderboard',
  { timeout: 8 * minutes },
  async (t) => {
    const { page, misdeeds } = view;

    await check(t, 'opens empty, under a strict policy', async () => {
      const response = await page.goto(`${service.url}/`);
      const policy = response.headers()['content-security-policy'] ?? '';
      const scripts = policy
        .split(';')
        .map((part) => part.trim())
        .find((part) => part.startsWith('script-src'));
      assert.equal(scripts, "script-src 'self'");
      assert.match(policy, /default-src 'none'/);
      await shows('h2', 'No experiments yet');
      await shows('.connection', 'Live');
      await page.evaluate(() => {
        window.sinceTheStart = true;
      });
    });

    await check(t, 'lists a submitted experiment by itself', async () => {
      await submit(endless);
      await shows('table.experiments a', endless.name);
      await page.click(`table.experiments a:has-text("${endless.name}")`);
      await shows('h1', endless.name);
      await shows('.tab-count', String(trials));
      await shows('.running-now', 'wait for a free worker');
    });

    await check(t, 'shows what runs, and its curves, as they grow', async () => {
      service.startWorker(2);
      await page.locator('.running-now .running').first().waitFor({ timeout: minutes });
      const step = () =>
        page.evaluate(() => {
          const text = document.querySelector('.running-now .running-where .number')?.textContent ?? '';
          return /^[\d\s]+ \/ [\d\s]+$/.test(text) ? text : null;
        });
      const first = await until('a step', step, minutes);
      await until('another step', async () => ![null, first].includes(await step()), minutes);
      await page.locator('.curve-chart canvas').waitFor({ timeout: minutes });
      await picture(page, 'experiment-running-1280-light');
      await service.client('cancel', endless.name);
      await shows('.experiment-head .pill', 'cancelled', minutes);
      assert.equal(await service.worker.stop(), 0, service.worker.output);
    });

    await check(t, 'reaches the end without a reload', async () => {
      await submit(specification);
      await page.click('nav a:has-text("Experiments")');
      await page.click(`table.experiments a:has-text("${name}")`);
      await shows('h1', name);
      await shows('.running-now', 'wait for a free worker');
      service.startWorker(2);
      await shows('.experiment-head .pill', 'completed', 5 * minutes);
      await shows('.figure dd', `${trials} / ${trials}`);
      assert.equal(await page.evaluate(() => window.sinceTheStart), true, 'the page was loaded again');
      await shows('.connection', 'Live');
    });

    await check(t, 'reads the leaderboard that the command line prints', async () => {
      const printed = JSON.parse(await service.client('leaderboard', name, '--json'));
      assert.equal(printed.rows.length, 2);
      await until('both rows complete', async () => (await drawnRows()).every((row) => row.n === '2'));
      const drawn = await drawnRows();
      const handed = await downloadedRows();
      assert.deepEqual(
        drawn.map((row) => row.label),
        printed.rows.map((row) => row.label),
      );
      printed.rows.forEach((row, i) => {
        const [mean, std] = drawn[i].mean.split(' ± ');
        assertRounds(mean, number(row.mean), `${row.label} mean`);
        assertRounds(std, number(row.std), `${row.label} std`);
        assert.ok(number(row.mean) > 20, `${row.label} learned nothing: ${row.mean}`);
        for (const [column, field] of [
          ['mean', 'mean'],
          ['std', 'std'],
          ['ci_low', 'ci_low'],
          ['difference', 'difference'],
          ['p_sign_flip', 'p_sign_flip'],
          ['p_floor', 'p_floor'],
          ['p_holm', 'p_holm'],
          ['ms_per_step', 'ms_per_step'],
        ]) {
          assert.equal(number(handed[i][column]), number(row[field]), `${row.label} ${column}`);
        }
        if (row.baseline) return;
        assertRounds(drawn[i].difference, number(row.difference), `${row.label} difference`);
        assert.equal(Number(drawn[i].p), Number(number(row.p_sign_flip).toPrecision(3)));
      });
    });

    await check(t, 'draws the curves in the colors of their cells', async () => {
      const drawn = await page.$eval('.curve-chart canvas', (canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const near = (i, color) => color.every((channel, k) => Math.abs(data[i + k] - channel) < 24);
        return [...document.querySelectorAll('.legend .swatch')].map((swatch) => {
          const color = getComputedStyle(swatch).color.match(/\d+/g).map(Number);
          let pixels = 0;
          for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200 && near(i, color)) pixels += 1;
          return pixels;
        });
      });
      assert.equal(drawn.length, 2);
      for (const pixels of drawn) assert.ok(pixels > 200, `lines of ${drawn} pixels`);
    });

    await check(t, 'hands out the curves as a picture of pixels', async () => {
      await page.locator('.curves-card .popover', { hasText: 'Export' }).getByRole('button').click();
      const waiting = page.waitForEvent('download');
      await page.getByRole('button', { name: 'PNG, light' }).click();
      const file = readFileSync(await (await waiting).path());
      assert.equal(file.subarray(1, 4).toString(), 'PNG');
      assert.equal(file.readUInt32BE(16), 3 * 640, 'its width in pixels');
    });

    await check(t, 'draws the sweep over both resolutions', async () => {
      await page.locator('.sweep-plot svg').waitFor();
      assert.deepEqual(
        await page.$$eval('.sweep-table thead th.number', (cells) => cells.map((cell) => cell.textContent)),
        ['28', '42'],
      );
      await until('both cells', async () => (await page.locator('.sweep-table tbody tr').count()) === 2);
      await picture(page, 'experiment-1280-light');
    });

    await check(t, 'lists the trials with their results, sorted by the address', async () => {
      await page.click('#tab-trials');
      await until(
        'all trials',
        async () => (await page.locator('table.trials .pill', { hasText: 'succeeded' }).count()) === trials,
      );
      await page.getByLabel('Sort by seed').click();
      await until('the order', () => new URL(page.url()).searchParams.get('sort') === 'seed.asc');
      await until('trials by seed', async () => {
        const seeds = await page.$$eval('table.trials td.column-seed', (cells) =>
          cells.map((cell) => cell.textContent),
        );
        return seeds.join() === '0,0,1,1';
      });
      await page.getByLabel('Sort by top1').click();
      await until('the best first', () => new URL(page.url()).searchParams.get('sort') === 'value-0.desc');
      const listed = await (await fetch(`${service.url}/api/v1/experiments/${name}/trials`)).json();
      const expected = listed.trials.map((trial) => trial.values[0]).sort((a, b) => b - a);
      const results = await page.$$eval('table.trials td.column-value', (cells) =>
        cells.map((cell) => cell.textContent),
      );
      assert.equal(results.length, trials);
      results.forEach((text, i) => assertRounds(text, expected[i], `result ${i}`));
      await picture(page, 'trials-1280-light');
      await page.click('table.trials td.column-trial a');
      await shows('h2', 'evaluate');
      await shows('td', 'resolution 42');
      await picture(page, 'trial-1280-light');
    });

    await check(t, 'did nothing it should not', () => assert.deepEqual(misdeeds, []));
    finished += 1;
    checks += 1;
  },
);

test('comes back by itself after the server was away', { timeout: 3 * minutes }, async () => {
  const { page } = view;
  await page.goto(`${service.url}/experiments/${name}`);
  await shows('.connection', 'Live');
  await shows('table.leaderboard', 'learned-absolute');
  await page.evaluate(() => {
    window.sinceTheStart = true;
  });
  await service.stopServer();
  await shows('.connection', 'Disconnected', minutes);
  await shows('.experiment-head h1', name); // what was read stays
  await service.startServer();
  await shows('.connection', 'Live', minutes);
  assert.equal(await page.evaluate(() => window.sinceTheStart), true, 'the page was loaded again');
  finished += 1;
  checks += 1;
});

test('fits a phone and a dark room', { timeout: 2 * minutes }, async () => {
  for (const [width, colorScheme] of [
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ]) {
    const { page, context, misdeeds } = await watchedPage(browser, {
      viewport: { width, height: 844 },
      colorScheme,
    });
    for (const [picture_, path, sight] of [
      ['list', '/experiments', 'table.experiments a'],
      ['experiment', `/experiments/${name}`, '.curve-chart canvas'],
      ['trials', `/experiments/${name}?tab=trials`, 'table.trials a'],
      ['workers', '/workers', '.worker h2'],
    ]) {
      await page.goto(service.url + path);
      await page.locator(sight).first().waitFor({ timeout: 30_000 });
      const beyond = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(beyond <= 0, `${path} is ${beyond} pixels wider than a ${width} pixel window`);
      await picture(page, `${picture_}-${width}-${colorScheme}`);
    }
    assert.deepEqual(misdeeds, []);
    await context.close();
  }
  finished += 1;
  checks += 1;
});
