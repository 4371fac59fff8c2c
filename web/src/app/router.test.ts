// Paths, parameters and query codecs.
import { describe, expect, test } from 'vitest';
import { flagQuery, match, numberSetQuery, textQuery } from './router';
import { find, hrefs, routes } from './routes';

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

describe('routes', () => {
  test('paths are unique', () => expect(new Set(routes.map((route) => route.path)).size).toBe(routes.length));
  test('every link helper leads to a route', () => {
    expect(find(hrefs.experiments())?.route.path).toBe('/experiments');
    expect(find(hrefs.experiment('x'))?.params).toEqual({ name: 'x' });
    expect(find(hrefs.trial('x', 7))?.params).toEqual({ name: 'x', ordinal: '7' });
    expect(find(hrefs.workers())?.route.path).toBe('/workers');
    expect(find('/nowhere')).toBeNull();
  });
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
