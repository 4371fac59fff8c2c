// How numbers, times and names are written.
import { describe, expect, test } from 'vitest';
import {
  ago,
  bytes,
  count,
  decimalsFor,
  duration,
  failureText,
  fixed,
  interval,
  labelText,
  meanStdText,
  parameters,
  parametersAdded,
  percent,
  pValue,
  seriesText,
  resultText,
  shortened,
  shortenedApart,
  signed,
  significant,
} from './format';

describe('numbers', () => {
  test('an undefined number is a dash, infinities keep their sign', () => {
    expect(fixed(NaN, 2)).toBe('—');
    expect(fixed(Infinity, 2)).toBe('∞');
    expect(fixed(-Infinity, 2)).toBe('−∞');
  });
  test('a rounded zero has no sign', () => {
    expect(fixed(-0.001, 2)).toBe('0.00');
    expect(signed(-0.001, 2)).toBe('0.00');
    expect(signed(0.001, 2)).toBe('0.00');
  });
  test('a difference always shows its sign, with a real minus', () => {
    expect(signed(0.74, 2)).toBe('+0.74');
    expect(signed(-1.35, 2)).toBe('−1.35');
    expect(signed(10, 0)).toBe('+10');
    expect(signed(NaN, 2)).toBe('—');
  });
  test.each([
    [0.36, 2],
    [1.4, 1],
    [0.0123, 3],
    [12.3, 0],
    [0.1, 2],
    [250, 0],
  ])('a deviation of %f asks for %i decimals', (std, decimals) => {
    expect(decimalsFor([std])).toBe(decimals);
  });
  test('a column takes the decimals of its middle deviation and ignores undefined ones', () => {
    expect(decimalsFor([NaN, 0, 0.4, 0.3, 0.004])).toBe(2);
    expect(decimalsFor([NaN, 0])).toBe(2);
    expect(decimalsFor([])).toBe(2);
  });
  test('mean and deviation share their decimals; a single run has no deviation', () => {
    expect(meanStdText(82.314, 0.361)).toBe('82.31 ± 0.36');
    expect(meanStdText(82.314, NaN, 1)).toBe('82.3');
  });
  test('an interval without bounds is undefined', () => {
    expect(interval(-1.2, 2.345, 2)).toBe('[−1.20, 2.35]');
    expect(interval(NaN, 2, 2)).toBe('—');
  });
  test('the lowest p of five pairs is written out', () => {
    expect(pValue(0.0625)).toBe('0.0625');
    expect(pValue(2 / 2 ** 10)).toBe('0.00195');
    expect(pValue(1)).toBe('1');
    expect(pValue(1e-7)).toBe('<0.0001');
    expect(pValue(NaN)).toBe('—');
  });
  test('significant digits', () => {
    expect(significant(8.2345, 3)).toBe('8.23');
    expect(significant(0.000123456, 3)).toBe('0.000123');
    expect(significant(1234567, 3)).toBe('1234567');
    expect(significant(1.5e-7, 2)).toBe('1.5e−7');
    expect(significant(0, 3)).toBe('0');
  });
  test('counts are grouped from five digits on', () => {
    expect(count(1000)).toBe('1000');
    expect(count(1234567)).toBe('1\u202f234\u202f567');
  });
  test('parameters', () => {
    expect([999, 81_418, 5_717_416, 86_000_000, 999_999].map(parameters)).toEqual([
      '999',
      '81.4k',
      '5.72M',
      '86M',
      '1M',
    ]);
    expect(parameters(-1)).toBe('—');
    expect([1112, 0, -1].map(parametersAdded)).toEqual(['+1.11k', '0', '—']);
  });
  test('bytes and percentages', () => {
    expect(bytes(512)).toBe('512\u202fB');
    expect(bytes(1536)).toBe('1.5\u202fKiB');
    expect(percent(29, 30)).toBe('96\u202f%');
    expect(percent(0, 0)).toBe('—');
  });
});

describe('times', () => {
  test.each([
    [-1, '—'],
    [8.4, '8 s'],
    [59.6, '1 min 00 s'],
    [192, '3 min 12 s'],
    [3900, '1 h 05 min'],
    [187_200, '2 d 4 h'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });
  test('how long ago', () => {
    const now = 1_000_000_000;
    expect([2, 42, 200, 7300, 100_000, 300_000].map((seconds) => ago(now - 1000 * seconds, now))).toEqual([
      'just now',
      '42 s ago',
      '3 min ago',
      '2 h ago',
      'yesterday',
      '3 days ago',
    ]);
    expect(ago(null, now)).toBe('—');
  });
});

describe('names', () => {
  test('labels and series', () => {
    expect(labelText('{"resolution":42}')).toBe('resolution 42');
    expect(labelText('{}')).toBe('');
    expect(labelText('not json')).toBe('not json');
    expect(seriesText({ metric: 'top1', split: 'test', labels: '{"resolution":42}' })).toBe(
      'top1 · test · resolution 42',
    );
    expect(seriesText({ metric: 'lr', split: '', labels: '{}' })).toBe('lr');
  });
  test('a long name keeps both ends', () => {
    expect(shortened('guidance')).toBe('guidance');
    const short = shortened('learned-absolute + violin {sigma: 0.05}', 20);
    expect(short).toHaveLength(20);
    expect(short.endsWith('0.05}')).toBe(true);
  });
  test('a failure says its class once', () => {
    expect(failureText('diverged', 'diverged: loss was NaN')).toBe('diverged: loss was NaN');
    expect(failureText('code', 'signal 11')).toBe('code: signal 11');
    expect(failureText('none', 'waiting')).toBe('waiting');
    expect(failureText('timeout', '')).toBe('timeout');
  });
});

describe('names side by side', () => {
  test('lose what they share, not what tells them apart', () => {
    const long = (lr: string) => `violin {curves: [hilbert, snake], sigma: 0.01}, lr=${lr}`;
    const names = ['none', long('0.001'), long('0.003')];
    expect(shortenedApart(names, 26)).toEqual(['none', 'violin…lr=0.001', 'violin…lr=0.003']);
  });
  test('lose a head they share before what tells them apart', () =>
    expect(
      shortenedApart(
        ['0.01', '0.02'].map(
          (sigma) => `learned-absolute + violin {curves: [hilbert, snake], sigma: ${sigma}}`,
        ),
        20,
      ),
    ).toEqual(['…sigma: 0.01}', '…sigma: 0.02}']));
  test('keep a head that others do not have', () => {
    const names = ['learned-absolute', 'rope-axial'].flatMap((prior) => [
      `${prior}, lr=0.002`,
      `${prior}, lr=9.9`,
    ]);
    const short = shortenedApart(names, 20);
    expect(short.every((each, i) => each.startsWith(names[i]!.slice(0, 5)))).toBe(true);
    expect(new Set(short).size).toBe(4);
  });
  test('of two kinds are told apart within each', () => {
    const names = ['0.01', '0.02'].map(
      (sigma) => `violin {curves: [hilbert], sigma: ${sigma}} · violin-sigma`,
    );
    const other = 'rope-axial {theta: 100, shift: 0.1} · fashion-mnist-priors';
    const short = shortenedApart([...names, other], 18);
    expect(new Set(short).size).toBe(3);
    expect(Math.max(...short.map((each) => each.length))).toBeLessThanOrEqual(18);
  });
  test('stay as they are where they fit', () =>
    expect(shortenedApart(['none', 'rope-axial'], 26)).toEqual(['none', 'rope-axial']));
  test('are whole where shortening would make two of them one', () => {
    const names = ['x'.repeat(40), `${'x'.repeat(20)}y${'x'.repeat(19)}`];
    expect(shortenedApart(names, 10)).toEqual(names);
  });
  test('of one kind twice stay one', () => {
    const name = 'learned-absolute + violin {sigma: 0.01}';
    expect(new Set(shortenedApart([name, name], 20)).size).toBe(1);
  });
});

test.each([
  [154954, 0, '154\u202f954'],
  [154954, NaN, '154\u202f954'],
  [81.2345678, 0.4049, '81.235 ± 0.40'],
  [0.25, 0, '0.25000'],
  [NaN, NaN, '—'],
])('a result of %d ± %d reads %s', (mean, std, text) => expect(resultText(mean, std)).toBe(text));
