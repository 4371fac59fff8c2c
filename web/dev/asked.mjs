// Whether the server would take a request, by its own description (docs/openapi.json).
import { operationAt } from './described.mjs';

const numberOf = { integer: /^-?\d+$/, number: /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i };
const typeOf = (value) =>
  Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;

// What is wrong with a value; empty: nothing.
function faultOf(schema, value, path) {
  const { oneOf, type, properties = {}, required = [] } = schema;
  if (oneOf) return oneOf.some((each) => faultOf(each, value, path) === '') ? '' : `${path} is ${value}`;
  if (schema.enum && !schema.enum.includes(value)) return `${path} is ${value}, none of ${schema.enum}`;
  const found = typeOf(value);
  if (type && found !== type && !(type === 'number' && found === 'integer')) return `${path} is no ${type}`;
  if (value < schema.minimum || value > schema.maximum) return `${path} is ${value}, out of bounds`;
  if (schema.pattern && !new RegExp(schema.pattern).test(value)) return `${path} is ${value}`;
  if (type === 'array') {
    if (value.length < schema.minItems || value.length > schema.maxItems)
      return `${path} has ${value.length} items`;
    return value.map((each, i) => faultOf(schema.items, each, `${path}[${i}]`)).find(Boolean) ?? '';
  }
  if (type !== 'object') return '';
  const lacking = required.find((name) => value[name] === undefined);
  if (lacking) return `${path} lacks ${lacking}`;
  return (
    Object.entries(value)
      .map(([key, each]) =>
        properties[key] ? faultOf(properties[key], each, `${path}.${key}`) : `${path} has no ${key}`,
      )
      .find(Boolean) ?? ''
  );
}

// A query's text as a value of the type.
function read({ type, oneOf }, texts) {
  const kind = oneOf ? 'number' : type;
  if (kind === 'array') return texts;
  if (kind === 'boolean') return texts[0] === 'true' ? true : texts[0] === 'false' ? false : texts[0];
  return numberOf[kind]?.test(texts[0]) ? Number(texts[0]) : texts[0];
}

// Throws, naming the parameter or field, unless the server takes `method` of a path below /api/v1 with these.
export function mustBeTaken(method, path, query, body) {
  const { parameters, requestBody } = operationAt(method, path);
  const known = new Map(parameters.filter((each) => each.in === 'query').map((each) => [each.name, each]));
  const place = `${method} ${path}`;
  for (const name of new Set(query.keys())) {
    if (!known.has(name)) throw new Error(`${place}: "${name}" is not a parameter of this address`);
    const { schema } = known.get(name);
    const fault = faultOf(schema, read(schema, query.getAll(name)), name);
    if (fault) throw new Error(`${place}: ${fault}`);
  }
  for (const { name, required } of known.values())
    if (required && !query.has(name)) throw new Error(`${place}: ${name} is missing`);
  if (!requestBody) return;
  const fault = faultOf(requestBody.content['application/json'].schema, body ?? {}, 'the body');
  if (fault) throw new Error(`${place}: ${fault}`);
}
