// A made-up Locus server's state at any moment: experiments that are finished, failing, paused and running.
// For development and for the dashboard's own tests.
import { claimsMessage } from './mock-claims.mjs';
import { mustBeTaken } from './asked.mjs';
import { answerAs } from './described.mjs';
import { definitions, lookOf, trialsOf } from './mock-experiments.mjs';
import {
  curvesMessage,
  experimentMessage,
  pointsOf,
  score,
  seriesAvailable,
  tableMessage,
  trialDetail,
  trialMessage,
  workersMessage,
} from './mock-messages.mjs';
import {
  catalogMessage,
  comparisonMessage,
  deletionMessage,
  explanationMessage,
  logMessage,
  pictureMessage,
  planMessage,
} from './mock-operations.mjs';
import { pivotMessage } from './mock-pivot.mjs';
import { bestMessage, decisionsMessage, importanceMessage, searchMessage } from './mock-search.mjs';
import { trialsMessage } from './mock-trials.mjs';

// What is compared: a trial "x/3" or a cell "x/cells/0"; null when there is no such thing.
function comparedItem(defs, name) {
  const [, experiment, cells, number] = /^([^/]+)\/(cells\/)?(\d+)$/.exec(name) ?? [];
  const def = defs.find((each) => each.name === experiment);
  const trials = def && trialsOf(def).filter((t) => (cells ? t.cell : t.ordinal) === Number(number));
  if (!trials || trials.length === 0) return null;
  const { cell } = trials[0];
  return {
    name,
    kind: cells ? 'cell' : 'trial',
    experiment,
    cell,
    label: def.cells[cell].label,
    look: lookOf(def, cell),
    trials: trials.map((t) => t.ordinal),
    seeds: trials.map((t) => t.seed),
    values: trials
      .filter((t) => t.state === 'succeeded')
      .map((t) => ({
        seed: t.seed,
        value: score(def, cell, t.seed),
        trial: `${def.name}/${t.ordinal}`,
      })),
    config: {
      'train.priors': def.cells[cell].label.split(' + '),
      'evaluate.priors': def.cells[cell].label.split(' + '),
      'train.dataset.id': 'fashion-mnist',
      'evaluate.dataset.id': 'fashion-mnist',
      'train.model.options.dim': 64,
      'train.recipe.options.lr': 0.003,
      'train.recipe.options.epochs': 2,
      ...(cells ? {} : { 'train.seed': trials[0].seed }),
    },
  };
}

function pointsMessage(defs, stage, metric) {
  const def = defs[0];
  const trial = trialsOf(def).find((each) => 1000 + 2 * each.ordinal === stage);
  if (!trial) return { step: [], epoch: [], images: [], time_us: [], value: [], reduced: false };
  const { step, value } = pointsOf(def, trial, metric);
  return {
    step: step,
    epoch: step.map((s) => (2 * s) / def.steps),
    images: step.map((s) => 32 * s),
    time_us: step.map((s) => 9000 * s),
    value: value,
  };
}

// One run of another program beside the first experiment, a tenth better than anything measured.
function foreignMessage(def, query, now) {
  const key = { metric: 'top1', split: 'validation', labels: '{}' };
  const asked = query.get('metric');
  if (def.name !== 'fashion-mnist-priors' || (asked && asked !== key.metric)) return { imports: [] };
  const step = [0, 500, 1000, 1500];
  const points = asked ? { step, time_us: step.map(() => 0), value: [10, 91.5, 97.25, 99.125] } : {};
  const series = [{ key, points: step.length, ...points }];
  return {
    imports: [
      { digest: 'f'.repeat(64), source: 'runs/peer', format: 'tensorboard', imported_time: now, series },
    ],
  };
}

function workerDetailMessage(defs, name, now) {
  const worker = workersMessage(defs, now).workers.find((each) => each.name === name);
  if (!worker) return null;
  return {
    worker,
    attempts: Array.from({ length: 45 }, (_, i) => i).map((i) => ({
      stage: 1010 + 2 * i,
      attempt: i === 1 ? 3 : 1,
      title: `high-learning-rates/${5 + (i % 3)}`,
      kind: 'train',
      state: i % 3 === 1 ? 'succeeded' : 'failed',
      failure_class: i % 3 === 1 ? 'none' : 'diverged',
      reason: i % 3 === 1 ? '' : 'loss was NaN at step 240',
      start_time: now - 300_000 * (i + 1),
      end_time: now - 300_000 * (i + 1) + 41_000,
    })),
  };
}

// Answers that are not about one experiment.
function answerAside(defs, path, query, now) {
  if (path === '/catalog') return catalogMessage();
  if (path === '/claims') return claimsMessage(query);
  if (path.startsWith('/catalog/pictures/')) return pictureMessage(path.split('/')[3]);
  if (path === '/workers') return workersMessage(defs, now);
  if (path.startsWith('/workers/')) return workerDetailMessage(defs, path.slice('/workers/'.length), now);
  if (path === '/compare') {
    const items = query.getAll('items').map((name) => comparedItem(defs, name));
    return items.includes(null) ? null : comparisonMessage(items);
  }
  const [, stage, what] = /^\/stages\/(\d+)\/(series|points|log)$/.exec(path) ?? [];
  if (what === 'series') return { series: seriesAvailable };
  if (what === 'points') return pointsMessage(defs, Number(stage), query.get('metric'));
  if (what === 'log') return logMessage(stage, query);
  return undefined;
}

function done(path, query, body, phase, now) {
  const defs = definitions(phase);
  if (path === '/paper-table') return pivotMessage(defs, body);
  if (path === '/experiments:plan') return planMessage(JSON.parse(body.spec_json));
  if (path === '/experiments')
    return {
      experiment: { ...experimentMessage(defs[0], now), name: JSON.parse(body.spec_json).name },
      created: true,
      stages_to_run: 12,
    };
  const [, name, trial, verb] = /^\/experiments\/([^/:]+)(\/trials\/\d+)?:([a-z]+)$/.exec(path) ?? [];
  const def = defs.find((each) => each.name === name);
  if (def) {
    const experiment = experimentMessage(def, now);
    if (verb === 'rerun') return { experiment, stages: trial ? 1 : 3, trials: [] };
    if (verb === 'annotate')
      return { name: `${name}${trial ?? ''}`, tags: body.add_tags ?? [], note: body.note ?? '' };
    if (verb === 'delete') return deletionMessage(experiment, query.get('dry_run') === 'true');
    return { ...experiment, state: { pause: 'paused', resume: 'active', cancel: 'cancelled' }[verb] };
  }
  const [, searched] = /^\/experiments\/([^/:]+)\/search:(?:stop|continue)$/.exec(path) ?? [];
  if (searched) return searchMessage(searched);
  const [, worker] = /^\/workers\/([^/:]+):(?:drain|undrain)$/.exec(path) ?? [];
  return workersMessage(defs, now).workers.find((each) => each.name === worker) ?? null;
}

// null for an experiment without a search, too.
function searchPart(defs, name, part, query) {
  if (!defs.some((def) => def.name === name && def.search)) return null;
  if (part === 'decisions') return decisionsMessage(query);
  if (part === 'best') return bestMessage();
  return part === 'importance' ? importanceMessage() : searchMessage(name);
}

function found(path, query, phase, now) {
  const defs = definitions(phase);
  if (path === '/experiments')
    return {
      experiments: defs.map((def) => ({ ...experimentMessage(def, now), spec_json: '' })),
      attempts_started: 61,
    };
  const aside = answerAside(defs, path, query, now);
  if (aside !== undefined) return aside;
  if (path === '/identity')
    return { asked: false, name: 'local', account: '', role: 'admin', via: 'loopback' };
  if (path === '/server')
    return {
      version: '0.1.0',
      protocol_version: 1,
      attempts_started: 61,
    };
  const [, searched, part] = /^\/experiments\/([^/]+)\/search(?:\/([a-z]+))?$/.exec(path) ?? [];
  if (searched) return searchPart(defs, searched, part, query);
  const [, name, rest = '', ordinal, why] =
    /^\/experiments\/([^/]+)(?:\/([a-z]+))?(?:\/(\d+))?(\/explanation)?$/.exec(path) ?? [];
  const def = defs.find((each) => each.name === name);
  if (!def) return null;
  if (rest === '') return experimentMessage(def, now);
  if (rest === 'table') return tableMessage(def, query.get('labels'));
  if (rest === 'curves')
    return curvesMessage(def, query.get('metric') || 'top1', query.get('split') ?? 'validation', {
      band: query.get('band') || 'std',
      from: Number(query.get('from_step') ?? 0),
      to: Number(query.get('to_step') ?? 0),
    });
  if (rest === 'foreign') return foreignMessage(def, query, now);
  if (rest === 'trials')
    return ordinal === undefined
      ? trialsMessage(def, query.getAll('metrics'))
      : why
        ? explanationMessage(trialMessage(def, trialsOf(def)[ordinal]))
        : trialDetail(def, Number(ordinal), now);
  return null;
}

// Answers GET `path` ("/experiments/x/table") at `phase` half-trials done; null when there is no such thing. Throws where
// the server would not take the request.
export function answer(path, query, phase, now = Date.now()) {
  mustBeTaken('GET', path, query);
  return answerAs('GET', path, found(path, query, phase, now));
}

// Answers POST `path`, likewise: nothing changes in this world, but everything says it did.
export function act(path, query, body, phase, now = Date.now()) {
  mustBeTaken('POST', path, query, body);
  return answerAs('POST', path, done(path, query, body, phase, now));
}
