// The mock's claims: a little of two papers, and what the first experiment measured of it.
const setting = (name, value, here = '', compared = true, from = 'print') => ({
  name,
  value,
  here,
  compared,
  from,
});
const top1 = { metric: 'top1', unit: '%', direction: 'max' };
const blank = {
  std: NaN,
  difference: NaN,
  measured: [],
};
const claim = (row, column, value, rest) => ({ ...blank, ...top1, row, column, value, ...rest });

const guidance = {
  paper: 'active-spatial-guidance',
  title: 'Active Spatial Guidance: Eliminating Injected Positional Mechanisms in Vision Transformers',
  table: 'Table 2',
  caption: 'Ways of supplying position to ViT-B under one recipe.',
  setting: [
    setting('dataset', 'imagenet-100', 'fashion-mnist'),
    setting('task', 'classification'),
    setting('model', 'ViT-B', 'vit 64 wide, 3 deep, 4 heads'),
    setting('epochs', '130', '2'),
    setting('augmentation', 'random resized crop and horizontal flip', '', false),
  ],
  rows: ['Guidance', 'RoPE', 'No-PE'],
  columns: ['Top-1 Acc. (%)'],
  claims: [
    ['Guidance', 72.26, 0.7, '["guidance"]', 4.17],
    ['RoPE', 68.09, 0.37, '["rope-axial"]', NaN],
    ['No-PE', 63.64, 0.1, '["none"]', -4.45],
  ].map(([row, value, std, prior_json, difference]) =>
    claim(row, 'Top-1 Acc. (%)', value, {
      std,
      n: 4,
      prior_json,
      difference,
      baseline: row === 'RoPE' ? '' : 'RoPE',
      options: row === 'RoPE' ? [setting('rope-axial.flavor', 'dinov3', '', true, 'code')] : [],
    }),
  ),
};

const violin = {
  paper: 'violin',
  title: 'Spatial Priors via Space Filling Curves for Small and Limited Data Vision Transformers',
  table: 'Table 16',
  caption: 'Class token against the mean of the patches.',
  setting: [setting('dataset', 'imagenet-1k', 'fashion-mnist'), setting('task', 'classification')],
  note: 'The running text speaks of three scales; only two rows are in the text.',
  rows: ['DeiT-T'],
  columns: ['CLS Baseline', 'CLS Violin'],
  claims: [
    claim('DeiT-T', 'CLS Baseline', 72.2, { prior_json: '["learned-absolute"]' }),
    claim('DeiT-T', 'CLS Violin', 72.3, {
      prior_json: '["learned-absolute",{"violin":{"curves":["hilbert","snake"]}}]',
      baseline: 'CLS Baseline',
      difference: 0.2,
      note: 'Printed +0.2; the numbers give +0.1.',
    }),
  ],
};

const papers = [guidance, violin].map((table) => ({
  id: table.paper,
  title: table.title,
  authors: table === guidance ? ['Cong Liu', 'Xiaofang Li', 'Simon X. Yang'] : [],
  note: 'Neither year nor arXiv number is printed in the text used.',
  tables: 1,
  claims: table.claims.length,
}));

// The first table beside the first experiment.
function beside(table, experiment) {
  if (table !== guidance || experiment !== 'fashion-mnist-priors')
    return { ...table, setting: table.setting.map((each) => ({ ...each, here: '' })) };
  const measured = {
    experiment,
    cell: 5,
    label: 'guidance',
    n: 5,
    mean: 80.9,
    std: 0.31,
    difference: -2.0,
    difference_low: -2.4,
    difference_high: -1.6,
    pairs: 5,
    sentence:
      'paper +4.17 over RoPE; here -2.00 (95 % -2.40 to -1.60), n = 5, other dataset, model and epochs',
    differences: [
      'dataset: imagenet-100 in the paper, fashion-mnist here',
      'guidance.lambda: 300 in the paper, 100 here',
    ],
    labels: '{"resolution":28}',
    baseline_label: 'rope-axial',
    verdict: 'not-comparable',
    why: 'setting',
    measured_direction: 'opposite',
  };
  const claims = table.claims.map((each) =>
    each.row === 'Guidance' ? { ...each, measured: [measured] } : each,
  );
  return { ...table, claims };
}

// One number of the first paper goes the other way; nothing else is beside anything.
function summaryOf(table, experiment, ofTable) {
  const matched = table === guidance && experiment === 'fashion-mnist-priors' ? 1 : 0;
  const numbers = table.claims.length;
  const why = [
    { name: 'no-cell', text: 'no cell of these priors and task', count: numbers - matched },
    { name: 'setting', text: 'another setting', count: matched },
  ];
  return {
    paper: table.paper,
    table: ofTable ? table.table : '',
    numbers,
    not_comparable: numbers,
    opposite_direction: matched,
    why: why.filter((each) => each.count > 0),
    settings: ['dataset', 'model', 'epochs']
      .filter(() => matched > 0)
      .map((name) => ({ name, text: name, count: matched })),
  };
}

export function claimsMessage(query) {
  const experiment = query.get('experiment') ?? '';
  const paper = query.get('paper') ?? '';
  const asked = [guidance, violin].filter((table) => paper === '' || table.paper === paper);
  const summaries =
    experiment === ''
      ? []
      : asked.flatMap((table) => [false, true].map((ofTable) => summaryOf(table, experiment, ofTable)));
  if (query.get('summary') === 'true') return { tables: [], papers, summaries };
  const tables = asked.map((table) => beside(table, experiment));
  if (query.get('matched') !== 'true') return { tables, papers, summaries };
  const matched = tables
    .map((table) => ({ ...table, claims: table.claims.filter((each) => each.measured.length > 0) }))
    .filter((table) => table.claims.length > 0);
  return { tables: matched, papers, summaries };
}
