// A specification as text: read, its fields found by line, written back.
import { describe, expect, test } from 'vitest';
import { readText, stepsOf, textOf } from './specification-text';
import { template } from './template';

const yaml = `version: 1
name: demo
matrix:
  prior:
    - none
    - violin: {sigma: 3}
  train.lr: [0.1, 0.2]
replicates: {seed: [0, 1]}
`;

describe('reading', () => {
  test('YAML and JSON give the same specification', () => {
    const found = JSON.parse(readText(yaml).json!);
    expect(found.matrix['train.lr']).toEqual([0.1, 0.2]);
    expect(readText(JSON.stringify(found)).json).toBe(readText(yaml).json);
  });
  test('the template can be read', () => expect(readText(template).problems).toEqual([]));
  test('what YAML calls yes stays text, as in the command line’s parser', () =>
    expect(JSON.parse(readText('a: yes\nb: 010\n').json!)).toEqual({ a: 'yes', b: 10 }));
  test('an error of syntax names its line', () => {
    const { json, problems } = readText('version: 1\nname: [a\nmodel: {}\n');
    expect(json).toBeNull();
    expect(problems[0]!.line).toBeGreaterThanOrEqual(2);
  });
  test('a key given twice is refused', () =>
    expect(readText('name: a\nname: b\n').problems[0]).toMatchObject({ line: 2 }));
  test.each(['', 'just words', '- a list'])('%j is not a specification', (text) =>
    expect(readText(text).problems[0]!.message).toContain('keys with values'),
  );
  test('a number that would change silently is refused', () =>
    expect(readText('a: 1\nseed: 9007199254740993\n').problems[0]).toMatchObject({ line: 2 }));
  test('a bomb of aliases does not go off', () => {
    const levels = Array.from({ length: 9 }, (_, i) =>
      i === 0 ? 'a0: &a0 [x, x]' : `a${i}: &a${i} [*a${i - 1}, *a${i - 1}, *a${i - 1}, *a${i - 1}]`,
    );
    expect(readText(levels.join('\n')).problems[0]!.message).toContain('alias');
  });
  test('endless nesting is an error in the text', () =>
    expect(readText('['.repeat(100_000)).json).toBeNull());
});

describe('the line of a field', () => {
  const { lineOf } = readText(yaml);
  test.each([
    ['name', 2],
    ['matrix.prior', 4],
    ['matrix.prior[1]', 6],
    ['matrix.prior[1].violin.sigma', 6],
    ['matrix.train.lr[1]', 7], // a key with a dot of its own
    ['replicates.seed', 8],
    ['matrix.unknown', 3], // its nearest holder
    ['', 1],
  ])('%s is line %i', (field, line) => expect(lineOf(field)).toBe(line));
  test('steps', () => expect(stepsOf('matrix.prior[2].violin')).toEqual(['matrix', 'prior', 2, 'violin']));
});

describe('writing', () => {
  const stored = JSON.stringify({
    metric: { name: 'top1' },
    name: 'stored',
    version: 1,
    matrix: { prior: ['none', { violin: { curves: ['hilbert'] } }] },
  });
  test('the heading keys come first, short groups on one line', () =>
    expect(textOf(stored, 'copy')).toBe(
      'version: 1\nname: copy\nmetric: {name: top1}\nmatrix: {prior: [none, {violin: {curves: [hilbert]}}]}\n',
    ));
  test('comes back as it was', () =>
    expect(JSON.parse(readText(textOf(stored)).json!)).toEqual(JSON.parse(stored)));
});
