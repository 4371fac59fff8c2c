// The pivot table over several experiments.
import { type QueryCodec, useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import { Icon } from '@/shared/ui/icon';
import { PivotCard } from '@/parts/pivot/pivot-card';

const most = 16;

// "a,b" in the address.
export const experimentsQuery: QueryCodec<readonly string[]> = {
  read: (text) => [...new Set((text ?? '').split(',').filter((name) => name !== ''))].slice(0, most),
  write: (names) => names.join(',') || null,
};

export default function PivotPage() {
  const [names, setNames] = useQuery('of', experimentsQuery);
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are">
        <a href={hrefs.experiments()}>Experiments</a>
        <span aria-hidden="true">/</span>
      </nav>
      <h1>Pivot table</h1>
      <ul class="pivot-chips" aria-label="Experiments in the table">
        {names.map((name) => (
          <li key={name}>
            <a href={hrefs.experiment(name)}>{name}</a>
            <button
              type="button"
              class="icon-button"
              aria-label={`Leave out ${name}`}
              onClick={() => setNames(names.filter((each) => each !== name))}
            >
              <Icon name="close" size={13} />
            </button>
          </li>
        ))}
      </ul>
      <form
        class="toolbar toolbar-quiet"
        onSubmit={(event) => {
          event.preventDefault();
          const field = event.currentTarget.elements.namedItem('experiment') as HTMLInputElement;
          const name = field.value.trim();
          if (name !== '') setNames([...new Set([...names, name])].slice(0, most));
          field.value = '';
        }}
      >
        <label class="select-field">
          <span>Add experiment</span>
          <input class="text-field" name="experiment" aria-label="Name of an experiment to add" />
        </label>
        <button type="submit" class="button button-small">
          Add
        </button>
      </form>
      {names.length > 0 ? (
        <PivotCard key={names.join()} experiments={names} known={[]} />
      ) : (
        <p class="quiet">Name one to {most} experiments whose results belong in one table.</p>
      )}
    </div>
  );
}
