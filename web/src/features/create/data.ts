// Validation as one types, and submission.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, post, read, segment } from '@/shared/api/client';
import { stream } from '@/shared/api/live';
import { CreateExperimentResponse, Experiment, Plan } from '@/shared/api/messages';
import { plural } from '@/shared/format';
import { type Problem, readText } from './specification-text';

const quietMs = 350; // of the keyboard, before the server is asked

export interface Check {
  text: string; // what was checked
  plan: Plan | null;
  problems: readonly Problem[];
  unreachable: boolean;
  json: string | null;
}

const unchecked: Check = { text: '', plan: null, problems: [], unreachable: false, json: null };

// The server's violations at the lines of the text, from the top.
export function problemsOf(error: ApiError, lineOf: (field: string) => number): Problem[] {
  if (error.violations.length === 0) return [{ line: 1, field: '', message: error.message }];
  const problems = error.violations.map(({ field, description }) => ({
    line: lineOf(field),
    field,
    message: description,
  }));
  problems.sort((a, b) => a.line - b.line);
  const more = Number(error.metadata['more_mistakes'] ?? 0);
  if (more > 0)
    problems.push({
      line: 1,
      field: '',
      message: `and ${plural(more, 'more mistake')}, shown once these are corrected`,
    });
  return problems;
}

export async function checkText(text: string, signal: AbortSignal): Promise<Check> {
  const { json, problems, lineOf } = readText(text);
  const checked = { ...unchecked, text, json, problems };
  if (json === null) return checked;
  try {
    return {
      ...checked,
      plan: await post('/experiments:plan', Plan, { body: { spec_json: json }, signal }),
    };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.unreachable) return { ...checked, unreachable: true };
    return { ...checked, problems: problemsOf(error, lineOf) };
  }
}

// Checks the text whenever it rests; `checking` while the newest text is not yet judged.
export function useCheck(text: string | null): Check & { checking: boolean; again: () => void } {
  const [check, setCheck] = useState<Check>(unchecked);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (text === null) return;
    const abort = new AbortController();
    const timer = setTimeout(
      () => {
        checkText(text, abort.signal).then(setCheck, () => {});
      },
      check.text === '' || round > 0 ? 0 : quietMs,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, round]);
  const { unreachable } = check;
  useEffect(() => {
    if (!unreachable) return;
    return stream.onChange((change) => change.all && setRound((count) => count + 1)); // it may be back
  }, [unreachable]);
  return { ...check, checking: text !== null && check.text !== text, again: () => setRound(round + 1) };
}

// Outside a secure context randomUUID is missing.
export function requestId(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export const submit = (specJson: string, id: string, replace: boolean) =>
  post('/experiments', CreateExperimentResponse, { body: { spec_json: specJson, request_id: id, replace } });

export const readExperiment = (name: string, signal: AbortSignal) =>
  read(`/experiments/${segment(name)}`, Experiment, {}, signal);
