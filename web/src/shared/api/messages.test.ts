// The decoders are those of the server's own description, and take its answers or say what is wrong with them.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { description, messageAt, print, type Schema } from '../../../dev/described.mjs';
import { messagesFile, messagesOf } from '../../../dev/messages.mjs';
import { act, answer } from '../../../dev/mock-world.mjs';
import type { Decoder } from './decode';
import * as messages from './messages';

test('messages.ts is what docs/openapi.json makes of it', () =>
  expect(readFileSync(messagesFile, 'utf8') === messagesOf(description), 'stale: make docs').toBe(true));

const specification = { spec_json: '{"name":"x"}' };
const answers: [string, string, unknown?][] = [
  ['GET', '/server'],
  ['GET', '/catalog'],
  ['GET', '/catalog/pictures/violin'],
  ['GET', '/claims?experiment=fashion-mnist-priors'],
  ['GET', '/experiments'],
  ['GET', '/experiments/fashion-mnist-priors'],
  ['GET', '/experiments/fashion-mnist-priors/table'],
  ['GET', '/experiments/fashion-mnist-priors/curves?metric=loss&split=train'],
  ['GET', '/experiments/fashion-mnist-priors/trials'],
  ['GET', '/experiments/high-learning-rates/trials/5'],
  ['GET', '/experiments/high-learning-rates/trials/1'],
  ['GET', '/experiments/high-learning-rates/trials/5/explanation'],
  ['GET', '/compare?items=fashion-mnist-priors/0&items=fashion-mnist-priors/cells/1'],
  ['GET', '/stages/1000/series'],
  ['GET', '/stages/1000/points?metric=loss'],
  ['GET', '/stages/1000/log'],
  ['GET', '/workers'],
  ['GET', '/workers/workstation'],
  ['POST', '/experiments', specification],
  ['POST', '/experiments:plan', specification],
  ['POST', '/experiments/violin-sigma:rerun', {}],
  ['POST', '/experiments/violin-sigma:annotate', { note: 'x' }],
  ['POST', '/experiments/violin-sigma:delete?dry_run=true', {}],
  ['POST', '/experiments/violin-sigma:pause', {}],
  ['POST', '/experiments/violin-sigma/trials/0:rerun', {}],
  ['POST', '/workers/workstation:drain', {}],
  ['POST', '/paper-table', { experiments: ['violin-sigma'], columns: ['metric'] }],
];

function answered(method: string, address: string, body: unknown): [string, unknown] {
  const { pathname, searchParams } = new URL(address, 'http://localhost');
  const found = method === 'GET' ? answer(pathname, searchParams, 24) : act(pathname, searchParams, body, 24);
  return [messageAt(method, pathname), found];
}

const decoderOf = (name: string) => messages[name as keyof typeof messages] as Decoder<unknown>;

// Every place in the answer where a field must be, of each list the first item: the way to it, by keys.
function places(schema: Schema & { items?: Schema }, value: unknown, way: readonly (string | number)[]) {
  const found: (readonly (string | number)[])[] = [];
  const name = schema.$ref?.split('/').pop();
  const described = name ? description.components.schemas[name]! : schema;
  if (Array.isArray(value)) {
    if (value.length > 0 && schema.items) found.push(...places(schema.items, value[0], [...way, 0]));
  } else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(described.properties ?? {})) {
      if (described.required?.includes(key)) found.push([...way, key]);
      found.push(...places(inner, (value as Record<string, unknown>)[key], [...way, key]));
    }
  return found;
}

describe.each(answers)('%s %s', (method, address, body) => {
  test('is taken as described', () => {
    const [name, found] = answered(method, address, body);
    expect(() => decoderOf(name)(found, '')).not.toThrow();
  });
  test('is refused, by the name of the field, where it lacks one', () => {
    const [name, found] = answered(method, address, body);
    const all = places({ $ref: `/${name}` }, found, []);
    expect(all.length).toBeGreaterThan(0);
    for (const way of all) {
      const changed = structuredClone(found) as Record<string | number, unknown>;
      const inside = way.slice(0, -1).reduce((each, key) => each[key] as typeof changed, changed);
      delete inside[way[way.length - 1]!];
      const path = way.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
      expect(() => decoderOf(name)(changed, '')).toThrow(`${path.slice(1)}: expected`);
    }
  });
});

describe('the made-up server', () => {
  const print1 = (fields: object) => print({ $ref: '/SeedValue' }, fields, 'value');
  test('prints as the real one does', () =>
    expect(print1({ seed: 7, value: NaN })).toEqual({ seed: '7', value: 'NaN', trial: '' }));
  test.each([
    [{ sead: 7 }, 'value.sead: the server has no such field'],
    [{ seed: '7' }, 'value.seed cannot be "7"'],
    [{ seed: 0.5 }, 'value.seed cannot be 0.5'],
    [{ trial: 3 }, 'value.trial cannot be 3'],
  ])('cannot say %j', (fields, message) => expect(() => print1(fields)).toThrow(message));
  test.each([
    ['GET', '/workers?al=true', {}, '"al" is not a parameter of this address'],
    ['GET', '/workers?all=yes', {}, 'all is no boolean'],
    ['GET', '/experiments?page_size=ten', {}, 'page_size is no integer'],
    ['GET', '/experiments/violin-sigma/curves', {}, 'metric is missing'],
    ['GET', '/nowhere', {}, 'the server has no GET /nowhere'],
    ['POST', '/experiments:plan', {}, 'the body lacks spec_json'],
    ['POST', '/paper-table', { experiments: ['violin-sigma'], cols: [] }, 'the body has no cols'],
    ['POST', '/paper-table', { experiments: ['violin-sigma'], test: 'z' }, 'the body.test is z, none of'],
  ])('does not take %s %s with %j', (method, address, body, message) =>
    expect(() => answered(method, address, body)).toThrow(message),
  );
});
