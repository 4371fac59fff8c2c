// Reads of one trial: itself, why it is as it is, its points and what its attempts printed.
import { concerning, useLive } from '@/shared/api/live';
import { post, read, segment } from '@/shared/api/client';
import {
  Explanation,
  ListSeriesResponse,
  QuerySeriesResponse,
  ReadLogResponse,
  RerunExperimentResponse,
  type SeriesKey,
  TrialDetail,
} from '@/shared/api/messages';

const path = (experiment: string, ordinal: string) =>
  `/experiments/${segment(experiment)}/trials/${segment(ordinal)}`;

export const useTrial = (experiment: string, ordinal: string) =>
  useLive(
    `trial ${experiment} ${ordinal}`,
    (signal) => read(path(experiment, ordinal), TrialDetail, {}, signal),
    concerning(experiment),
  );

export const rerunTrial = (experiment: string, ordinal: number) =>
  post(`${path(experiment, String(ordinal))}:rerun`, RerunExperimentResponse);

export const useExplanation = (experiment: string, ordinal: string) =>
  useLive(
    `explanation ${experiment} ${ordinal}`,
    (signal) => read(`${path(experiment, ordinal)}/explanation`, Explanation, {}, signal),
    concerning(experiment),
  );

export const useSeries = (experiment: string, stage: number) =>
  useLive(
    `series ${stage}`,
    (signal) => read(`/stages/${stage}/series`, ListSeriesResponse, {}, signal),
    concerning(experiment, 'points', 'attempt-started', 'attempt-ended', 'stage-state'),
  );

export const usePoints = (experiment: string, stage: number, key: SeriesKey) =>
  useLive(
    `points ${stage} ${key.metric} ${key.split} ${key.labels}`,
    (signal) => read(`/stages/${stage}/points`, QuerySeriesResponse, { ...key, max_points: 600 }, signal),
    concerning(experiment, 'points', 'attempt-started', 'attempt-ended', 'stage-state'),
    `points ${stage}`,
  );

export interface Log {
  text: string;
  from: number; // offset of the first byte here
  next: number;
  total: number;
  ended: boolean;
}

const tailBytes = 65_536;
const keptMost = 1_000_000; // characters
const partsMost = 16; // in one reading

// Reads what an attempt printed: its tail first, then what follows, kept together. One reader per attempt.
export function logReader(stage: number, attempt: number): (signal: AbortSignal) => Promise<Log> {
  let kept: Log | null = null;
  return async (signal) => {
    for (let i = 0; i < partsMost; i += 1) {
      const offset: number = kept ? kept.next : -tailBytes;
      const part = await read(`/stages/${stage}/log`, ReadLogResponse, { attempt, offset }, signal);
      const follows: boolean = kept !== null && part.offset === kept.next;
      const text: string = follows ? kept!.text + part.text : part.text;
      kept = {
        text: text.slice(-keptMost),
        from: follows ? kept!.from : part.offset,
        next: part.next_offset,
        total: part.total,
        ended: part.ended,
      };
      if (part.next_offset >= part.total || part.text === '') break;
    }
    return kept!;
  };
}
