// How fast the dashboard is on a large database: a real server on a generated data folder, Chromium in front of it.
//
//   node bench/dashboard/measure.mjs FOLDER [RUNS]
//
// FOLDER comes from dashboard_fill (bench/dashboard/fill.cc), which stands beside the locus executable that LOCUS_BIN
// names. Every run is a new browser profile, so nothing is cached; the server has answered nothing about the experiment
// in the first and is warm in the others. Times are from the start of the navigation to the end of the frame that
// painted the thing, as the page's own clock has them.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../../tests/web/browser.mjs';
import { until } from '../../tests/web/service.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const locus = join(resolve(process.env.LOCUS_BIN ?? join(root, 'build/release/bin')), 'locus');
const [folder, runsAsked = '7'] = process.argv.slice(2);
if (!folder || !existsSync(join(folder, 'locus.db'))) {
  console.error('usage: measure.mjs FOLDER [RUNS]   (a folder made by dashboard_fill)');
  process.exit(2);
}

// What is waited for on each page, in the page; `limit`: milliseconds promised, if any.
const questions = [
  {
    what: 'a page with nothing to read',
    path: '/nothing',
    drawn: () => document.querySelector('main .button'),
  },
  {
    what: 'the list of 1,000 experiments',
    path: '/experiments',
    drawn: () => document.querySelectorAll('.experiments tbody tr').length > 10,
  },
  {
    what: 'the leaderboard of 10,000 trials',
    path: '/experiments/many-trials',
    drawn: () => document.querySelectorAll('.leaderboard tbody tr').length > 10,
    limit: 300,
  },
  {
    what: 'the list of 10,000 trials',
    path: '/experiments/many-trials?tab=trials',
    drawn: () => document.querySelectorAll('#tab-panel tbody tr').length > 10,
    limit: 300,
  },
  {
    what: 'the pivot table of 10,000 trials',
    path: '/experiments/many-trials?tab=paper&cols=prior',
    drawn: () => document.querySelectorAll('.paper-table tbody tr').length > 10,
    limit: 300,
  },
  {
    what: '200 curves of 100,000 points, means with bands',
    path: '/experiments/long-curves?series=loss/train',
    drawn: () =>
      document.querySelectorAll('.legend-entry').length >= 40 &&
      document.querySelector('.curve-chart canvas'),
    limit: 500,
  },
  {
    what: '200 curves of 100,000 points, every single run',
    path: '/experiments/long-curves?series=loss/train&runs=1',
    drawn: () =>
      document.querySelectorAll('.legend-entry').length >= 40 &&
      document.querySelector('.curve-chart canvas'),
    limit: 500,
  },
  {
    what: 'a zoom into 2,000 of the 100,000 steps',
    path: '/experiments/long-curves?series=loss/train&runs=1&zoom=50000-52000',
    drawn: () =>
      document.querySelectorAll('.legend-entry').length >= 40 &&
      document.querySelector('.curve-chart canvas'),
    limit: 500,
  },
];

async function startServer() {
  const stated = join(folder, 'server.json');
  rmSync(stated, { force: true });
  const child = spawn(
    locus,
    [
      'serve',
      '--data',
      folder,
      '--grpc-address',
      '127.0.0.1:0',
      '--http-address',
      '127.0.0.1:0',
      '--web',
      join(root, 'web/dist'),
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const found = await until('the server', () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const state = existsSync(stated) ? JSON.parse(readFileSync(stated, 'utf8')) : null;
    return state?.pid === child.pid ? state : null;
  });
  return { child, url: `http://${found.http}` };
}

// Resolves in the page with the milliseconds since the navigation began. What is there when a frame begins is painted
// in it, before any timer runs.
const watch = (drawn) => `new Promise((tell) => {
  const drawn = ${drawn};
  const look = () => drawn()
    ? setTimeout(() => tell(performance.now()))
    : requestAnimationFrame(look);
  requestAnimationFrame(look);
})`;

async function measure(browser, url, { path, drawn }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(url + path, { waitUntil: 'commit' });
  const drawnAt = await page.evaluate(watch(drawn));
  const reads = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter((entry) => /\/(experiments|many-trials|long-curves|table|curves|trials|paper-table|claims)(\?|$)/.test(entry.name))
      .map((entry) => ({
        read: new URL(entry.name).pathname.split('/').pop(),
        ms: Math.round(entry.responseEnd - entry.requestStart),
        kB: Math.round(entry.decodedBodySize / 1000),
      })),
  );
  await context.close();
  return { drawnAt, reads };
}

const verdict = (median, limit) => (!limit ? '      ' : median <= limit ? 'met   ' : 'MISSED');
const rounded = (value) => `${Math.round(value)} ms`;
const { child, url } = await startServer();
const browser = await launch();
try {
  console.log(
    `${cpus().length} × ${cpus()[0].model}; load ${loadavg()[0].toFixed(1)} at the start; Chromium ${browser.version()}`,
  );
  for (const question of questions) {
    const first = await measure(browser, url, question);
    const runs = [];
    for (let run = 0; run < Number(runsAsked); run += 1) runs.push(await measure(browser, url, question));
    const times = runs.map((run) => run.drawnAt).sort((a, b) => a - b);
    const median = times[times.length >> 1];
    const reads = runs[0].reads.map(({ read, ms, kB }) => `${read} ${ms} ms, ${kB} kB`).join('; ');
    console.log(
      `${verdict(median, question.limit)} ${question.what}: median ${rounded(median)} of ${times.length} ` +
        `(${rounded(times[0])} to ${rounded(times[times.length - 1])}), first ever ${rounded(first.drawnAt)}` +
        `${question.limit ? `, promised ${question.limit} ms` : ''} [${reads}]`,
    );
  }
} finally {
  await browser.close();
  child.kill('SIGTERM');
}
