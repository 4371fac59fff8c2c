// What the editor starts with.
export const template = `# A matrix of trials: every prior below, each with every seed.
version: 1
name: my-first-matrix
dataset: fashion-mnist
model: {backbone: vit, dim: 64, depth: 3, heads: 4, patch: 7, pool: mean}
train: {epochs: 2, batch: 32, lr: 3.0e-3, limit: 16000}
matrix:
  prior: [none, learned-absolute, rope-axial]
replicates: {seed: [0, 1, 2]}
stages: [{evaluate: {resolution: [28, 42]}}]
baseline: {prior: learned-absolute}
metric: {name: top1, reports: test, selects_on: validation, direction: max, reduce: last}
`;
