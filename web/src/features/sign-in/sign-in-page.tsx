// Signing in with a token, where the server asks who calls.
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '@/shared/api/client';
import { loadIdentity, signIn, useIdentity } from '@/shared/api/identity';
import { home } from '@/shared/hrefs';
import { navigate } from '@/shared/router';
import { Callout, ReadFailure, Skeleton } from '@/shared/ui/states';

function Form() {
  const [token, setToken] = useState('');
  const [failure, setFailure] = useState('');
  const [busy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure('');
    try {
      await signIn(token);
      navigate(home);
    } catch (error) {
      setFailure((error as Error).message);
    } finally {
      setToken('');
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void send(event)}>
      <label class="field">
        <span>Token</span>
        <input
          type="password"
          class="input"
          name="token"
          autocomplete="current-password"
          spellcheck={false}
          value={token}
          placeholder="locus_..."
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      {failure !== '' && <Callout tone="failure">{failure}</Callout>}
      <button type="submit" class="button button-primary" disabled={busy || token.trim() === ''}>
        Sign in
      </button>
      <p>
        An administrator makes tokens with <code>locus admin token create ROLE NAME</code>.
      </p>
    </form>
  );
}

// Asks again who this browser is: a page that was open for long may not know that its session has ended.
function useFresh(): { error: ApiError | undefined; known: boolean; again: () => void } {
  const [state, setState] = useState<{ error?: ApiError; known: boolean }>({ known: false });
  const again = () =>
    void loadIdentity().then(
      () => setState({ known: true }),
      (error: ApiError) => setState({ error, known: false }),
    );
  useEffect(again, []);
  return { error: state.error, known: state.known, again };
}

export default function SignInPage() {
  const identity = useIdentity();
  const { error, known, again } = useFresh();
  if (error) return <ReadFailure what="Who you are" error={error} retry={again} />;
  return (
    <div>
      <h1>Sign in</h1>
      {!known && <Skeleton rows={2} />}
      {known && !identity.asked && (
        <p>This server asks nobody who they are: there is nothing to sign in to.</p>
      )}
      {known && identity.asked && identity.name !== '' && (
        <p>
          You are signed in as {identity.name}, {identity.role} of the account {identity.account}.
        </p>
      )}
      {known && identity.asked && identity.name === '' && <Form />}
    </div>
  );
}
