// The specification as the server stores it.
import { CopyButton } from '@/shared/ui/copy';
import { Card } from '@/shared/ui/parts';

export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function Specification({ specJson }: { specJson: string }) {
  const text = prettyJson(specJson);
  return (
    <Card title="Specification" id="specification" tools={<CopyButton label="Copy JSON" text={() => text} />}>
      <p class="quiet card-note">
        Canonical form, defaults as written. Submit it again to go on where it stopped: only what is missing
        runs.
      </p>
      <pre class="code" tabIndex={0}>
        {text}
      </pre>
    </Card>
  );
}
