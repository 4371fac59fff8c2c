// For tests of whole pages: the mock world behind fetch, and the shell drawn at an address.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { expect, vi } from 'vitest';
import { act as perform, answer } from '../dev/mock-world.mjs';
import { navigate } from '@/shared/router';
import { Shell } from '@/app/shell';

export const asked: string[] = []; // requests since the last serve(), "POST /experiments/x:pause"

const json = (body: unknown, status = 200) =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } });

const refusal = (code: number, status: string, message: string) => ({
  error: { code, status, message, details: [] },
});

export interface Refusal {
  refused: string; // the sentence
}

// `change` may replace an answer: null for not found, a Refusal for a refusal.
export function serve(change: (path: string, body: unknown) => unknown = (_, body) => body): void {
  asked.length = 0;
  vi.stubGlobal('fetch', async (input: string, init?: RequestInit) => {
    const url = new URL(input, 'http://localhost');
    const path = decodeURIComponent(url.pathname.slice('/api/v1'.length));
    const method = init?.method ?? 'GET';
    asked.push(`${method} ${path}${url.search}`);
    const sent = init?.body ? JSON.parse(String(init.body)) : {};
    let found: unknown;
    try {
      found =
        method === 'POST' ? perform(path, url.searchParams, sent, 24) : answer(path, url.searchParams, 24);
    } catch (error) {
      return json(refusal(400, 'INVALID_ARGUMENT', (error as Error).message), 400);
    }
    const body = change(path, found);
    const refused = (body as Refusal | null)?.refused;
    if (refused) return json(refusal(409, 'FAILED_PRECONDITION', refused), 409);
    if (body !== null) return json(body);
    return json(refusal(404, 'NOT_FOUND', `there is no ${path}`), 404);
  });
}

export const shows = (text: string, timeout = 3000) =>
  vi.waitFor(() => expect(document.body.textContent).toContain(text), { timeout });

export async function open(path: string, until: string): Promise<string> {
  navigate(path);
  await act(() => render(<Shell />, document.body));
  await shows(until);
  return document.body.textContent!;
}

// Clicks the button that reads so, as soon as it is there, in the dialog when one is open.
export async function press(label: string): Promise<void> {
  const button = await vi.waitFor(() => {
    const root = document.querySelector('dialog') ?? document.body;
    const found = [...root.querySelectorAll('button')].find(
      (each) => each.textContent!.trim() === label || each.getAttribute('aria-label') === label,
    );
    if (!found) throw new Error(`no button "${label}" among ${root.textContent}`);
    return found;
  });
  await act(() => button.click());
}

export async function type(field: HTMLInputElement | HTMLTextAreaElement, text: string): Promise<void> {
  await act(() => {
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
}
