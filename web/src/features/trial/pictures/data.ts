// Reads of a trial's pictures. The server draws them when first asked, which takes seconds, and keeps them.
import { read, segment } from '@/shared/api/client';
import { Drawing } from '@/shared/api/messages';
import { useLive } from '@/shared/api/live';
import { decodeAttention, decodeTrained } from '@/parts/pictures/documents';
import { checkpointOf, partOf, stageOf } from './picture-data';

const path = (experiment: string, ordinal: number) =>
  `/experiments/${segment(experiment)}/trials/${ordinal}/picture`;

const never = () => false; // weights of a step do not change

// Which part of the network is shown.
export interface LayerWish {
  stage: number; // of the network
  layer: number | null; // counted over the network; null: the first of the stage
}

export function useTrainedPrior(experiment: string, ordinal: number, step: number, wish: LayerWish) {
  const family = `trained prior ${experiment} ${ordinal}`;
  const query = { kind: 'trained-prior', ...checkpointOf(step), ...partOf(wish) };
  return useLive(
    `${family} ${JSON.stringify(query)}`,
    async (signal) => {
      const found = await read(path(experiment, ordinal), Drawing, query, signal);
      return decodeTrained(JSON.parse(found.json));
    },
    never,
    family,
  );
}

export interface AttentionWish {
  step: number;
  images: string; // "0,7"
  split: string;
  query: number | null; // a patch; null: the middle one
  stage: number; // of the network
}

export function useAttention(experiment: string, ordinal: number, wish: AttentionWish) {
  const family = `attention ${experiment} ${ordinal}`;
  const query = {
    kind: 'attention',
    ...checkpointOf(wish.step),
    ...stageOf(wish.stage),
    images: wish.images,
    split: wish.split,
    ...(wish.query === null ? {} : { queries: String(wish.query) }),
  };
  return useLive(
    `${family} ${JSON.stringify(query)}`,
    async (signal) => {
      const found = await read(path(experiment, ordinal), Drawing, query, signal);
      return decodeAttention(JSON.parse(found.json));
    },
    never,
    family,
  );
}
