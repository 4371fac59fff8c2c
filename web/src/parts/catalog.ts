// The catalog as the engine prints it (docs/formats/catalog.md).
import { read } from '@/shared/api/client';
import {
  type Decoded,
  type Decoder,
  dictionary,
  flag,
  integer,
  list,
  message,
  optional,
  real,
  text,
  withDefault,
} from '@/shared/api/decode';
import { useLive } from '@/shared/api/live';
import { Catalog as CatalogMessage } from '@/shared/api/messages';

const anything: Decoder<unknown> = (value) => value;

const word = withDefault(text, '');
const names = withDefault(list(text), []);
const limit = optional(real);

const option = message({
  name: text,
  type: text,
  element: word,
  choices: names,
  default: anything,
  minimum: limit,
  maximum: limit,
  exclusive_minimum: limit,
  exclusive_maximum: limit,
  min_items: withDefault(integer, 0),
  unique: withDefault(flag, false),
  unit: word,
  required: withDefault(flag, false),
  neutral: anything,
  help: text,
});

const rules = withDefault(list(dictionary(anything)), []);

const item = message({
  kind: text,
  id: text,
  aliases: list(text),
  revision: integer,
  summary: text,
  paper: word,
  formula: word,
  cost: word,
  hooks: names,
  provides: names,
  excludes: names,
  layouts: optional(message({ ranks: list(integer) })),
  options: list(option),
  constraints: rules,
  requires: rules,
  facts: dictionary(anything),
});

const document = message({ version: integer, items: list(item) });

export type CatalogItem = Decoded<typeof item>;
export type CatalogOption = Decoded<typeof option>;

export interface Catalog {
  digest: string;
  items: readonly CatalogItem[];
  pictures: ReadonlySet<string>; // priors that have one
}

export async function readCatalog(signal?: AbortSignal): Promise<Catalog> {
  const found = await read('/catalog', CatalogMessage, {}, signal);
  const { items } = document(JSON.parse(found.json), 'catalog');
  return { digest: found.digest, items, pictures: new Set(found.pictures) };
}

// It changes with the server's engine only: read again when the connection comes back.
export const useCatalog = () => useLive('catalog', readCatalog, (change) => change.all);
