// The catalog: what experiments can name, and each item in full.
import { textQuery, useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import { plural } from '@/shared/format';
import { matches, SearchField } from '@/shared/ui/fields';
import { Card } from '@/shared/ui/parts';
import { Tally } from '@/shared/ui/tally';
import { Empty, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import './catalog.css';
import { type Catalog, type CatalogItem, useCatalog } from '@/parts/catalog';
import { Formula } from './formula';
import { ItemView } from './item-page';
import { Thumbnail } from './picture/thumbnail';

const noItem = textQuery('');
const anyText = textQuery('');
const anyKind = textQuery('');
const headings: Record<string, string> = {
  prior: 'Priors',
  backbone: 'Backbones',
  dataset: 'Datasets',
  task: 'Tasks',
  recipe: 'Recipes',
  stage: 'Stages',
};

function Entry({ item, pictured }: { item: CatalogItem; pictured: boolean }) {
  return (
    <li>
      <a class="entry" href={hrefs.catalog(item.kind, item.id)}>
        <span class="entry-head">
          <b>{item.id}</b>
          <small>{item.options.length > 0 ? plural(item.options.length, 'option') : 'no options'}</small>
        </span>
        <span class="entry-summary">{item.summary}</span>
        {item.formula !== '' && <Formula text={item.formula} />}
        {pictured && <Thumbnail prior={item.id} />}
      </a>
    </li>
  );
}

function Overview({ catalog }: { catalog: Catalog }) {
  const [text, setText] = useQuery('q', anyText);
  const [kind, setKind] = useQuery('kind', anyKind);
  const found = catalog.items.filter(
    (item) =>
      (kind === '' || item.kind === kind) &&
      matches(text, item.kind, item.id, item.summary, item.paper, item.formula, ...item.aliases),
  );
  const kinds = [...new Set(found.map((item) => item.kind))];
  return (
    <>
      <div class="title-row">
        <h1>Catalog</h1>
        <p class="quiet">
          engine <code title={catalog.digest}>{catalog.digest.slice(0, 12)}</code>
        </p>
      </div>
      <div class="toolbar">
        <SearchField label="Find in the catalog" value={text} set={setText} />
        <Tally
          label="Filter by kind"
          values={catalog.items.map((item) => item.kind)}
          value={kind}
          choose={setKind}
        />
      </div>
      <div class="kinds">
        {kinds.map((each) => (
          <Card key={each} title={headings[each] ?? each} id={`kind-${each}`} class={`kind-${each}`}>
            <ul class={`entries entries-${each}`}>
              {found
                .filter((item) => item.kind === each)
                .map((item) => (
                  <Entry
                    key={item.id}
                    item={item}
                    pictured={item.kind === 'prior' && catalog.pictures.has(item.id)}
                  />
                ))}
            </ul>
          </Card>
        ))}
      </div>
      {found.length === 0 && <Empty title="Nothing fits" text="No item fits what you look for." />}
    </>
  );
}

function Chosen({ catalog, wanted }: { catalog: Catalog; wanted: string }) {
  const item = catalog.items.find((each) => `${each.kind}/${each.id}` === wanted);
  if (item) return <ItemView catalog={catalog} item={item} />;
  return (
    <Empty title="Not in the catalog" text={<>This server’s engine has no {wanted}.</>}>
      <a class="button" href={hrefs.catalog('', '')}>
        To the catalog
      </a>
    </Empty>
  );
}

export default function CatalogPage() {
  const [wanted] = useQuery('item', noItem);
  const { data, error, readAt, refresh } = useCatalog();
  return (
    <div class="page">
      {!data && (
        <div class="title-row">
          <h1>Catalog</h1>
        </div>
      )}
      {!data && error && <ReadFailure what="The catalog" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={8} height={32} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && (wanted === '' ? <Overview catalog={data} /> : <Chosen catalog={data} wanted={wanted} />)}
    </div>
  );
}
