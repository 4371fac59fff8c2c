// The mock's search: two priors over the same settings, halved over epochs, whose choice a second phase waits for.

const rungs = [3, 9, 27]; // epochs
const groups = ['none', 'learned-absolute + violin'];
const space = [
  { path: 'train.batch', kind: 'choice', choices: ['32', '64', '128'] },
  { path: 'train.lr', kind: 'log', low: 1e-4, high: 1e-2 },
  { path: 'model.depth', kind: 'int', low: 2, high: 6 },
  { path: 'train.weight_decay', kind: 'linear', low: 0, high: 0.1 },
];

// The i-th of a sequence that fills [0, 1) evenly: its digits in a base, mirrored at the point (van der Corput).
function mirrored(i, base) {
  let [value, weight] = [0, 1 / base];
  for (let rest = i; rest > 0; rest = Math.floor(rest / base)) {
    value += (rest % base) * weight;
    weight /= base;
  }
  return value;
}

export const settingsOf = (proposal) => ({
  'model.depth': 2 + Math.floor(5 * mirrored(proposal, 5)),
  'train.batch': [32, 64, 128][Math.floor(3 * mirrored(proposal, 3))],
  'train.lr': Number((1e-4 * 100 ** mirrored(proposal, 2)).toPrecision(4)),
  'train.weight_decay': Number((0.1 * mirrored(proposal, 7)).toPrecision(2)),
});

// Of a group with a proposal's settings after so many epochs; NaN where training diverges.
function valueOf(group, proposal, epochs) {
  const { 'train.lr': lr, 'model.depth': depth } = settingsOf(proposal);
  if (lr > 5e-3) return NaN;
  const off = Math.log10(lr) + 2.7;
  return 84 + 1.4 * group + 0.3 * depth - 7 * off * off - 18 / epochs;
}

// Where every unit stands: half of each group go on at a rung, of those at the top one in two is done.
function unitsOf(proposals, groupCount) {
  const standing = new Map();
  for (let group = 0; group < groupCount; group += 1) {
    let live = Array.from({ length: proposals }, (_, i) => i);
    rungs.forEach((epochs, rung) => {
      live.forEach((proposal) => standing.set(`${group}/${proposal}`, rung));
      if (rung === rungs.length - 1) return;
      const order = live
        .filter((proposal) => Number.isFinite(valueOf(group, proposal, epochs)))
        .sort((a, b) => valueOf(group, b, epochs) - valueOf(group, a, epochs) || a - b);
      live = order.slice(0, Math.max(1, Math.floor(live.length / 2)));
    });
  }
  const units = [];
  for (let proposal = 0; proposal < proposals; proposal += 1)
    for (let group = 0; group < groupCount; group += 1)
      units.push(unitOf(group, proposal, standing.get(`${group}/${proposal}`), proposals, groupCount));
  return units;
}

function stateOf(group, proposal, rung) {
  if (!Number.isFinite(valueOf(group, proposal, rungs[0]))) return 'failed';
  if (rung === rungs.length - 1) return proposal % 2 === 0 ? 'finished' : 'running';
  return rung === 0 && proposal % 4 === 0 ? 'stopped' : 'parked';
}

const reasons = {
  failed: 'diverged: loss was NaN at step 240',
  finished: '',
  running: 'on the way to epoch 27',
  stopped: 'below the median of the finished ones at epoch 3',
};

function unitOf(group, proposal, rung, proposals, groupCount) {
  const cell = proposal * groupCount + group;
  const state = stateOf(group, proposal, rung);
  const known = rungs.slice(0, state === 'running' ? rung : rung + 1);
  return {
    group,
    proposal,
    cell,
    label: `${groups[group]}, ${Object.entries(settingsOf(proposal))
      .map(([path, value]) => `${path} ${value}`)
      .join(', ')}`,
    values_json: JSON.stringify(settingsOf(proposal)),
    trials: [cell, proposals * groupCount + cell],
    state,
    bracket: 0,
    rung,
    scores: known.map((epochs) => {
      const value = valueOf(group, proposal, epochs);
      return Number.isFinite(value) ? { rung: epochs, value } : { rung: epochs };
    }),
    reason: reasons[state] ?? `parked at epoch ${rungs[rung]}: the better half went on`,
  };
}

function ladderOf(units) {
  return rungs.map((epochs, place) => {
    const sent = units.filter((unit) => unit.rung >= place);
    const here = sent.filter((unit) => unit.rung === place);
    const of = (state) => here.filter((unit) => unit.state === state).length;
    return {
      rung: epochs,
      sent: sent.length,
      there: sent.filter((unit) => unit.scores.some((s) => s.rung === epochs && s.value !== undefined))
        .length,
      advanced: sent.length - here.length,
      stopped: of('stopped'),
      failed: of('failed'),
    };
  });
}

const manner = {
  propose: 'sobol',
  resource: 'epochs',
  unit: 'cell',
  shared: true,
  metric: 'top1',
  split: 'validation',
  direction: 'max',
};

// `proposals` for each of both groups.
export function searchMessage(experiment, proposals = 8) {
  const units = unitsOf(proposals, groups.length);
  return {
    experiment,
    generation: 1,
    decided: logOf(units).length,
    state: 'running',
    phases: [
      {
        ...manner,
        name: 'tune',
        state: 'running',
        advance: 'halve',
        groups,
        proposals,
        proposed: units.length,
        brackets: [{ rungs: ladderOf(units) }],
        budget: [
          { name: 'epochs', spent: 6 * units.length, limit: 8 * units.length },
          { name: 'parallel', spent: 3, limit: 8 },
        ],
        choices: [
          {
            group: groups[0],
            group_json: '{"prior":"none"}',
            values_json: JSON.stringify(settingsOf(2)),
            value: 83.92,
            margin: 0.21,
            image_error: 0.37,
            seeds: 2,
            agreed: 1,
            note: 'the margin is within the image error',
          },
        ],
        units,
        space,
      },
      { name: 'final', state: 'waiting' },
    ],
    next: ['rung 2: 2 of 4 are there; then the best of each group is chosen', 'final waits for tune'],
  };
}

// The log that led there, as the server tells it.
function logOf(units) {
  const trials = (some) => some.flatMap((unit) => unit.trials);
  const log = [
    { kind: 'begin', text: `The search begins with ${units.length} units in 2 groups.`, trials: [] },
    { kind: 'propose', rule: 'sobol', text: `${units.length} units begin.`, trials: trials(units) },
  ];
  rungs.slice(0, 2).forEach((epochs, place) => {
    const sent = units.filter((unit) => unit.rung >= place);
    for (const unit of sent)
      for (const trial of unit.trials)
        log.push({ kind: 'observe', text: `Trial ${trial} at epoch ${epochs}.`, trials: [trial] });
    const stopped = sent.filter((unit) => unit.state === 'stopped' && unit.rung === place);
    if (stopped.length > 0)
      log.push({
        kind: 'stop',
        rule: 'median',
        text: `${stopped.length} units stop at epoch ${epochs}: below the median.`,
        trials: trials(stopped),
      });
    const on = sent.filter((unit) => unit.rung > place);
    log.push({
      kind: 'advance',
      rule: 'halve',
      text: `${on.length} of ${sent.length} go on to epoch ${rungs[place + 1]}: the better half.`,
      trials: trials(on),
    });
  });
  return log.map((decision, i) => ({
    number: i + 1,
    generation: 1,
    phase: 'tune',
    json: '{}',
    rule_revision: decision.rule ? 1 : 0,
    time: Date.UTC(2026, 0, 5, 12) + 20_000 * i,
    ...decision,
  }));
}

export function decisionsMessage(query, proposals = 8) {
  const log = logOf(unitsOf(proposals, groups.length));
  const after = Number(query.get('after') ?? 0);
  const size = Number(query.get('page_size') ?? 0) || 200;
  const left = log.filter((decision) => decision.number > after);
  return { decisions: left.slice(0, size), more: left.length > size };
}

export const bestMessage = () => ({
  metric: 'top1',
  split: 'validation',
  curves: groups.map((group, g) => ({
    group,
    epochs: [3, 9, 24, 51],
    value: [70.2, 76.4, 81.3, 83.1].map((value) => value + 1.4 * g),
    trial: [g, 2 + g, 4 + g, 4 + g],
  })),
});

export const importanceMessage = () => ({
  metric: 'top1',
  split: 'validation',
  units: 15,
  factors: [
    { path: 'train.lr', share: 0.71, low: 0.52, high: 0.83 },
    { path: 'model.depth', share: 0.12, low: 0.02, high: 0.26 },
    { path: 'train.weight_decay', share: 0.01, low: 0, high: 0.07 },
  ],
  unexplained: 0.16,
  note: 'By a forest of regression trees; single factors only, of what was proposed.',
});

// Its cells, by proposal and then prior, as the experiment has them.
export const searchCells = Array.from({ length: 16 }, (_, cell) => ({
  label: groups[cell % 2],
  top: 80 + (cell % 2),
  speed: 82,
  parameters: 81_418,
}));

// The state of a trial of a cell, in the words of trials.
export function searchedState(cell) {
  const unit = unitsOf(8, groups.length).find((each) => each.cell === cell);
  return { state: unit.state === 'finished' ? 'succeeded' : unit.state, reason: unit.reason };
}
