// Writes the messages of the server's answers as decoders, from its own description (docs/openapi.json):
//   node dev/messages.mjs          src/shared/api/messages.ts anew
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Joined as paths: under jsdom, URL is not Node's own.
const here = dirname(fileURLToPath(import.meta.url));
export const documentFile = join(here, '../../docs/openapi.json');
export const messagesFile = join(here, '../src/shared/api/messages.ts');

const width = 110;
const nameOf = (schema) => schema.$ref?.slice(schema.$ref.lastIndexOf('/') + 1);

// The decoder of one value, as source; `uses` hears what it needs.
function decoderOf(schema, uses) {
  const use = (name) => {
    uses.add(name);
    return name;
  };
  if (schema.$ref) return use(nameOf(schema));
  if (schema.oneOf) return use('real'); // a number, or the word for one that JSON has not
  if (schema.type === 'boolean') return use('flag');
  if (schema.type === 'integer') return use('integer');
  if (schema.type === 'array') return `${use('list')}(${decoderOf(schema.items, uses)})`;
  if (schema.type === 'object' && schema.additionalProperties)
    return `${use('dictionary')}(${decoderOf(schema.additionalProperties, uses)})`;
  if (schema.type === 'object') return messageOf(schema, uses);
  if (schema.format === 'date-time') return use('timestamp');
  if (schema.type === 'string') return schema.pattern ? use('long') : use('text');
  throw new Error(`no decoder for ${JSON.stringify(schema)}`);
}

function messageOf({ properties, required = [] }, uses) {
  uses.add('message');
  const fields = Object.entries(properties).map(([name, schema]) => {
    const decoder = decoderOf(schema, uses);
    const key = /^\w+$/.test(name) ? name : `'${name}'`;
    if (required.includes(name)) return key === decoder ? key : `${key}: ${decoder}`;
    uses.add('optional');
    return `${key}: optional(${decoder})`;
  });
  return `message({ ${fields.join(', ')} })`;
}

// Broken at the commas into lines that fit.
function wrapped(line) {
  if (line.length <= width) return line;
  const lines = [];
  let current = '';
  for (const word of line.split(/(?<=,) /)) {
    if (`${current} ${word}`.length > width) {
      lines.push(current);
      current = ` `;
    }
    current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current].join('\n');
}

// The text of messages.ts.
export function messagesOf(document) {
  const { schemas } = document.components;
  const [used, written, out] = [new Set(), new Set(), []];
  const write = (name) => {
    if (written.has(name)) return;
    written.add(name);
    const uses = new Set();
    const source = messageOf(schemas[name], uses);
    for (const each of uses)
      if (each in schemas) write(each);
      else used.add(each);
    out.push(wrapped(`export const ${name} = /* @__PURE__ */ ${source};`));
    out.push(`export type ${name} = Decoded<typeof ${name}>;`);
  };
  Object.keys(schemas).sort().forEach(write);
  const tools = [...used].sort();
  return [
    '// The messages of the server, as decoders; types follow from them. Written by dev/messages.mjs from',
    '// docs/openapi.json (make docs): do not edit.',
    wrapped(`import { type Decoded, ${tools.join(', ')} } from './decode';`),
    '',
    ...out,
    '',
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(messagesFile, messagesOf(JSON.parse(readFileSync(documentFile, 'utf8'))));
