// A new experiment: its specification as text, checked as one types, with what it would run beside it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { navigate, textQuery, useQuery } from '@/shared/router';
import { hrefs } from '@/shared/hrefs';
import { ApiError } from '@/shared/api/client';
import { plural } from '@/shared/format';
import { Confirm } from '@/shared/ui/dialog';
import { Icon } from '@/shared/ui/icon';
import { Card, Switch } from '@/shared/ui/parts';
import { PermittedButton } from '@/shared/ui/permitted';
import { Callout, Skeleton } from '@/shared/ui/states';
import { say } from '@/shared/ui/toast';
import './create.css';
import { type Check, readExperiment, requestId, submit, useCheck } from './data';
import { Editor, goToLine, insertText } from './editor';
import { Ingredients } from './ingredients';
import { changeText, Preview, timeText } from './preview';
import { type Problem, textOf } from './specification-text';
import { template } from './template';

const noName = textQuery('');
const draftKey = (from: string) => `locus.draft.${from}`;

function keepDraft(from: string, text: string): void {
  try {
    sessionStorage.setItem(draftKey(from), text);
  } catch {
    // Storage is denied: the draft lasts as long as the page.
  }
}

function dropDraft(from: string): void {
  try {
    sessionStorage.removeItem(draftKey(from));
  } catch {
    // Storage is denied: nothing was kept.
  }
}

function keptDraft(from: string): string | null {
  try {
    return sessionStorage.getItem(draftKey(from));
  } catch {
    return null;
  }
}

// The text being written: an earlier draft, a stored experiment's specification, or the template.
function useDraft(from: string) {
  const [text, setText] = useState<string | null>(() => keptDraft(from) ?? (from === '' ? template : null));
  const [failure, setFailure] = useState('');
  useEffect(() => {
    if (text !== null) return;
    const abort = new AbortController();
    readExperiment(from, abort.signal).then(
      (found) => setText(textOf(found.spec_json, `${found.name}-2`.slice(-63))),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setFailure(error instanceof ApiError ? error.message : String(error));
        setText(template);
      },
    );
    return () => abort.abort();
  }, [from, text === null]);
  const write = (next: string) => {
    setText(next);
    keepDraft(from, next);
  };
  return { text, write, failure };
}

function Problems({ problems, go }: { problems: readonly Problem[]; go: (line: number) => void }) {
  return (
    <ul class="problems" id="problems" aria-live="polite">
      {problems.map((problem) => (
        <li key={`${problem.line} ${problem.message}`}>
          <button type="button" class="problem" onClick={() => go(problem.line)}>
            <span class="problem-line">line {problem.line}</span>
            <span>
              {problem.field !== '' && <code>{problem.field}</code>} {problem.message}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function verdictOf(check: Check & { checking: boolean }): { text: string; tone: string } {
  if (check.checking) return { text: 'Checking…', tone: 'idle' };
  if (check.unreachable) return { text: 'The server does not answer', tone: 'bad' };
  if (check.problems.length > 0) return { text: plural(check.problems.length, 'problem'), tone: 'bad' };
  return check.plan ? { text: 'Valid', tone: 'good' } : { text: '', tone: 'idle' };
}

function SubmitDialog({ check, close, done }: { check: Check; close: () => void; done: () => void }) {
  const [replace, setReplace] = useState(false);
  const id = useRef(requestId()); // one question, one request, however often it is tried
  const plan = check.plan!;
  const drops = plan.trials_removed > 0 || plan.trials_changed > 0;
  const run = async () => {
    const answer = await submit(check.json!, id.current, replace);
    say(`${answer.experiment.name} is submitted: ${plural(answer.stages_to_run, 'stage')} to run`);
    done();
    navigate(hrefs.experiment(answer.experiment.name));
  };
  return (
    <Confirm
      title={plan.exists ? `Change ${plan.name}?` : `Submit ${plan.name}?`}
      action={plan.exists ? 'Submit the change' : 'Submit'}
      ready={!drops || replace}
      danger={drops}
      run={run}
      close={close}
      text={
        <>
          <p>
            {plural(plan.trials, 'trial')} of {plural(plan.cells, 'cell')};{' '}
            {plural(plan.stages_to_run, 'stage')} to run
            {plan.stages_done > 0 && `, ${plan.stages_done} done already`}.
          </p>
          {timeText(plan) !== '' && <p>About {timeText(plan)}.</p>}
          {plan.exists && <p>An experiment of this name is stored: {changeText(plan)}.</p>}
          {drops && (
            <Callout tone="warning">
              Trials of the stored experiment would no longer be its own.
              <Switch label="Replace them" on={replace} set={setReplace} />
            </Callout>
          )}
        </>
      }
    />
  );
}

function PlanCard({ check }: { check: Check & { checking: boolean } }) {
  return (
    <Card title="Plan" id="plan" class={check.checking ? 'plan-waiting' : ''}>
      {check.plan ? (
        <Preview plan={check.plan} />
      ) : check.checking ? (
        <Skeleton rows={4} height={22} />
      ) : (
        <p class="quiet">Once the specification is valid, what it would run is shown here.</p>
      )}
    </Card>
  );
}

export default function CreatePage() {
  const [from] = useQuery('from', noName);
  const { text, write, failure } = useDraft(from);
  const check = useCheck(text);
  const field = useRef<HTMLTextAreaElement>(null);
  const [asking, setAsking] = useState(false);
  const verdict = verdictOf(check);
  const ready = !check.checking && check.plan !== null && check.problems.length === 0;
  const tools = (
    <>
      <span class={`verdict tone-${verdict.tone}`} role="status">
        {verdict.text}
      </span>
      <button
        type="button"
        class="button button-small"
        onClick={() => write(template)}
        disabled={text === template}
      >
        Start over
      </button>
      <PermittedButton
        need="submitter"
        class="button button-small button-primary"
        disabled={!ready}
        onClick={() => setAsking(true)}
      >
        <Icon name="play" size={14} />
        Submit
      </PermittedButton>
    </>
  );
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are">
        <a href={hrefs.experiments()}>Experiments</a>
        <span aria-hidden="true">/</span>
      </nav>
      <div class="title-row">
        <h1>New experiment</h1>
        {from !== '' && <p class="quiet">from {from}</p>}
      </div>
      {failure !== '' && <Callout tone="warning">{failure}</Callout>}
      <div class="create">
        <Card title="Specification" id="specification" tools={tools}>
          {text === null ? (
            <Skeleton rows={10} height={18} />
          ) : (
            <Editor field={field} text={text} set={write} problems={check.problems} />
          )}
          <Problems problems={check.problems} go={(line) => goToLine(field.current, line)} />
          {check.unreachable && (
            <button type="button" class="button button-small" onClick={check.again}>
              Check again
            </button>
          )}
        </Card>
        <div class="create-side">
          <PlanCard check={check} />
          <Ingredients insert={(id) => insertText(field.current, id, write)} />
        </div>
      </div>
      {asking && check.plan && (
        <SubmitDialog check={check} close={() => setAsking(false)} done={() => dropDraft(from)} />
      )}
    </div>
  );
}
