// Paths, parameters and query codecs.
import { describe, expect, test } from 'vitest';
import { flagQuery, match, numberSetQuery, textQuery } from './router';

describe('match', () => {
  test('binds parameters and decodes them', () =>
    expect(match('/experiments/:name/trials/:ordinal', '/experiments/a%20b/trials/3')).toEqual({
      name: 'a b',
      ordinal: '3',
    }));
  test('ignores a closing slash', () => expect(match('/workers', '/workers/')).toEqual({}));
  test.each(['/experiments', '/experiments/a/b', '/experiments/a/trials', '/experiments/%E0%A4%A'])(
    'refuses %s for one experiment',
    (path) => expect(match('/experiments/:name', path)).toBeNull(),
  );
});

describe('query values', () => {
  test('the fallback leaves no trace in the address', () => {
    expect(textQuery('a').write('a')).toBeNull();
    expect(flagQuery(true).write(true)).toBeNull();
    expect(numberSetQuery.write(new Set())).toBeNull();
  });
  test('come back as they went', () => {
    expect(flagQuery(true).read(flagQuery(true).write(false))).toBe(false);
    expect(numberSetQuery.read(numberSetQuery.write(new Set([4, 1])))).toEqual(new Set([1, 4]));
    expect(numberSetQuery.read('1,x,-2,3')).toEqual(new Set([1, 3]));
  });
});
