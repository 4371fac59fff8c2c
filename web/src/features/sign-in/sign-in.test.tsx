// Who a browser is taken for, and what it may ask for.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, describe, expect, test, vi } from 'vitest';
import SignInPage from './sign-in-page';
import { ApiError, post } from '@/shared/api/client';
import { refusalOf, setIdentity, signIn, signOut } from '@/shared/api/identity';
import { Experiment, type Identity } from '@/shared/api/messages';

const ada: Identity = { asked: true, name: 'ada', account: 'vision', role: 'submitter', via: 'session' };
const stranger: Identity = { asked: true, name: '', account: '', role: '', via: 'nobody' };
const unasked: Identity = { asked: false, name: 'local', account: '', role: 'admin', via: 'loopback' };

afterEach(async () => {
  await act(() => render(null, document.body));
  setIdentity(unasked);
  vi.unstubAllGlobals();
});

interface Sent {
  path: string;
  init: RequestInit;
}
function answerWith(...answers: [number, unknown][]): Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    sent.push({ path, init });
    const [status, body] = answers[Math.min(sent.length, answers.length) - 1]!;
    return new Response(JSON.stringify(body), { status });
  });
  return sent;
}

describe('what a role may', () => {
  test('is everything where nobody is asked', () => {
    expect(refusalOf(unasked, 'admin', 'somebody')).toBe('');
  });
  test('is nothing before signing in', () => {
    expect(refusalOf(stranger, 'viewer')).toContain('Sign in');
  });
  test('is its own and the lesser ones', () => {
    expect(refusalOf(ada, 'viewer')).toBe('');
    expect(refusalOf(ada, 'submitter')).toBe('');
    expect(refusalOf(ada, 'operator')).toContain('operators');
    expect(refusalOf({ ...ada, role: 'worker' }, 'viewer')).toContain('viewers');
  });
  test('ends at what another account owns, but for operators', () => {
    expect(refusalOf(ada, 'submitter', 'vision')).toBe('');
    expect(refusalOf(ada, 'submitter', 'speech')).toContain('speech');
    expect(refusalOf({ ...ada, role: 'operator' }, 'submitter', 'speech')).toBe('');
  });
});

describe('a request that changes something', () => {
  test('says that this page sends it', async () => {
    const sent = answerWith([404, {}]);
    await expect(post('/experiments/x:pause', Experiment)).rejects.toBeInstanceOf(ApiError);
    expect(sent[0]!.init.headers).toMatchObject({ 'X-Locus': '1', 'Content-Type': 'application/json' });
  });
});

describe('signing in', () => {
  test('sends the token once, in the body, and reads who it was for', async () => {
    const sent = answerWith([200, {}], [200, ada]);
    await signIn(' locus_abcdefgh_secret ');
    expect(sent.map((each) => each.path)).toEqual(['/login', '/api/v1/identity']);
    expect(sent[0]!.init.body).toBe('{"token":"locus_abcdefgh_secret"}');
    expect(sent[0]!.init.headers).toMatchObject({ 'X-Locus': '1' });
  });
  test('says why it was refused', async () => {
    answerWith([
      401,
      {
        error: { code: 401, status: 'UNAUTHENTICATED', message: 'the token is not known here', details: [] },
      },
    ]);
    await expect(signIn('x')).rejects.toThrow('the token is not known here');
  });
  test('ends by signing out', async () => {
    const sent = answerWith([200, {}], [200, stranger]);
    await signOut();
    expect(sent[0]!.path).toBe('/logout');
  });
  test.each([
    [unasked, null, 'asks nobody'],
    [stranger, 'password', 'Token'],
    [ada, null, 'signed in as ada'],
  ] as const)('shows %o what there is to do', async (identity, field, text) => {
    answerWith([200, identity]);
    await act(() => render(<SignInPage />, document.body));
    await vi.waitFor(() => expect(document.body.textContent).toContain(text));
    expect(document.querySelector('input')?.type ?? null).toBe(field);
  });
});
