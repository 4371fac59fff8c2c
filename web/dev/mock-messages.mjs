// The messages of the mock: experiments, tables, curves, trials and workers, in the shapes of proto/locus/v1 in
// protobuf's JSON mapping.
import { definitions, labelSets, lookOf, stageStates, trialsOf } from './mock-experiments.mjs';
import { halfWidth, holm, mean, noise, signFlip, std } from './mock-statistics.mjs';

const metricOf = {
  name: 'top1',
  reports: 'test',
  selects_on: 'validation',
  direction: 'max',
  reduce: 'last',
};

export function score(def, cell, seed, resolution = 28) {
  const shift = { 28: 0, 42: -2.2 - 1.3 * cell, 56: -6 - 2.4 * ((cell * 3) % 5) }[resolution] ?? 0;
  return (
    def.cells[cell].top +
    0.22 * noise(def.name, seed) +
    0.16 * noise(def.name, cell, seed, resolution) +
    shift
  );
}

export const trialMessage = (def, trial) => ({
  name: `${def.name}/${trial.ordinal}`,
  ordinal: trial.ordinal,
  cell: trial.cell,
  cell_label: def.cells[trial.cell].label,
  seed: trial.seed,
  state: trial.state,
  reason: trial.reason,
  stages: stageStates(def, trial),
  look: lookOf(def, trial.cell),
});

export function experimentMessage(def, now) {
  const trials = trialsOf(def);
  const counts = {};
  for (const stage of trials.flatMap((trial) => stageStates(def, trial)))
    counts[stage.state] = (counts[stage.state] ?? 0) + 1;
  const finished = trials.every((trial) => trial.state === 'succeeded' || trial.state === 'failed');
  const state = def.paused
    ? 'paused'
    : !finished
      ? 'active'
      : def.failing.length > 0
        ? 'failed'
        : 'completed';
  const done = trials.filter((trial) => trial.state === 'succeeded').length;
  return {
    name: def.name,
    owner: 'ada',
    description: def.description,
    state,
    revision: 1,
    create_time: now - def.age,
    cells: def.cells.length,
    spec_json: JSON.stringify({
      version: 1,
      name: def.name,
      dataset: 'fashion-mnist',
      matrix: { prior: [...new Set(def.cells.map((cell) => cell.label))] },
      ...(def.search ? { search: { propose: 'sobol', proposals: 8 } } : {}),
      replicates: { seed: def.seeds },
      metric: metricOf,
    }),
    trials: trials.length,
    trials_done: done,
    stages: counts,
    running: trials
      .filter((trial) => trial.state === 'running')
      .map((trial, i) => ({
        trial: `${def.name}/${trial.ordinal}`,
        cell_label: def.cells[trial.cell].label,
        seed: trial.seed,
        role: 'train',
        stage: 1000 + 2 * trial.ordinal,
        attempt: 1,
        worker: 'workstation',
        step: Math.round(trial.share * def.steps),
        steps: def.steps,
        phase: `train ${i}`,
      })),
    eta_seconds: finished ? 0 : def.paused ? -1 : (trials.length - done) * 9,
    dataset: 'fashion-mnist',
    primary_metric: 'top1',
    stages_total: trials.length * 2,
    elapsed_seconds: Math.min(def.age / 1000, 275),
    ...bestOf(def),
  };
}

// The leading row of the table, absent while nothing has a result.
function bestOf(def) {
  const [row] = tableRows(def, 28);
  if (!row || row.n === 0) return {};
  const { cell, label, n } = row;
  return {
    best: {
      cell,
      label,
      mean: row.mean,
      std: row.std,
      n,
      metric: 'top1',
      unit: '%',
      look: lookOf(def, cell),
    },
  };
}

function tableRows(def, resolution) {
  const trials = trialsOf(def);
  const values = def.cells.map((_, cell) =>
    trials
      .filter((t) => t.cell === cell && t.state === 'succeeded')
      .map((t) => ({
        seed: t.seed,
        value: score(def, cell, t.seed, resolution),
        trial: `${def.name}/${t.ordinal}`,
      })),
  );
  const base = new Map(values[def.baseline].map((each) => [each.seed, each.value]));
  const differences = values.map((list, cell) =>
    cell === def.baseline ? [] : list.filter((v) => base.has(v.seed)).map((v) => v.value - base.get(v.seed)),
  );
  const baseMean = base.size ? mean([...base.values()]) : NaN;
  const p = differences.map(signFlip);
  const corrected = holm(p);
  const rows = def.cells.map((cell, i) => {
    const x = values[i].map((each) => each.value);
    const d = differences[i];
    const [m, dm] = [x.length ? mean(x) : NaN, d.length ? mean(d) : NaN];
    return {
      cell: i,
      label: cell.label,
      assignment_json: JSON.stringify({ prior: cell.label }),
      n: x.length,
      missing_seeds: def.seeds.filter((seed) => !values[i].some((each) => each.seed === seed)),
      mean: m,
      std: std(x),
      ci_low: m - halfWidth(x),
      ci_high: m + halfWidth(x),
      baseline: i === def.baseline,
      pairs: d.length,
      difference: dm,
      difference_std: std(d),
      difference_low: dm - halfWidth(d),
      difference_high: dm + halfWidth(d),
      p_sign_flip: p[i],
      p_floor: d.length ? 2 / 2 ** d.length : NaN,
      p_t: NaN,
      p_holm: corrected[i],
      parameters: cell.parameters,
      parameters_added: cell.parameters - Math.min(...def.cells.map((c) => c.parameters)),
      ms_per_step: x.length ? cell.speed / 10 : NaN,
      ms_per_step_std: 0.2,
      values: values[i],
      selection: m + 0.5,
      baseline_label: i === def.baseline ? '' : def.cells[def.baseline].label,
      baseline_cell: def.baseline,
      baseline_mean: baseMean,
      look: lookOf(def, i),
    };
  });
  return rows.sort((a, b) => (a.n === 0 ? 1 : 0) - (b.n === 0 ? 1 : 0) || b.mean - a.mean);
}

// What trials have results of.
export const measured = [
  { metric: 'ms_per_step', split: 'train', labels: '{}' },
  ...labelSets.map((labels) => ({ metric: 'top1', split: 'test', labels })),
  { metric: 'top1', split: 'validation', labels: '{}' },
];

export function tableMessage(def, labels) {
  const resolution = labels ? JSON.parse(labels).resolution : 28;
  const rows = tableRows(def, resolution);
  const missing = rows.filter((row) => row.missing_seeds.length > 0);
  const byResolution = [28, 42, 56].map((each) => tableRows(def, each));
  return {
    experiment: def.name,
    metric: 'top1',
    split: 'test',
    labels: `{"resolution":${resolution}}`,
    unit: '%',
    direction: 'max',
    baseline: def.cells[def.baseline].label,
    rows,
    label_sets: labelSets,
    seeds: def.seeds.length,
    correction: `holm over ${def.cells.length - 1} comparisons`,
    matched: 'only the prior differs',
    available: measured,
    sweep: def.cells.map((cell, i) => ({
      cell: i,
      look: lookOf(def, i),
      label: cell.label,
      points: [28, 42, 56].flatMap((x, k) => {
        const row = byResolution[k].find((each) => each.cell === i);
        return row.n === 0
          ? []
          : [{ labels: `{"resolution":${x}}`, x, mean: row.mean, std: row.std, n: row.n }];
      }),
    })),
    warnings:
      missing.length === 0
        ? []
        : [
            `${missing.length} of ${rows.length} cells miss seeds: ${missing
              .slice(0, 3)
              .map((row) => `${row.label} (${row.missing_seeds.join(', ')})`)
              .join('; ')}`,
          ],
  };
}

export const seriesAvailable = [
  { metric: 'loss', split: 'train', labels: '{}' },
  { metric: 'loss', split: 'validation', labels: '{}' },
  { metric: 'lr', split: '', labels: '{}' },
  { metric: 'top1', split: 'validation', labels: '{}' },
];

export function pointsOf(def, trial, metric) {
  const every = metric === 'top1' ? def.steps / 20 : def.steps / 100;
  const step = [];
  const value = [];
  for (let s = every; s <= trial.share * def.steps + 1e-9; s += every) {
    const t = s / def.steps;
    step.push(Math.round(s));
    const top = def.cells[trial.cell].top;
    const wobble = noise(def.name, trial.cell, trial.seed, metric, s);
    value.push(
      metric === 'top1'
        ? top - (top - 12) * Math.exp(-5.2 * t) + 0.6 * wobble
        : metric === 'lr'
          ? 3e-3 * 0.5 * (1 + Math.cos(Math.PI * t))
          : 0.45 + 1.9 * Math.exp(-6 * t) - trial.cell * 0.012 + 0.05 * wobble,
    );
  }
  if (trial.state === 'failed' && value.length > 1) value[value.length - 1] = NaN;
  return { step, value };
}

// The stretch asked for and one point beyond each end, where the lines lead to.
function within({ step, value }, from, to) {
  const inside = (i) => step[i] >= from && (to === 0 || step[i] <= to);
  const kept = step
    .map((_, i) => i)
    .filter(
      (i) =>
        inside(i) || (step[i] < from && step[i + 1] >= from) || (to > 0 && step[i] > to && step[i - 1] <= to),
    );
  return { step: kept.map((i) => step[i]), value: kept.map((i) => value[i]) };
}

export function curvesMessage(def, metric, split, { band = 'std', from = 0, to = 0 } = {}) {
  const axes = (step) => ({
    epoch: step.map((s) => (2 * s) / def.steps),
    images: step.map((s) => 32 * s),
    seconds: step.map((s) => 0.009 * s),
  });
  const runs = trialsOf(def)
    .filter((trial) => trial.share > 0)
    .map((trial) => ({ ...trial, ...within(pointsOf(def, trial, metric), from, to) }));
  const cells = def.cells.map((cell, i) => {
    const own = runs.filter((run) => run.cell === i);
    const step = [...new Set(own.flatMap((run) => run.step))].sort((a, b) => a - b);
    const at = step.map((s) =>
      own.map((run) => run.value[run.step.indexOf(s)]).filter((v) => v !== undefined),
    );
    return {
      cell: i,
      label: cell.label,
      look: lookOf(def, i),
      step,
      mean: at.map(mean),
      std: at.map(std),
      n: at.map((v) => v.length),
      low: at.map((v) => mean(v) - (band === 'interval' ? halfWidth(v) : std(v))),
      high: at.map((v) => mean(v) + (band === 'interval' ? halfWidth(v) : std(v))),
      ...axes(step),
    };
  });
  return {
    metric,
    split,
    labels: '{}',
    cells,
    available: seriesAvailable,
    trials: runs.map((run) => ({
      trial: run.ordinal,
      cell: run.cell,
      seed: run.seed,
      step: run.step,
      value: run.value,
      ...axes(run.step),
    })),
  };
}

export function trialDetail(def, ordinal, now) {
  const trial = trialsOf(def)[ordinal];
  if (!trial) return null;
  const message = trialMessage(def, trial);
  const config = {
    kind: 'train',
    dataset: { id: 'fashion-mnist' },
    model: { id: 'vit', options: { dim: 64, depth: 3, heads: 4, patch: 7 } },
    priors: def.cells[trial.cell].label.split(' + ').map((id) => ({ id, options: {} })),
    recipe: { id: 'supervised', options: { epochs: 2, batch: 32, lr: 0.003 } },
    seed: trial.seed,
  };
  const stages = message.stages.map((stage, i) => ({
    stage: stage.stage,
    role: stage.role,
    config_json: JSON.stringify({ ...config, kind: stage.role }),
    attempts: Array.from({ length: Number(stage.attempts) }, (_, k) => ({
      number: k + 1,
      worker: 'workstation',
      state: trial.state === 'failed' ? 'failed' : stage.state,
      failure_class: stage.failure_class,
      reason: stage.reason,
      start_time: now - 60_000 + 20_000 * k,
      ...(stage.state === 'running' ? {} : { end_time: now - 50_600 + 20_000 * k }),
      environment_json: '{"device":"cpu","dtype":"float32","threads":1,"path":"eager"}',
      device: 'cpu',
      device_name: 'cpu',
      path: 'fused',
      log_bytes: 1523,
      points: 120 + k,
    })),
    results:
      stage.state !== 'succeeded'
        ? []
        : i === 0
          ? [
              {
                key: { metric: 'parameters', split: '', labels: '{}' },
                reducer: 'last',
                value: def.cells[trial.cell].parameters,
              },
            ]
          : labelSets.map((labels) => ({
              key: { metric: 'top1', split: 'test', labels },
              reducer: 'last',
              value: score(def, trial.cell, trial.seed, JSON.parse(labels).resolution),
              step: def.steps,
            })),
    checkpoints:
      i === 0 && stage.state === 'succeeded'
        ? [
            {
              attempt: 1,
              step: def.steps,
              sha256: stage.identity,
              best: true,
              bytes: 345112,
              present: true,
              role: 'last',
            },
          ]
        : [],
  }));
  return { trial: message, stages };
}

export function workersMessage(defs, now) {
  const running = defs.flatMap((def) =>
    trialsOf(def)
      .filter((t) => t.state === 'running')
      .map((t) => ({
        stage: 1000 + 2 * t.ordinal,
        attempt: 1,
        title: `${def.name}/${t.ordinal} ${def.cells[t.cell].label} seed ${t.seed}`,
        step: Math.round(t.share * def.steps),
        steps: def.steps,
        phase: 'train',
      })),
  );
  const slot = (device, index, name, memory) => ({
    device,
    index,
    threads: device === 'cpu' ? 1 : 0,
    name,
    memory_bytes: memory,
  });
  return {
    workers: [
      {
        name: 'workstation',
        host: 'workstation.local',
        version: '0.1.0',
        state: 'active',
        slots: [slot('cpu', 0, 'cpu', 0), slot('cpu', 1, 'cpu', 0)],
        seen_time: now - 2000,
        running,
        catalog_digest: 'ab',
        extensions: [
          { name: 'own-prior', digest: 'ab'.repeat(32), current: true },
          { name: 'own-training', digest: 'cd'.repeat(32) },
        ],
      },
      {
        name: 'gpu-node',
        host: 'node17',
        version: '0.1.0',
        state: 'silent',
        slots: [slot('cuda', 0, 'NVIDIA H200', 150_000_000_000)],
        seen_time: now - 95_000,
        catalog_digest: 'ab',
      },
    ],
  };
}
