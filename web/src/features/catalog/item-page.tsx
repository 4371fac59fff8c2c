// One item of the catalog in full.
import type { ComponentChildren } from 'preact';
import { hrefs } from '@/shared/hrefs';
import { count, parametersAdded, undefinedMark } from '@/shared/format';
import { CopyButton } from '@/shared/ui/copy';
import { Card, Figure } from '@/shared/ui/parts';
import { usePicture } from './data';
import type { Catalog, CatalogItem, CatalogOption } from '@/parts/catalog';
import { Formula } from './formula';
import { PriorPicture } from './picture/prior-picture';

// A paper's name with its arXiv number as a link.
export function Paper({ text }: { text: string }) {
  const found = /arXiv:(\d{4}\.\d{4,5})/.exec(text);
  if (!found) return <>{text}</>;
  const [before, after] = [text.slice(0, found.index), text.slice(found.index + found[0].length)];
  return (
    <>
      {before}
      <a href={`https://arxiv.org/abs/${found[1]}`} target="_blank" rel="noreferrer">
        {found[0]}
      </a>
      {after}
    </>
  );
}

const plainValue = (value: unknown): string =>
  value === undefined || value === null
    ? undefinedMark
    : typeof value === 'string'
      ? value
      : Array.isArray(value)
        ? value.map(plainValue).join(', ') || 'empty'
        : JSON.stringify(value);

// "0 < x ≤ 10", "≥ 1", or the choices.
export function rangeText(option: CatalogOption): string {
  if (option.choices.length > 0) return option.choices.join(' | ');
  const { minimum, maximum, exclusive_minimum: above, exclusive_maximum: under } = option;
  const low = above !== null ? `> ${above}` : minimum !== null ? `≥ ${minimum}` : '';
  const high = under !== null ? `< ${under}` : maximum !== null ? `≤ ${maximum}` : '';
  return [low, high].filter((part) => part !== '').join(', ');
}

function Options({ options }: { options: readonly CatalogOption[] }) {
  if (options.length === 0) return <p class="quiet">It has no options.</p>;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Options">
      <table class="table table-small options">
        <thead>
          <tr>
            <th scope="col">Option</th>
            <th scope="col">Type</th>
            <th scope="col">Default</th>
            <th scope="col">Range</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {options.map((option) => (
            <tr key={option.name}>
              <th scope="row">
                <code>{option.name}</code>
              </th>
              <td>{option.type === 'list' ? `list of ${option.element}` : option.type}</td>
              <td class="option-value">{option.required ? 'required' : plainValue(option.default)}</td>
              <td class="option-value">{rangeText(option) || undefinedMark}</td>
              <td class="option-help">
                {option.help}
                {option.unit !== '' && <small> ({option.unit})</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Rules({ item }: { item: CatalogItem }) {
  const rules = [...item.constraints, ...item.requires].map((rule) => plainValue(rule['help']));
  if (rules.length === 0) return null;
  return (
    <>
      <h3>Conditions</h3>
      <ul class="bullets">
        {rules.map((rule) => (
          <li key={rule}>{rule}</li>
        ))}
      </ul>
    </>
  );
}

function factText(value: unknown): ComponentChildren {
  if (typeof value === 'number') return count(value);
  if (value !== null && typeof value === 'object' && !Array.isArray(value))
    return Object.entries(value)
      .map(([key, each]) => `${key} ${typeof each === 'number' ? count(each) : plainValue(each)}`)
      .join(' · ');
  const text = Array.isArray(value)
    ? value
        .map((each) =>
          each !== null && typeof each === 'object'
            ? plainValue(
                (each as Record<string, unknown>)['name'] ??
                  (each as Record<string, unknown>)['slot'] ??
                  each,
              )
            : plainValue(each),
        )
        .join(', ') || 'none'
    : plainValue(value);
  return text;
}

const shortFact = (key: string) => key !== 'manifest';

function Facts({ item }: { item: CatalogItem }) {
  const facts = Object.entries(item.facts).filter(([key]) => shortFact(key));
  if (facts.length === 0) return null;
  return (
    <Card title="Facts" id="facts">
      <dl class="facts">
        {facts.map(([key, value]) => (
          <div key={key}>
            <dt>{key.replace(/_/g, ' ')}</dt>
            <dd>{factText(value)}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Cost({ prior }: { prior: string }) {
  const { data } = usePicture(prior);
  if (!data || data.parameters_added === null) return null;
  return (
    <Figure label="Parameters added" note={data.setting}>
      {parametersAdded(data.parameters_added)}
    </Figure>
  );
}

function Head({ item, pictured }: { item: CatalogItem; pictured: boolean }) {
  return (
    <header class="item-head">
      <div class="title-row">
        <h1>{item.id}</h1>
        <span class="tag">{item.kind}</span>
        <CopyButton label="Copy id" text={() => item.id} />
      </div>
      <p class="lead">{item.summary}</p>
      {item.formula !== '' && (
        <p class="formula-block" tabIndex={0}>
          <Formula text={item.formula} />
        </p>
      )}
      <dl class="figures">
        {item.paper !== '' && (
          <Figure label="Paper">
            <Paper text={item.paper} />
          </Figure>
        )}
        {item.hooks.length > 0 && <Figure label="Acts on">{item.hooks.join(', ')}</Figure>}
        {item.cost !== '' && <Figure label="Cost">{item.cost}</Figure>}
        {pictured && <Cost prior={item.id} />}
        {item.layouts && (
          <Figure label="Grids">{item.layouts.ranks.map((rank) => `${rank}-D`).join(', ')}</Figure>
        )}
        {item.excludes.length > 0 && <Figure label="Not with">{item.excludes.join(', ')}</Figure>}
        {item.aliases.length > 0 && <Figure label="Also named">{item.aliases.join(', ')}</Figure>}
        <Figure label="Revision">{item.revision}</Figure>
      </dl>
    </header>
  );
}

export function ItemView({ catalog, item }: { catalog: Catalog; item: CatalogItem }) {
  const pictured = item.kind === 'prior' && catalog.pictures.has(item.id);
  return (
    <>
      <nav class="crumbs" aria-label="Where you are">
        <a href={hrefs.catalog('', '')}>Catalog</a>
        <span aria-hidden="true">/</span>
      </nav>
      <Head item={item} pictured={pictured} />
      {pictured && <PriorPicture prior={item.id} options={item.options} />}
      <Card title="Options" id="options">
        <Options options={item.options} />
        <Rules item={item} />
      </Card>
      <Facts item={item} />
    </>
  );
}
