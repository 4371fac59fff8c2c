// What the server answers, by its own description (docs/openapi.json), and how it prints it: every default written out,
// int64 as text, NaN and infinities as words, times in RFC 3339 (docs/formats/http.md).
import { readFileSync } from 'node:fs';
import { documentFile } from './messages.mjs';

export const description = JSON.parse(readFileSync(documentFile, 'utf8'));
const { schemas } = description.components;

export const nameOf = (schema) => schema.$ref?.slice(schema.$ref.lastIndexOf('/') + 1);

const messageOf = ({ responses }) => nameOf(responses[200].content['application/json']?.schema ?? {});

const calls = Object.entries(description.paths).flatMap(([pattern, methods]) =>
  Object.entries(methods)
    .filter(([, operation]) => messageOf(operation))
    .map(([method, operation]) => ({
      method,
      shape: new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/:]+')}$`),
      operation,
    })),
);

// What the description says of `method` of a path below /api/v1.
export function operationAt(method, path) {
  const found = calls.find(
    (each) => each.method === method.toLowerCase() && each.shape.test(`/api/v1${path}`),
  );
  if (!found) throw new Error(`the server has no ${method} ${path}`);
  return found.operation;
}

// The name of the message that it answers.
export const messageAt = (method, path) => messageOf(operationAt(method, path));

const defaults = { string: '', integer: 0, boolean: false, array: [] };

// A field's value where nobody gave one; undefined: there is none.
function defaultOf(schema) {
  if (schema.oneOf) return 0;
  if (schema.type === 'object') return {};
  if (schema.format === 'date-time') return undefined;
  return schema.pattern ? 0 : defaults[schema.type];
}

function printNumber(schema, value) {
  if (typeof value !== 'number') return undefined;
  if (schema.oneOf) return Number.isFinite(value) ? value : String(value);
  if (!Number.isSafeInteger(value)) return undefined;
  return schema.type === 'integer' ? value : String(value);
}

function printScalar(schema, value) {
  if (schema.oneOf || schema.pattern || schema.type === 'integer') return printNumber(schema, value);
  if (schema.format === 'date-time')
    return typeof value === 'number' ? new Date(value).toISOString() : undefined;
  return typeof value === schema.type ? value : undefined;
}

// `value` as the server prints what `schema` describes: numbers and times (milliseconds) are numbers in it, defaults may
// be left out. Throws, naming the field, where the server could not have said so.
export function print(schema, value, path) {
  const name = nameOf(schema);
  if (name) return print(schemas[name], value, path);
  if (schema.type === 'array') {
    if (!Array.isArray(value)) throw new Error(`${path} is no list`);
    return value.map((each, i) => print(schema.items, each, `${path}[${i}]`));
  }
  if (schema.type !== 'object') {
    const printed = printScalar(schema, value);
    if (printed === undefined) throw new Error(`${path} cannot be ${JSON.stringify(value)}`);
    return printed;
  }
  if (typeof value !== 'object' || value === null) throw new Error(`${path} is no message`);
  const { properties, required = [], additionalProperties } = schema;
  if (additionalProperties)
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, print(additionalProperties, each, `${path}.${key}`)]),
    );
  const unknown = Object.keys(value).find((key) => !(key in properties));
  if (unknown) throw new Error(`${path}.${unknown}: the server has no such field`);
  const out = {};
  for (const [key, inner] of Object.entries(properties)) {
    const given = value[key] ?? (required.includes(key) ? defaultOf(inner) : undefined);
    if (given !== undefined) out[key] = print(inner, given, `${path}.${key}`);
    else if (required.includes(key)) throw new Error(`${path}.${key} is missing`);
  }
  return out;
}

// What `method` of a path below /api/v1 answers with; null (nothing there) stays null.
export const answerAs = (method, path, value) =>
  value === null ? null : print(schemas[messageAt(method, path)], value, `${method} ${path}`);
