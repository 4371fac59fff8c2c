// The made-up experiments of the mock API: their cells, and how far their trials are at a moment.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { searchCells, searchedState } from './mock-search.mjs';

// Joined as a path: under jsdom, URL is not Node's own.
const catalogFile = join(dirname(fileURLToPath(import.meta.url)), '../../engine/catalog.json');
const priors = JSON.parse(readFileSync(catalogFile, 'utf8'))
  .items.filter((item) => item.kind === 'prior')
  .map((item) => item.id);

// As the server gives it: hue by the last prior, variant by the cells before of the same.
export function lookOf(def, cell) {
  const hueOf = ({ label }) => Math.max(0, priors.indexOf(label.split(' + ').at(-1).split(' ')[0]));
  const hues = def.cells.map(hueOf);
  if (new Set(hues).size === 1) return { hue: hues[0] + cell, variant: 0 };
  return { hue: hues[cell], variant: hues.slice(0, cell).filter((hue) => hue === hues[cell]).length };
}

const stagesOf = ['train', 'evaluate'];

const demoCells = [
  ['none', 80.1, 81.4],
  ['learned-absolute', 82.3, 82.1],
  ['rope-axial', 82.9, 82.0],
  ['alibi-2d', 81.6, 81.4],
  ['learned-absolute + violin', 83.1, 83.4],
  ['guidance', 80.9, 81.5],
].map(([label, top, speed], i) => ({ label, top, speed, parameters: 81_418 + [0, 1088, 0, 0, 1112, 0][i] }));

const wideCells = Array.from({ length: 14 }, (_, i) => ({
  label:
    i === 0
      ? 'learned-absolute'
      : `learned-absolute + violin {curves: [hilbert, snake], sigma: ${(i * 0.01).toFixed(2)}}`,
  top: 82 + 1.5 * Math.sin(i / 3),
  speed: 82 + i / 4,
  parameters: 5_717_416 + 24 * i,
}));

export const labelSets = ['{"resolution":28}', '{"resolution":42}', '{"resolution":56}'];

// done: trials finished; running: how far the running ones are, 0 to 1 each. failing: ordinals that fail.
export const definitions = (phase) => [
  {
    name: 'fashion-mnist-priors',
    cells: demoCells,
    baseline: 1,
    seeds: [0, 1, 2, 3, 4],
    done: Math.min(30, Math.floor(phase / 2)),
    running: phase / 2 < 30 ? [0.34 + 0.6 * ((phase / 2) % 1), 0.12 + 0.8 * ((phase / 2) % 1)] : [],
    steps: 1000,
    failing: [],
    age: 4 * 60_000,
    description:
      'Which way of telling a small ViT where its patches are works best? Five seeds, matched protocol.',
  },
  {
    name: 'violin-sigma',
    cells: wideCells,
    baseline: 0,
    seeds: [0, 1, 2],
    done: 42,
    running: [],
    steps: 4000,
    failing: [],
    age: 26 * 3_600_000,
    description: '',
  },
  {
    name: 'high-learning-rates',
    cells: demoCells.slice(0, 3),
    baseline: 0,
    seeds: [0, 1, 2],
    done: 9,
    running: [],
    steps: 800,
    failing: [5, 7, 8],
    age: 3 * 86_400_000,
    description: 'How far the learning rate can go before training diverges.',
  },
  {
    name: 'rope-base-frequency',
    cells: demoCells.slice(1, 4),
    baseline: 0,
    seeds: [0, 1],
    done: 2,
    running: [],
    steps: 1000,
    failing: [],
    age: 9 * 86_400_000,
    paused: true,
    description: '',
  },
  {
    name: 'tuned-priors',
    cells: searchCells,
    baseline: 0,
    seeds: [0, 1],
    done: 0,
    running: [],
    steps: 1000,
    failing: [],
    age: 2 * 3_600_000,
    search: true,
    description: 'Every prior with the settings that suit it.',
  },
];

export function trialsOf(def) {
  const trials = [];
  for (const seed of def.seeds) {
    for (let cell = 0; cell < def.cells.length; cell += 1)
      trials.push({ ordinal: trials.length, cell, seed });
  }
  const state = ({ ordinal, cell }) => (def.search ? searchState(cell) : stateOf(def, ordinal));
  return trials.map((trial) => ({ ...trial, ...state(trial) }));
}

const searchShares = { succeeded: 1, running: 0.6, failed: 0.1, parked: 0.3, stopped: 0.2 };

function searchState(cell) {
  const found = searchedState(cell);
  return { ...found, share: searchShares[found.state] ?? 0 };
}

function stateOf(def, ordinal) {
  if (def.failing.includes(ordinal))
    return { state: 'failed', share: 0.3, reason: 'diverged: loss was NaN at step 240' };
  if (ordinal < def.done) return { state: 'succeeded', share: 1, reason: '' };
  const place = ordinal - def.done;
  if (place < def.running.length) return { state: 'running', share: def.running[place], reason: '' };
  return {
    state: 'queued',
    share: 0,
    reason: def.paused
      ? 'waiting: the experiment is paused'
      : place < 4
        ? 'waiting: both slots of the only matching worker are busy'
        : '',
  };
}

export function stageStates(def, trial) {
  const step = Math.round(trial.share * def.steps);
  const train = trial.state === 'stopped' ? 'parked' : trial.state;
  return stagesOf.map((role, i) => ({
    role,
    stage: 1000 + 2 * trial.ordinal + i,
    kind: role,
    state: i === 0 ? train : trial.state === 'succeeded' ? 'succeeded' : 'blocked',
    failure_class: i === 0 && trial.state === 'failed' ? 'diverged' : 'none',
    reason: i === 0 ? trial.reason : '',
    attempts:
      trial.state === 'queued' || (i === 1 && trial.state !== 'succeeded')
        ? 0
        : trial.state === 'failed'
          ? 3
          : 1,
    retries: i === 0 && trial.state === 'failed' ? 2 : 0,
    identity: Array.from(
      { length: 64 },
      (_, k) => '0123456789abcdef'[(trial.ordinal * 7 + i * 5 + k * 11) % 16],
    ).join(''),
    step: i === 0 ? step : 0,
    steps: i === 0 ? def.steps : 0,
    shared: trial.ordinal === 1,
  }));
}
