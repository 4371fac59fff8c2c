// The mock's answers to what a person asks for: catalog, plans, explanations, logs, comparisons, actions.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { halfWidth, mean, signFlip, std } from './mock-statistics.mjs';

// Joined as a path: under jsdom, URL is not Node's own.
const engine = join(dirname(fileURLToPath(import.meta.url)), '../../engine');
const catalogFile = join(engine, 'catalog.json');
const pictureFile = (prior) => join(engine, 'pictures', `${prior}.json`);

export function catalogMessage() {
  const pictures = readdirSync(join(engine, 'pictures')).map((file) => file.replace(/\.json$/, ''));
  return { digest: '4ff493e59c5994bb', json: readFileSync(catalogFile, 'utf8'), pictures };
}

export const pictureMessage = (prior) =>
  /^[a-z0-9-]+$/.test(prior) && existsSync(pictureFile(prior))
    ? { prior, json: readFileSync(pictureFile(prior), 'utf8') }
    : null;

export function explanationMessage(trial) {
  const sentences = {
    queued: 'Waiting: both slots of the only matching worker are busy until about 14:05.',
    running: 'Training on workstation.',
    failed: 'Failed after 3 attempts: diverged, the loss was NaN at step 240.',
    succeeded: '',
  };
  return {
    subject: trial.name,
    state: trial.state,
    sentence: sentences[trial.state] ?? '',
    stages: trial.stages.map((stage) => ({
      stage: stage.stage,
      role: stage.role,
      kind: stage.kind,
      state: stage.state,
      failure_class: stage.failure_class,
      sentence: stage.reason,
      remedy: stage.state === 'failed' ? 'Lower train.lr or set train.grad_clip, then submit again.' : '',
    })),
  };
}

const logText = Array.from(
  { length: 40 },
  (_, i) =>
    `12:00:${String(i).padStart(2, '0')} train: step ${25 * (i + 1)} loss ${(2.3 * 0.97 ** i).toFixed(4)}`,
).join('\n');

export function logMessage(stage, query) {
  const text = `${logText}\n`;
  const asked = Number(query.get('offset') ?? 0);
  const offset = asked < 0 ? Math.max(0, text.length + asked) : Math.min(asked, text.length);
  return {
    stage: Number(stage),
    attempt: Number(query.get('attempt') ?? 1),
    offset,
    next_offset: text.length,
    total: text.length,
    text: text.slice(offset),
    ended: true,
    state: 'succeeded',
  };
}

// By prior, and seed of a trial; by name too where that is not enough.
function titled(items) {
  const titles = items.map(({ kind, label, seeds }) =>
    kind === 'trial' ? `${label}, seed ${seeds[0]}` : label,
  );
  return items.map(({ config: _, ...item }, i) => {
    const alone = titles.filter((each) => each === titles[i]).length === 1;
    return { ...item, title: alone ? titles[i] : `${titles[i]} · ${item.name}` };
  });
}

// `world`: what the items are made of; each has experiment, cell, label, trials, seeds, values, config.
export function comparisonMessage(items) {
  const paths = [...new Set(items.flatMap((item) => Object.keys(item.config)))].sort();
  const settings = paths.map((path) => ({
    path,
    values_json: items.map((item) => (path in item.config ? JSON.stringify(item.config[path]) : '')),
  }));
  const equal = (setting) => setting.values_json.every((value) => value === setting.values_json[0]);
  const base = new Map(items[0].values.map((each) => [each.seed, each.value]));
  const values = items.map((item) => item.values.map((each) => each.value));
  const key = { metric: 'top1', split: 'test', labels: '{"resolution":28}' };
  return {
    items: titled(items),
    differing: settings.filter((each) => !equal(each)),
    common: settings.filter(equal),
    results: [
      {
        key,
        reducer: 'last',
        n: values.map((x) => x.length),
        mean: values.map((x) => (x.length ? mean(x) : NaN)),
        std: values.map((x) => std(x)),
      },
    ],
    ...key,
    direction: 'max',
    unit: '%',
    paired: items.slice(1).map((item, i) => {
      const pairs = item.values.filter((each) => base.has(each.seed));
      const d = pairs.map((each) => each.value - base.get(each.seed));
      const m = d.length ? mean(d) : NaN;
      return {
        item: i + 1,
        n: d.length,
        mean: m,
        std: std(d),
        low: m - halfWidth(d),
        high: m + halfWidth(d),
        p_sign_flip: signFlip(d),
        p_floor: d.length ? 2 / 2 ** d.length : NaN,
        p_t: NaN,
        seeds: pairs.map((each) => each.seed),
        differences: d,
      };
    }),
  };
}

export const deletionMessage = (experiment, dry) => ({
  name: experiment.name,
  deleted: !dry,
  trials: experiment.trials,
  stages: experiment.stages_total,
  stages_kept: 2,
  stages_unfinished: experiment.stages.queued ?? 0,
  attempts: experiment.stages_total,
  points: 48210,
  artifacts: experiment.trials_done,
  bytes: experiment.trials_done * 350_000,
  kept_for: ['violin-sigma'],
});

export const planMessage = (spec) => ({
  name: spec.name,
  cells: 3,
  trials: 9,
  stages_total: 18,
  stages_done: 6,
  stages_to_run: 12,
  cell_list: ['none', 'learned-absolute', 'rope-axial'].map((label, i) => ({
    label,
    assignment_json: JSON.stringify({ prior: label }),
    trials: 3,
    stages_done: i === 1 ? 6 : 0,
    stages_to_run: i === 1 ? 0 : 6,
    parameters: 218_250 + (i === 1 ? 1024 : 0),
    prior_parameters: i === 1 ? 1024 : 0,
    memory_bytes: 50_331_648,
    data_bytes: 43_560_000,
    ...(i === 1 ? {} : { compute_seconds: 372.4 }),
  })),
  trials_added: 9,
  kinds: [
    { kind: 'train', total: 9, done: 3, to_run: 6 },
    { kind: 'evaluate', total: 9, done: 3, to_run: 6 },
  ],
  parameters: { least: 218_250, most: 219_274 },
  prior_parameters: { least: 0, most: 1024 },
  memory_bytes: { least: 50_331_648, most: 50_331_648 },
  compute_seconds: 744.8,
  wall_seconds: 381.2,
  free_slots: 2,
  history: [
    { kind: 'evaluate', basis: 'same-setting', device: 'cpu', runs: 3, stages: 6 },
    { kind: 'train', basis: 'same-size', device: 'cpu', runs: 12, stages: 6 },
  ],
});
