// Calls of the JSON API: typed, with readable errors. Reachability of the server is observed here, once for
// the whole page.
import type { Decoder } from './decode';
import { Error as Refusal } from './messages';

// A failed call. status 0: no answer at all (server down, network gone).
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly reason: string,
    readonly violations: readonly { field: string; description: string }[] = [],
    readonly metadata: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'ApiError';
  }
  get unreachable(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

type ReachabilityListener = (reachable: boolean) => void;
const listeners = new Set<ReachabilityListener>();

// Told after every call whether the server answered. Returns the way to stop.
export function onReachability(listener: ReachabilityListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const report = (reachable: boolean) => listeners.forEach((listener) => listener(reachable));

export async function errorOf(response: Response): Promise<ApiError> {
  const fallback = `the server answered ${response.status} ${response.statusText}`.trim();
  try {
    const { error: body } = Refusal(await response.json(), '');
    const reason = body.details.find((detail) => detail.reason)?.reason ?? body.status;
    return new ApiError(
      body.message || fallback,
      response.status,
      reason,
      body.details.flatMap((d) => d.field_violations ?? []),
      Object.assign({}, ...body.details.map((d) => d.metadata ?? {})) as Record<string, string>,
    );
  } catch {
    return new ApiError(fallback, response.status, '');
  }
}

export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export function apiPath(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (Array.isArray(value)) value.forEach((each: string) => parameters.append(key, each));
    else if (value !== undefined && value !== '') parameters.set(key, String(value));
  }
  const tail = parameters.toString();
  return `/api/v1${path}${tail === '' ? '' : `?${tail}`}`;
}

interface Call {
  method: 'GET' | 'POST';
  path: string;
  query?: Query;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

// Answers that public/first.js asked for while this code was still on its way, each good for one read soon after.
// `body` is what a good one says.
interface Answer {
  response: Response;
  body?: unknown;
}
declare global {
  interface Window {
    locusAhead?: Record<string, Promise<Answer>>;
  }
}
const aheadMs = 10_000;

// Ends when all of them have come or failed.
export const answersAhead = (): Promise<unknown> =>
  Promise.allSettled(Object.values(window.locusAhead ?? {}));

const keyAhead = ({ method, path, query, body }: Call) =>
  method === 'GET' ? apiPath(path, query) : `${apiPath(path, query)} ${JSON.stringify(body)}`;

function takeAhead(call: Call): Promise<Answer> | undefined {
  const key = keyAhead(call);
  const found = window.locusAhead?.[key];
  if (found) delete window.locusAhead![key];
  return performance.now() < aheadMs ? found : undefined;
}

const send = async ({ method, path, query, body, signal }: Call): Promise<Answer> => ({
  response: await fetch(apiPath(path, query), {
    method,
    headers: {
      Accept: 'application/json',
      // The second says that this page sends it: another site's cannot without being asked about it.
      ...(method === 'POST' ? { 'Content-Type': 'application/json', 'X-Locus': '1' } : {}),
    },
    ...(method === 'POST' ? { body: body === undefined ? '' : JSON.stringify(body) } : {}),
    signal: signal ?? null,
  }),
});

// Asks now what a page that is not drawn yet will ask in this form; it gets the answer.
export function postAhead(path: string, body: unknown): void {
  const call: Call = { method: 'POST', path, body };
  const answer = send(call).then(async ({ response }) =>
    response.ok ? { response, body: (await response.json()) as unknown } : { response },
  );
  answer.catch(() => {}); // whoever takes it hears of it
  (window.locusAhead ??= {})[keyAhead(call)] = answer;
}

async function answerOf(call: Call): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await (takeAhead(call) ?? send(call));
  } catch (error) {
    if (call.signal?.aborted) throw error;
    report(false);
    throw new ApiError('the server does not answer', 0, 'SERVER_UNAVAILABLE');
  }
  if (!answer.response.ok) {
    const error = await errorOf(answer.response);
    report(!error.unreachable);
    throw error;
  }
  report(true);
  return answer;
}

async function call<T>(decode: Decoder<T>, wanted: Call): Promise<T> {
  const { response, body } = await answerOf(wanted);
  try {
    return decode(body ?? (await response.json()), '');
  } catch (error) {
    if (wanted.signal?.aborted) throw error;
    throw new ApiError(
      `the answer of ${wanted.path} cannot be read: ${(error as Error).message}`,
      response.status,
      'DECODE',
    );
  }
}

// Reads one message. Throws ApiError, or the abort's own error.
export const read = <T>(path: string, decode: Decoder<T>, query: Query = {}, signal?: AbortSignal) =>
  call(decode, { method: 'GET', path, query, signal });

// Reads a file as a data: address, which pictures may have here. Throws like read().
export async function readFile(path: string, type: string, signal?: AbortSignal): Promise<string> {
  const { response } = await answerOf({ method: 'GET', path, signal });
  const bytes = new Blob([await response.arrayBuffer()], { type });
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () =>
      reject(new ApiError(`the answer of ${path} cannot be read`, response.status, 'DECODE'));
    reader.readAsDataURL(bytes);
  });
}

export interface PostOptions {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

// Asks the server to do something and returns what it answers. Throws like read().
export const post = <T>(path: string, decode: Decoder<T>, options: PostOptions = {}) =>
  call(decode, { method: 'POST', path, ...options });

const firstPage = 50; // more than a window shows

// Reads all pages of a list. With `begun` the first is short and told at once, so that something can be shown.
export async function readPages<T, P extends { next_page_token: string }>(
  path: string,
  decode: Decoder<P>,
  items: (page: P) => T[],
  signal?: AbortSignal,
  begun?: (first: T[]) => void,
  query: Query = {},
): Promise<T[]> {
  const all: T[] = [];
  let token = '';
  do {
    const size = begun && token === '' ? firstPage : 1000;
    const page = await read(path, decode, { page_size: size, page_token: token, ...query }, signal);
    all.push(...items(page));
    token = page.next_page_token;
    if (size === firstPage && token !== '') begun?.([...all]);
  } while (token !== '');
  return all;
}

export const segment = encodeURIComponent;
