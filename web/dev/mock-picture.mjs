// A picture of alibi-2d from its published formula: b[n, i, j] = -m_n |r_i - r_j|, m_n = 2^(-8 (n + 1) / heads),
// and the softmax of it: what equal patches attend to. The shape is that of the engine's own pictures.

const round = (x) => Number(x.toPrecision(4));

export function alibiPicture(side = 8, heads = 4) {
  const n = side * side;
  const place = (i) => [Math.floor(i / side), i % side];
  const distance = (i, j) => Math.hypot(place(i)[0] - place(j)[0], place(i)[1] - place(j)[1]);
  const slopes = Array.from({ length: heads }, (_, h) => 2 ** ((-8 * (h + 1)) / heads));
  const each = (size, value) => Array.from({ length: size }, (_, i) => value(i));
  const bias = slopes.map((slope) => each(n, (i) => each(n, (j) => -slope * distance(i, j))));
  const attention = bias.map((head) =>
    head.map((row) => {
      const sum = row.reduce((total, b) => total + Math.exp(b), 0);
      return row.map((b) => Math.exp(b) / sum);
    }),
  );
  const rounded = (values) => values.map((head) => head.map((row) => row.map(round)));
  const most = Math.max(...attention.flat(2));
  const least = Math.min(...bias.flat(2));
  return {
    version: 1,
    prior: 'alibi-2d',
    revision: 1,
    options: { prefix: 'zero' },
    setting: `${heads} heads, first layer`,
    grid: [side, side],
    parameters_added: 0,
    views: [
      {
        id: 'attention',
        title: 'Attention',
        help: 'Where equal patches attend: the softmax of the bias alone.',
        scale: 'sequential',
        low: 0,
        high: round(most),
        heads: slopes.map((slope) => `slope ${round(slope)}`),
        values: rounded(attention),
      },
      {
        id: 'bias',
        title: 'Bias',
        help: 'What is added to the logit of query and key: it falls linearly with the distance.',
        scale: 'diverging',
        low: round(least),
        high: round(-least),
        heads: slopes.map((slope) => `slope ${round(slope)}`),
        values: rounded(bias),
      },
    ],
    curves: [
      {
        name: 'snake',
        path: each(n, (i) => (Math.floor(i / side) % 2 ? i - (i % side) + side - 1 - (i % side) : i)),
      },
    ],
  };
}
