// Taking numbers away: to the clipboard or as a file.
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icon';

// True when it worked. Outside a secure context the clipboard API is missing; the old command still serves.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'off-screen';
    document.body.append(area);
    area.select();
    const copied = document.execCommand?.('copy') ?? false;
    area.remove();
    return copied;
  }
}

export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const [outcome, setOutcome] = useState<'idle' | 'copied' | 'failed'>('idle');
  useEffect(() => {
    if (outcome === 'idle') return;
    const timer = setTimeout(() => setOutcome('idle'), 1800);
    return () => clearTimeout(timer);
  }, [outcome]);
  return (
    <button
      type="button"
      class="button button-small"
      onClick={() => void copyText(text()).then((copied) => setOutcome(copied ? 'copied' : 'failed'))}
    >
      <Icon name={outcome === 'copied' ? 'check' : 'copy'} size={14} />
      <span class="steady" data-widest={label} aria-live="polite">
        {outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'Not allowed' : label}
      </span>
    </button>
  );
}

// Hands a text to the reader as a file.
export const saveText = (name: string, type: string, text: string) =>
  saveBlob(name, new Blob([text], { type }));

export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function DownloadButton({
  label,
  name,
  type,
  text,
}: {
  label: string;
  name: string;
  type: string;
  text: () => string;
}) {
  const save = () => saveText(name, type, text());
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={save}>
      <Icon name="download" size={15} />
    </button>
  );
}
