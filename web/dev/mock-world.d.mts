// Types of the mock for the tests.
export function answer(path: string, query: URLSearchParams, phase: number, now?: number): unknown;
