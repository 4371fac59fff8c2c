// The list of experiments, newest first, live: filtered, grouped, sorted, all from the address.
import { useMemo } from 'preact/hooks';
import { choiceQuery, textQuery, useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import type { Experiment } from '@/shared/api/messages';
import { count, plural } from '@/shared/format';
import { ColumnPicker } from '@/shared/tables/column-picker';
import { DataTable } from '@/shared/tables/data-table';
import { hiddenColumnsQuery, sortingQuery, useTable } from '@/shared/tables/use-table';
import { CopyButton } from '@/shared/ui/copy';
import { SearchField, SelectField } from '@/shared/ui/fields';
import { useNow } from '@/shared/ui/hooks';
import { Icon } from '@/shared/ui/icon';
import { Tally } from '@/shared/ui/tally';
import { Empty, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import { experimentColumns, usuallyHidden } from './columns';
import { allTags, filterExperiments } from './data';
import { useExperiments } from '@/parts/experiments';
import './experiments.css';

const anyText = textQuery('');
const anyState = textQuery('');
const anyTag = textQuery('');
const columnsQuery = hiddenColumnsQuery(usuallyHidden);
const groups = ['none', 'state', 'dataset', 'owner'] as const;
type Group = (typeof groups)[number];
const groupQuery = choiceQuery(groups, 'none');
const groupOptions = groups.map((value) => ({ value, text: value }));

const groupOf: Record<Group, ((each: Experiment) => string) | undefined> = {
  none: undefined,
  state: (each) => each.state,
  dataset: (each) => each.dataset,
  owner: (each) => each.owner,
};

function Experiments({ experiments }: { experiments: readonly Experiment[] }) {
  const now = useNow();
  const [text, setText] = useQuery('q', anyText);
  const [state, setState] = useQuery('state', anyState);
  const [tag, setTag] = useQuery('tag', anyTag);
  const [group, setGroup] = useQuery('group', groupQuery);
  const [sorting, setSorting] = useQuery('sort', sortingQuery);
  const [hidden, setHidden] = useQuery('hide', columnsQuery);
  const columns = useMemo(() => experimentColumns(now), [now]);
  const data = useMemo(
    () => filterExperiments(experiments, { text, state, tag }),
    [experiments, text, state, tag],
  );
  const tags = useMemo(
    () => [{ value: '', text: 'any' }, ...allTags(experiments).map((value) => ({ value, text: value }))],
    [experiments],
  );
  const table = useTable({ data, columns, sorting, setSorting, rowId: (each) => each.name, hidden });
  return (
    <>
      <div class="toolbar">
        <SearchField label="Find experiments" value={text} set={setText} />
        <Tally
          label="Filter by state"
          values={experiments.map((each) => each.state)}
          value={state}
          choose={setState}
        />
        {tags.length > 1 && <SelectField label="Tag" value={tag} options={tags} choose={setTag} />}
        <span class="toolbar-end">
          <SelectField label="Group" value={group} options={groupOptions} choose={setGroup} />
          <ColumnPicker table={table} hidden={hidden} set={setHidden} />
        </span>
      </div>
      <div class="card card-flush">
        <DataTable table={table} caption="Experiments" class="experiments cards" groupOf={groupOf[group]} />
        {data.length === 0 && (
          <Empty title="Nothing fits" text="No experiment fits what you look for.">
            <a class="button" href={hrefs.experiments()}>
              Show all {count(experiments.length)}
            </a>
          </Empty>
        )}
      </div>
    </>
  );
}

const firstCommand = 'locus submit examples/fashion-mnist-priors.yaml';

function FirstExperiment() {
  return (
    <Empty title="No experiments yet" text="Write one here, or submit a specification from a terminal.">
      <a class="button button-primary" href={hrefs.create()}>
        <Icon name="plus" size={14} />
        New experiment
      </a>
      <div class="command">
        <code>{firstCommand}</code>
        <CopyButton label="Copy" text={() => firstCommand} />
      </div>
    </Empty>
  );
}

export default function ExperimentsPage() {
  const { data, error, readAt, refresh } = useExperiments();
  const running = data?.reduce((sum, each) => sum + each.running.length, 0) ?? 0;
  return (
    <div class="page">
      <div class="title-row">
        <h1>Experiments</h1>
        {data && data.length > 0 && (
          <p class="quiet">
            {plural(data.length, 'experiment')} ·{' '}
            {running === 0 ? 'nothing running' : `${plural(running, 'stage')} running`}
          </p>
        )}
        {data && data.length > 0 && (
          <a class="button button-primary button-small" href={hrefs.create()}>
            <Icon name="plus" size={14} />
            New experiment
          </a>
        )}
      </div>
      {!data && error && <ReadFailure what="The list of experiments" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={6} height={36} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && data.length === 0 && <FirstExperiment />}
      {data && data.length > 0 && <Experiments experiments={data} />}
    </div>
  );
}
