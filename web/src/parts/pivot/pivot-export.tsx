// The pivot table: rendered by the server from the same call, copied or saved.
import { ApiError } from '@/shared/api/client';
import { copyText, saveText } from '@/shared/ui/copy';
import { Icon } from '@/shared/ui/icon';
import { Popover } from '@/shared/ui/popover';
import { say } from '@/shared/ui/toast';
import { renderedTable } from './data';
import { type Format, formats, type PivotRequest } from './request';

const kinds: Record<Format, { text: string; ending: string; type: string }> = {
  latex: { text: 'LaTeX (booktabs)', ending: 'tex', type: 'application/x-tex' },
  markdown: { text: 'Markdown', ending: 'md', type: 'text/markdown' },
  csv: { text: 'CSV', ending: 'csv', type: 'text/csv' },
  json: { text: 'JSON', ending: 'json', type: 'application/json' },
  html: { text: 'HTML', ending: 'html', type: 'text/html' },
};

export function PivotExport({
  experiments,
  request,
}: {
  experiments: readonly string[];
  request: PivotRequest;
}) {
  const take = async (format: Format, copy: boolean) => {
    const { text, ending, type } = kinds[format];
    try {
      const rendered = await renderedTable(experiments, request, format);
      if (!copy) saveText(`${experiments.join('+')}.${ending}`, type, rendered);
      else say((await copyText(rendered)) ? `${text} copied` : 'The browser does not allow copying here');
    } catch (error) {
      say(error instanceof ApiError ? error.message : String(error));
    }
  };
  return (
    <Popover label="Export" icon="download">
      {() => (
        <ul class="menu export-menu">
          {formats.map((format) => (
            <li key={format}>
              <span>{kinds[format].text}</span>
              <button type="button" class="button button-small" onClick={() => void take(format, true)}>
                Copy<span class="off-screen"> as {kinds[format].text}</span>
              </button>
              <button
                type="button"
                class="icon-button"
                aria-label={`Download as ${kinds[format].text}`}
                onClick={() => void take(format, false)}
              >
                <Icon name="download" size={15} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Popover>
  );
}
