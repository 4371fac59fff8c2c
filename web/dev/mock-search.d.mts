// Types of the mock's search for the tests.
export function searchMessage(experiment: string, proposals?: number): Record<string, unknown>;
export function decisionsMessage(
  query: URLSearchParams,
  proposals?: number,
): { decisions: unknown[]; more: boolean };
