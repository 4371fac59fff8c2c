// The mock's list of trials with the values asked for beside each.
import { lookOf, trialsOf } from './mock-experiments.mjs';
import { measured, trialMessage } from './mock-messages.mjs';
import { valueOf } from './mock-pivot.mjs';

function columnOf(asked) {
  const [metric, split = '', ...labels] = asked.split('/');
  const plain = metric === 'top1' && split !== 'validation' ? '{"resolution":28}' : '{}';
  return {
    key: { metric, split: split || 'test', labels: labels.join('/') || plain },
    unit: metric === 'top1' ? '%' : metric === 'ms_per_step' ? 'ms' : '',
    direction: metric === 'top1' ? 'max' : 'min',
    reduce: 'last',
  };
}

export function trialsMessage(def, metrics) {
  const columns = (metrics.length > 0 ? metrics : ['top1']).map(columnOf);
  const value = (trial, { key }) =>
    trial.state === 'succeeded'
      ? valueOf(def, trial.cell, trial.seed, key.metric, JSON.parse(key.labels).resolution ?? 28) +
        (key.split === 'validation' ? 0.5 : 0)
      : NaN;
  return {
    trials: trialsOf(def).map((trial) => ({
      ...trialMessage(def, trial),
      values: columns.map((column) => value(trial, column)),
    })),
    columns,
    cells: def.cells.map((cell, i) => ({
      cell: i,
      label: cell.label,
      assignment_json: JSON.stringify({ prior: cell.label }),
      look: lookOf(def, i),
    })),
    available: measured,
  };
}
