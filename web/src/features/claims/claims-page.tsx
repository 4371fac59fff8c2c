// What papers print, table by table, alone or beside an experiment.
import { flagQuery, textQuery, useQuery } from '@/shared/router';
import { useExperiments } from '@/parts/experiments';
import { plural } from '@/shared/format';
import { SelectField } from '@/shared/ui/fields';
import { Switch } from '@/shared/ui/parts';
import { Empty, ReadFailure, Skeleton, Stale } from '@/shared/ui/states';
import '@/parts/claims/claims.css';
import { ClaimsSummary } from './claims-summary';
import { ClaimsTable } from './claims-table';
import { matchesOf, useClaimCounts, useClaims, usePapers } from '@/parts/claims/data';
import type { ClaimPaper, ListClaimsResponse } from '@/shared/api/messages';

const firstPaper = textQuery('');
const noExperiment = textQuery('');
const everything = flagQuery(false);

function Paper({ paper }: { paper: ClaimPaper }) {
  const facts = [
    paper.authors.join(', '),
    paper.year > 0 ? String(paper.year) : '',
    paper.arxiv === '' ? '' : `arXiv ${paper.arxiv}`,
    `${plural(paper.tables, 'table')}, ${plural(paper.claims, 'number')}`,
  ].filter((each) => each !== '');
  return (
    <div class="claim-paper">
      <h2>{paper.title}</h2>
      <p class="quiet">{facts.join(' · ')}</p>
      {paper.note !== '' && <p class="quiet">{paper.note}</p>}
    </div>
  );
}

function Tables({
  claims,
  paper,
  experiment,
  only,
}: {
  claims: ListClaimsResponse;
  paper: string;
  experiment: string;
  only: boolean;
}) {
  const shown = claims.tables.filter(
    (table) => table.paper === paper && (!only || experiment === '' || matchesOf(table).length > 0),
  );
  if (shown.length === 0)
    return (
      <Empty
        title="Nothing to set beside"
        text={`No cell of ${experiment} has the priors, task and metric of a number this paper prints.`}
      />
    );
  return (
    <>
      {shown.map((table) => (
        <ClaimsTable key={table.table} table={table} experiment={experiment} />
      ))}
    </>
  );
}

function Chosen({ paper, experiment, only }: { paper: ClaimPaper; experiment: string; only: boolean }) {
  const { data, error, readAt, refresh } = useClaims(paper.id, experiment);
  return (
    <>
      <Paper paper={paper} />
      {!data && error && <ReadFailure what="The claims" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={8} height={30} />}
      {data && <Stale error={error} readAt={readAt} page />}
      {data && experiment !== '' && (
        <ClaimsSummary summaries={data.summaries} experiment={experiment} paper={paper.id} />
      )}
      {data && <Tables claims={data} paper={paper.id} experiment={experiment} only={only} />}
    </>
  );
}

function Counts({ experiment }: { experiment: string }) {
  const { data, error, refresh } = useClaimCounts(experiment);
  if (!data && error) return <ReadFailure what="The counts" error={error} retry={refresh} />;
  if (!data) return <Skeleton rows={4} height={30} />;
  return <ClaimsSummary summaries={data.summaries} experiment={experiment} paper="" />;
}

function Page({ papers }: { papers: readonly ClaimPaper[] }) {
  const [wanted, setWanted] = useQuery('paper', firstPaper);
  const [experiment, setExperiment] = useQuery('experiment', noExperiment);
  const [all, setAll] = useQuery('all', everything);
  const experiments = useExperiments();
  const paper = papers.find((each) => each.id === wanted) ?? papers[0];
  if (!paper)
    return <Empty title="No claims here" text="This server was installed without the papers’ claims." />;
  const names = (experiments.data ?? []).map((each) => each.name);
  const known = experiment === '' || names.includes(experiment) ? names : [experiment, ...names];
  return (
    <>
      <div class="toolbar">
        <SelectField
          label="Paper"
          value={paper.id}
          options={papers.map((each) => ({ value: each.id, text: each.id }))}
          choose={setWanted}
        />
        <SelectField
          label="Beside"
          value={experiment}
          options={[{ value: '', text: 'nothing' }, ...known.map((each) => ({ value: each, text: each }))]}
          choose={setExperiment}
        />
        {experiment !== '' && <Switch label="Tables without a match too" on={all} set={setAll} />}
      </div>
      {experiment !== '' && <Counts experiment={experiment} />}
      <Chosen paper={paper} experiment={experiment} only={!all} />
    </>
  );
}

export default function ClaimsPage() {
  const { data, error, refresh } = usePapers();
  return (
    <div class="page">
      <div class="title-row">
        <h1>Claims</h1>
        <p class="quiet">Numbers as papers print them, beside what was measured.</p>
      </div>
      {!data && error && <ReadFailure what="The papers" error={error} retry={refresh} />}
      {!data && !error && <Skeleton rows={8} height={30} />}
      {data && <Page papers={data.papers} />}
    </div>
  );
}
