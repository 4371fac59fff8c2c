// Buttons that change something, for those who may and those who may not.
import { render } from 'preact';
import { act } from 'preact/test-utils';
import { afterEach, expect, test } from 'vitest';
import { setIdentity } from '@/shared/api/identity';
import type { Identity } from '@/shared/api/messages';
import { PermittedButton } from './permitted';

const unasked: Identity = { asked: false, name: 'local', account: '', role: 'admin', via: 'loopback' };
const vera: Identity = { asked: true, name: 'vera', account: 'vera', role: 'viewer', via: 'session' };
const ada: Identity = { asked: true, name: 'ada', account: 'vision', role: 'submitter', via: 'session' };

afterEach(async () => {
  await act(() => render(null, document.body));
  setIdentity(unasked);
});

async function shownTo(who: Identity, owner?: string): Promise<HTMLButtonElement> {
  setIdentity(who);
  await act(() =>
    render(
      <PermittedButton need="submitter" owner={owner} onClick={() => undefined}>
        Rerun
      </PermittedButton>,
      document.body,
    ),
  );
  return document.querySelector('button')!;
}

test('whoever may finds a button', async () => {
  const button = await shownTo(ada, 'vision');
  expect(button.disabled).toBe(false);
  expect(button.title).toBe('');
});

test('where nobody is asked, everyone may', async () => {
  expect((await shownTo(unasked, 'somebody')).disabled).toBe(false);
});

test('who lacks the role finds it disabled, and why', async () => {
  const button = await shownTo(vera);
  expect(button.disabled).toBe(true);
  expect(button.title).toBe('You are signed in as viewer; this is for submitters.');
});

test('what belongs to another account is disabled, and says whose it is', async () => {
  const button = await shownTo(ada, 'language');
  expect(button.disabled).toBe(true);
  expect(button.title).toBe('It belongs to language; you are of the account vision.');
});
