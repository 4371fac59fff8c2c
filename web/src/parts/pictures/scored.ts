// Pictures of scored images (docs/formats/scored-pictures.md): which a stage has kept, what they show, and the IoU of each
// class beside its color.
import { readFile, read } from '@/shared/api/client';
import { type Decoded, type Decoder, integer, list, message, optional, text } from '@/shared/api/decode';
import { useLive } from '@/shared/api/live';
import type { StageDetail } from '@/shared/api/messages';

const about = message({
  version: integer,
  of: text, // "mask" or "depth"
  split: text,
  labels: (value: unknown) => (value ?? {}) as Readonly<Record<string, unknown>>,
  classes: optional(list(message({ name: text, color: text }))), // of masks
  pictures: list(message({ slot: text, row: integer })),
});
export type About = Decoded<typeof about>;
export const decodeAbout = (value: unknown): About => (about as Decoder<About>)(value, 'pictures');

export const panels = ['input', 'prediction', 'target', 'error'] as const;

// What one evaluation has kept.
export interface Kept {
  role: string;
  document: string; // SHA-256 of what says what the pictures show
  pictures: Readonly<Record<string, string>>; // SHA-256 by slot
}

const slotOfDocument = 'pictures';
const isPicture = (slot: string) => /^picture-\d+$/.test(slot);

export function keptPictures(stages: readonly Pick<StageDetail, 'role' | 'outputs'>[]): Kept[] {
  return stages.flatMap(({ role, outputs }) => {
    const document = outputs.find((each) => each.slot === slotOfDocument);
    const pictures = outputs.filter((each) => isPicture(each.slot));
    if (!document || pictures.length === 0) return [];
    const bySlot = Object.fromEntries(pictures.map(({ slot, sha256 }) => [slot, sha256]));
    return [{ role, document: document.sha256, pictures: bySlot }];
  });
}

// A picture by its image: equal ones of equal `split` and `labels` show the same.
export const pictureOf = (kept: Kept, found: About, row: number): string | undefined =>
  kept.pictures[found.pictures.find((each) => each.row === row)?.slot ?? ''];

// Whether both show the same images, so that rows mean the same.
export const sameImages = (a: About, b: About) =>
  a.of === b.of && a.split === b.split && JSON.stringify(a.labels) === JSON.stringify(b.labels);

export interface ClassScore {
  name: string;
  color: string;
  iou: number; // NaN where the class neither occurs nor was said
}

function parsedLabels(json: string): Record<string, unknown> {
  try {
    return JSON.parse(json || '{}') as Record<string, unknown>;
  } catch {
    return {};
  }
}

// The classes in their order, with the results of the view that the pictures show.
export function classScores(found: About, results: StageDetail['results']): ClassScore[] {
  const wanted = Object.entries(found.labels);
  const scores = new Map<string, number>();
  for (const { key, value } of results) {
    if (key.metric !== 'iou' || key.split !== found.split) continue;
    const { class: name, ...rest } = parsedLabels(key.labels);
    const same =
      Object.keys(rest).length === wanted.length && wanted.every(([label, each]) => rest[label] === each);
    if (same && typeof name === 'string') scores.set(name, value);
  }
  return (found.classes ?? []).map((each) => ({ ...each, iou: scores.get(each.name) ?? NaN }));
}

const never = () => false; // what has a digest for a name does not change

export const readAbout = (sha256: string, signal?: AbortSignal) =>
  read(`/artifacts/${sha256}`, (value) => decodeAbout(value), {}, signal);

export const useAbout = (sha256: string) =>
  useLive(`pictures ${sha256}`, (signal) => readAbout(sha256, signal), never);

export const usePng = (sha256: string) =>
  useLive(
    `png ${sha256}`,
    (signal) => readFile(`/artifacts/${sha256}`, 'image/png', signal),
    never,
    'png of a scored image',
  );
