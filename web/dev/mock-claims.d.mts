// Types of the mock's claims.
export function claimsMessage(query: URLSearchParams): {
  tables: unknown[];
  papers: unknown[];
  summaries: unknown[];
};
