// The mock's paper table: any of prior, resolution, experiment and metric as rows or columns.
import { labelSets, lookOf, trialsOf } from './mock-experiments.mjs';
import { score } from './mock-messages.mjs';
import { halfWidth, holm, mean, noise, signFlip, std } from './mock-statistics.mjs';

const resolutions = labelSets.map((labels) => JSON.parse(labels).resolution);
const facts = {
  top1: { unit: '%', direction: 'max' },
  loss: { unit: '', direction: 'min' },
  parameters: { unit: '', direction: 'min' },
  ms_per_step: { unit: 'ms', direction: 'min' },
  images_per_second: { unit: '', direction: '' },
};

export function valueOf(def, cell, seed, metric, resolution) {
  const { top, speed, parameters } = def.cells[cell];
  if (metric === 'parameters') return parameters;
  if (metric === 'ms_per_step') return speed + 0.3 * noise(def.name, cell, seed, metric);
  if (metric === 'images_per_second') return 32_000 / speed + noise(def.name, cell, seed, metric);
  if (metric === 'loss') return (100 - top) / 40 + 0.01 * noise(def.name, cell, seed, metric);
  return score(def, cell, seed, resolution);
}

// What differs along each axis, as [key, label].
function axesOf(defs, metrics) {
  const labels = [...new Set(defs.flatMap((def) => def.cells.map((cell) => cell.label)))];
  const axis = (name, kind, values) => ({
    name,
    kind,
    keys: values.map((value) => JSON.stringify(value)),
    labels: values.map(String),
  });
  return [
    axis('prior', 'factor', labels),
    axis(
      'experiment',
      'experiment',
      defs.map((def) => def.name),
    ),
    axis('metric', 'metric', metrics),
    axis('resolution', 'label', resolutions),
  ];
}

// Every combination of the values of some axes, in order.
function headingsOf(axes, names, where) {
  return names.reduce(
    (before, name) => {
      const axis = axes.find((each) => each.name === name);
      const wanted = where.find((filter) => filter.axis === name)?.values;
      return before.flatMap((heading) =>
        axis.labels
          .filter((label) => !wanted || wanted.includes(label))
          .map((label) => ({ ...heading, [name]: label })),
      );
    },
    [{}],
  );
}

function samplesOf(defs, place, metric) {
  const out = { values: [], missing: [], failed: [] };
  for (const def of defs) {
    if (place.experiment !== undefined && place.experiment !== def.name) continue;
    for (const trial of trialsOf(def)) {
      if (place.prior !== undefined && def.cells[trial.cell].label !== place.prior) continue;
      if (trial.state !== 'succeeded') {
        out.missing.push(trial.seed);
        if (trial.state === 'failed') out.failed.push(trial.seed);
        continue;
      }
      const resolution = Number(place.resolution ?? 28);
      out.values.push({
        seed: trial.seed,
        value: valueOf(def, trial.cell, trial.seed, place.metric ?? metric, resolution),
        trial: `${def.name}/${trial.ordinal}`,
      });
    }
  }
  return out;
}

function cellOf(samples, base) {
  const x = samples.values.map((each) => each.value);
  const others = new Map((base?.values ?? []).map((each) => [each.seed, each.value]));
  const differences = samples.values
    .filter((each) => others.has(each.seed))
    .map((each) => each.value - others.get(each.seed));
  const self = base === samples;
  const d = self ? [] : differences;
  const at = (value) => (d.length === 0 ? NaN : value);
  return {
    n: x.length,
    mean: x.length === 0 ? NaN : mean(x),
    std: std(x),
    low: mean(x) - halfWidth(x),
    high: mean(x) + halfWidth(x),
    values: samples.values,
    missing_seeds: samples.missing,
    failed_seeds: samples.failed,
    pairs: d.length,
    difference: at(mean(d)),
    difference_std: at(std(d)),
    difference_low: at(mean(d) - halfWidth(d)),
    difference_high: at(mean(d) + halfWidth(d)),
    p: d.length === 0 ? NaN : signFlip(d),
    p_floor: d.length === 0 ? NaN : 2 / 2 ** d.length,
    flags: [
      ...(samples.missing.length > 0 ? ['missing-seeds'] : []),
      ...(samples.failed.length > 0 ? ['failed-seeds'] : []),
    ],
  };
}

// Marks of a column: best, second, significance after Holm.
function mark(cells, direction, alpha) {
  const sign = direction === 'min' ? -1 : 1;
  const ranked = cells.filter((cell) => cell.n > 0).sort((a, b) => sign * (b.mean - a.mean));
  if (ranked.length > 1) {
    ranked[0].best = true;
    ranked[1].second = true;
  }
  const adjusted = holm(cells.map((cell) => cell.p));
  cells.forEach((cell, i) => {
    cell.p_adjusted = adjusted[i];
    cell.significant = adjusted[i] <= alpha;
  });
}

const summarize = (body, rows, columns, cells) =>
  columns.length < 2
    ? []
    : rows.map((_, row) => {
        const means = columns.map((__, c) => cells[row * columns.length + c].mean).filter(Number.isFinite);
        return {
          row,
          metric: columns[0].metric,
          columns: means.length,
          columns_total: means.length,
          mean: mean(means),
          iqm: mean(means),
          iqm_low: mean(means) - 0.4,
          iqm_high: mean(means) + 0.4,
          mean_rank: row + 1,
        };
      });

export function pivotMessage(defs, body) {
  const chosen = defs.filter((def) => body.experiments.includes(def.name));
  if (chosen.length !== body.experiments.length) return null;
  const metrics = body.metrics?.length > 0 ? body.metrics : [{ metric: 'top1', split: '' }];
  const axes = axesOf(
    chosen,
    metrics.map((each) => each.metric),
  );
  const columnAxes = body.columns ?? [];
  const wide = chosen.length > 1 && !columnAxes.includes('experiment') ? ['experiment'] : [];
  const rowAxes =
    body.rows?.length > 0 ? body.rows : ['prior', ...wide].filter((axis) => !columnAxes.includes(axis));
  const where = body.where ?? [];
  const places = headingsOf(axes, rowAxes, where);
  const across = headingsOf(axes, columnAxes, where).flatMap((place) =>
    (columnAxes.includes('metric') ? [metrics.find((each) => each.metric === place.metric)] : metrics).map(
      (wish) => ({ place, wish }),
    ),
  );
  const base = chosen[0].cells[chosen[0].baseline].label;
  const heading = (names, place) => ({
    keys: names.map((name) => JSON.stringify(place[name])),
    labels: names.map((name) => place[name]),
    baseline: place.prior === base,
  });
  const columns = across.map(({ place, wish }) => ({
    ...heading(columnAxes, place),
    baseline: false,
    metric: wish.metric,
    split: wish.split || (wish.metric === 'top1' ? 'test' : 'train'),
    reduce: wish.reduce || 'last',
    ...(facts[wish.metric] ?? { unit: '', direction: '' }),
  }));
  const grid = places.map((row) =>
    across.map(({ place, wish }) => {
      const at = { ...row, ...place };
      const samples = samplesOf(chosen, at, wish.metric);
      const isBase = at.prior === base || at.prior === undefined;
      return cellOf(samples, isBase ? samples : samplesOf(chosen, { ...at, prior: base }, wish.metric));
    }),
  );
  columns.forEach((column, c) =>
    mark(
      grid.map((row) => row[c]),
      column.direction,
      body.alpha ?? 0.05,
    ),
  );
  const cells = grid.flat();
  const missing = cells.filter((cell) => cell.missing_seeds.length > 0).length;
  const lookAt = (place) => {
    const def = chosen.find((each) => place.experiment === undefined || each.name === place.experiment);
    const cell = def.cells.findIndex((each) => place.prior === undefined || each.label === place.prior);
    return cell < 0 ? null : lookOf(def, cell);
  };
  const rows = places.map((place) => ({ ...heading(rowAxes, place), look: lookAt(place) }));
  return {
    row_axes: rowAxes,
    column_axes: columnAxes,
    rows,
    columns,
    cells,
    summaries: summarize(body, rows, columns, cells),
    baseline: base,
    test: body.test || 'sign-flip',
    correction: body.correction === 'none' ? 'none' : `holm over ${cells.length} comparisons`,
    level: body.level || 0.95,
    alpha: body.alpha || 0.05,
    matched: 'only the prior differs',
    warnings:
      missing > 0
        ? [`${missing} of ${cells.length} cells miss seeds; their means are over those that have a result`]
        : [],
    notes: ['Bold: best of its column. Underlined: second. *: differs from the baseline after correction.'],
    rendered: body.format ? `% ${body.format} of ${body.experiments.join(', ')}\n` : '',
    axes,
  };
}
