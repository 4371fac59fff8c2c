// A modal question: the browser's own dialog keeps the focus inside, closes on Escape and gives the focus
// back.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError } from '@/shared/api/client';
import { Icon } from './icon';
import { Callout } from './states';

export function Dialog({
  title,
  close,
  children,
  actions,
}: {
  title: string;
  close: () => void;
  children: ComponentChildren;
  actions: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const node = dialog.current;
    if (node && !node.open) node.showModal();
    return () => node?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="dialog-box">
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </div>
        <div class="dialog-body">{children}</div>
        <div class="dialog-actions">{actions}</div>
      </div>
    </dialog>
  );
}

export interface ConfirmProps {
  title: string;
  text: ComponentChildren;
  action: string; // the word on the button: what will happen
  danger?: boolean;
  ready?: boolean; // false: not yet possible, for example while a dry run is read
  run: () => Promise<void>;
  close: () => void;
}

// Asks before something happens, stays open with the reason when it fails.
export function Confirm({ title, text, action, danger = false, ready = true, run, close }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const go = () => {
    setBusy(true);
    setFailure(null);
    run().then(close, (error: unknown) => {
      setBusy(false);
      setFailure(error instanceof ApiError ? error.message : String(error));
    });
  };
  return (
    <Dialog
      title={title}
      close={close}
      actions={
        <>
          <button type="button" class="button" onClick={close}>
            Keep as it is
          </button>
          <button
            type="button"
            class={`button ${danger ? 'button-danger' : 'button-primary'}`}
            disabled={busy || !ready}
            onClick={go}
          >
            {busy ? 'Working…' : action}
          </button>
        </>
      }
    >
      {text}
      {failure !== null && <Callout tone="failure">{failure}</Callout>}
    </Dialog>
  );
}
