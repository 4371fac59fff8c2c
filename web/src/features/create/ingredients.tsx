// What a specification can name, from the catalog: put into the text by a click.
import { useState } from 'preact/hooks';
import { hrefs } from '@/shared/hrefs';
import { useCatalog } from '@/parts/catalog';
import { SearchField, matches } from '@/shared/ui/fields';
import { Card } from '@/shared/ui/parts';
import { ReadFailure, Skeleton } from '@/shared/ui/states';

const kindsOffered = ['prior', 'dataset', 'backbone', 'recipe', 'task', 'stage'];

export function Ingredients({ insert }: { insert: (id: string) => void }) {
  const { data, error, refresh } = useCatalog();
  const [text, setText] = useState('');
  const found = data?.items.filter(
    (item) => kindsOffered.includes(item.kind) && matches(text, item.kind, item.id, item.summary),
  );
  return (
    <Card
      title="What it can name"
      id="ingredients"
      class="ingredients"
      tools={<SearchField label="Find" value={text} set={setText} />}
    >
      {!data && error && <ReadFailure what="The catalog" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={5} height={20} />}
      <ul>
        {found?.map((item) => (
          <li key={`${item.kind}/${item.id}`}>
            <button
              type="button"
              class="ingredient"
              aria-label={`Insert ${item.id}`}
              title="Insert at the caret"
              onClick={() => insert(item.id)}
            >
              <code>{item.id}</code>
            </button>
            <small class="clip" title={item.summary}>
              {item.kind} · {item.summary}
            </small>
            <a href={hrefs.catalog(item.kind, item.id)} aria-label={`About ${item.id}`}>
              about
            </a>
          </li>
        ))}
      </ul>
      {found?.length === 0 && <p class="quiet">Nothing fits.</p>}
    </Card>
  );
}
