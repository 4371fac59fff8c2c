// Who the server takes this browser for, and what it may ask for: known once, at the start and after signing in.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, errorOf, read } from './client';
import { Identity } from './messages';

// Until it is known, and where nobody is asked: everything may be tried, the server decides.
const unasked: Identity = { asked: false, name: '', account: '', role: 'admin', via: 'loopback' };

let known = unasked;
const listeners = new Set<() => void>();

export function setIdentity(identity: Identity): void {
  known = identity;
  listeners.forEach((listener) => listener());
}

export async function loadIdentity(): Promise<void> {
  setIdentity(await read('/identity', Identity));
}

export function useIdentity(): Identity {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return known;
}

const people = ['viewer', 'submitter', 'operator', 'admin'] as const;
export type Need = (typeof people)[number];

// Why this browser may not do what needs a role, of an account where it is somebody's own; empty: it may.
export function refusalOf(identity: Identity, need: Need, owner?: string): string {
  if (!identity.asked) return '';
  if (identity.name === '') return 'Sign in first.';
  const rank = people.indexOf(identity.role as Need);
  if (rank < people.indexOf(need)) return `You are signed in as ${identity.role}; this is for ${need}s.`;
  if (owner === undefined || owner === identity.account || rank >= people.indexOf('operator')) return '';
  return `It belongs to ${owner === '' ? 'nobody' : owner}; you are of the account ${identity.account}.`;
}

async function door(path: '/login' | '/logout', body: unknown): Promise<void> {
  let response: Response;
  try {
    response = await fetch(path, {
      method: 'POST',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json', 'X-Locus': '1' },
      body: JSON.stringify(body),
    });
  } catch {
    throw new ApiError('the server does not answer', 0, 'SERVER_UNAVAILABLE');
  }
  if (!response.ok) throw await errorOf(response);
  await loadIdentity();
}

// Shows the token once; from then on a cookie that no script sees stands for it. Throws ApiError.
export const signIn = (token: string): Promise<void> => door('/login', { token: token.trim() });
export const signOut = (): Promise<void> => door('/logout', {});
