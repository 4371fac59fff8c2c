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
} from '@/shared/api/decode';
import { useLive } from '@/shared/api/live';
import { catalogMessage } from '@/shared/api/operations';

const anything: Decoder<unknown> = (value) => value;

const option = message({
  name: text,
  type: text,
  element: text,
  choices: list(text),
  default: anything,
  minimum: optional(real),
  maximum: optional(real),
  exclusive_minimum: optional(real),
  exclusive_maximum: optional(real),
  min_items: integer,
  unique: flag,
  unit: text,
  required: flag,
  neutral: anything,
  help: text,
});

const rule = dictionary(anything);

const item = message({
  kind: text,
  id: text,
  aliases: list(text),
  revision: integer,
  summary: text,
  paper: text,
  formula: text,
  cost: text,
  hooks: list(text),
  provides: list(text),
  excludes: list(text),
  layouts: message({ ranks: list(integer) }),
  options: list(option),
  constraints: list(rule),
  requires: list(rule),
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
  const found = await read('/catalog', catalogMessage, {}, signal);
  const { items } = document(JSON.parse(found.json || '{}'), 'catalog');
  return { digest: found.digest, items, pictures: new Set(found.pictures) };
}

// It changes with the server's engine only: read again when the connection comes back.
export const useCatalog = () => useLive('catalog', readCatalog, (change) => change.all);
