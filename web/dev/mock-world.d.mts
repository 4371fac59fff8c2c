// Types of the mock for the tests.
export function answer(path: string, query: URLSearchParams, phase: number, now?: number): unknown;
export function act(
  path: string,
  query: URLSearchParams,
  body: any,
  phase: number,
  now?: number,
): unknown;
