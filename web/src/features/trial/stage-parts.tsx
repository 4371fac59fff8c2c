// The tables of one stage: results, attempts, checkpoints, configuration.
import { hrefs } from '@/shared/hrefs';
import { apiPath } from '@/shared/api/client';
import type { Attempt, StageDetail } from '@/shared/api/messages';
import {
  bytes,
  count,
  duration,
  failureText,
  fixed,
  labelText,
  moment,
  significant,
  undefinedMark,
} from '@/shared/format';
import { CopyButton } from '@/shared/ui/copy';
import { orNothing, State } from '@/shared/ui/parts';

// A nested configuration as paths and values: {"model":{"dim":64}} -> model.dim 64.
export function flatten(value: unknown, path = ''): [string, string][] {
  const plain = value === null || typeof value !== 'object';
  if (plain || (Array.isArray(value) && value.every((each) => typeof each !== 'object')))
    return [[path, JSON.stringify(value)]];
  const entries = Object.entries(value as object);
  if (entries.length === 0) return path === '' ? [] : [[path, Array.isArray(value) ? '[]' : '{}']];
  return entries.flatMap(([key, each]) => {
    const step = Array.isArray(value) ? `[${key}]` : path === '' ? key : `.${key}`;
    return flatten(each, path + step);
  });
}

export function parsed(json: string): unknown {
  try {
    return JSON.parse(json || '{}');
  } catch {
    return json;
  }
}

// The environment in a line: "cpu, 1 thread".
export function environmentText(json: string): string {
  return flatten(parsed(json))
    .map(([key, value]) => `${key} ${value.replace(/^"|"$/g, '')}`)
    .join(', ');
}

export function Results({ detail }: { detail: StageDetail }) {
  if (detail.results.length === 0) return null;
  return (
    <>
      <h3>Results</h3>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Results">
        <table class="table table-small trial-results">
          <thead>
            <tr>
              <th scope="col">Metric</th>
              <th scope="col">Split</th>
              <th scope="col">At</th>
              <th scope="col">Reduced</th>
              <th scope="col" class="number">
                Value
              </th>
              <th scope="col" class="number">
                Step
              </th>
            </tr>
          </thead>
          <tbody>
            {detail.results.map((result) => (
              <tr key={`${result.key.metric}/${result.key.split}/${result.key.labels}/${result.reducer}`}>
                <th scope="row">{result.key.metric}</th>
                <td>{orNothing(result.key.split || undefinedMark)}</td>
                <td class="trial-result-at">{orNothing(labelText(result.key.labels) || undefinedMark)}</td>
                <td>{result.reducer}</td>
                <td class="number trial-result-value">
                  {Number.isInteger(result.value) ? count(result.value) : significant(result.value, 6)}
                </td>
                <td class="number trial-result-step">{count(result.step)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function took(attempt: Attempt): string {
  if (attempt.start_time === null || attempt.end_time === null) return undefinedMark;
  const seconds = (attempt.end_time - attempt.start_time) / 1000;
  return seconds < 10 ? `${fixed(seconds, 1)} s` : duration(seconds);
}

export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return null;
  return (
    <>
      <h3>Attempts</h3>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Attempts">
        <table class="table table-small attempts trial-attempts">
          <thead>
            <tr>
              <th scope="col" class="number">
                No.
              </th>
              <th scope="col">State</th>
              <th scope="col">Worker</th>
              <th scope="col">Device</th>
              <th scope="col">Path</th>
              <th scope="col">Started</th>
              <th scope="col" class="number">
                Took
              </th>
              <th scope="col" class="number">
                From step
              </th>
              <th scope="col" class="number">
                Points
              </th>
              <th scope="col">Reason</th>
            </tr>
          </thead>
          <tbody>
            {attempts.map((attempt) => (
              <tr key={attempt.number} title={environmentText(attempt.environment_json)}>
                <th scope="row" class="number">
                  {attempt.number}
                </th>
                <td>
                  <State state={attempt.state} />
                </td>
                <td>
                  <a href={hrefs.worker(attempt.worker)}>{attempt.worker}</a>
                </td>
                <td>{orNothing(attempt.device_name || attempt.device || undefinedMark)}</td>
                <td>{orNothing(attempt.path || undefinedMark)}</td>
                <td>{moment(attempt.start_time)}</td>
                <td class="number">{orNothing(took(attempt))}</td>
                <td class="number">{count(attempt.resume_step)}</td>
                <td class="number">{count(attempt.points)}</td>
                <td class="reason">
                  {orNothing(failureText(attempt.failure_class, attempt.reason) || undefinedMark)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function Checkpoints({ checkpoints }: { checkpoints: StageDetail['checkpoints'] }) {
  if (checkpoints.length === 0) return null;
  return (
    <>
      <h3>Checkpoints</h3>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Checkpoints">
        <table class="table table-small">
          <thead>
            <tr>
              <th scope="col" class="number">
                Step
              </th>
              <th scope="col" class="number">
                Attempt
              </th>
              <th scope="col">SHA-256</th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">Kept as</th>
              <th scope="col">
                <span class="off-screen">Download</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {checkpoints.map((checkpoint) => (
              <CheckpointRow key={`${checkpoint.attempt}/${checkpoint.step}`} checkpoint={checkpoint} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function CheckpointRow({ checkpoint }: { checkpoint: StageDetail['checkpoints'][number] }) {
  const { step, attempt, sha256, bytes: size, present, role, best, pinned } = checkpoint;
  const kept = [...new Set([role, best ? 'best' : '', pinned ? 'pinned' : ''])].filter((each) => each !== '');
  const there = present || role === ''; // a server that does not say keeps all
  return (
    <tr class={there ? '' : 'row-retired'}>
      <th scope="row" class="number">
        {count(step)}
      </th>
      <td class="number">{attempt}</td>
      <td>
        <code title={sha256}>{sha256.slice(0, 12)}</code>
      </td>
      <td class="number">{size > 0 ? bytes(size) : undefinedMark}</td>
      <td>
        {there ? (
          kept.join(', ') || undefinedMark
        ) : (
          <span title="Retention has removed its file">removed</span>
        )}
      </td>
      <td>
        {there && (
          <a href={apiPath(`/artifacts/${sha256}`)} download={`${sha256.slice(0, 12)}.safetensors`}>
            Download
          </a>
        )}
      </td>
    </tr>
  );
}

export function Configuration({ json }: { json: string }) {
  const rows = flatten(parsed(json));
  if (rows.length === 0) return null;
  return (
    <details class="configuration">
      <summary>
        Configuration <small>{rows.length} fields</small>
      </summary>
      <CopyButton label="Copy JSON" text={() => json} />
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Configuration">
        <table class="table table-small">
          <tbody>
            {rows.map(([path, value]) => (
              <tr key={path}>
                <th scope="row">
                  <code>{path}</code>
                </th>
                <td>
                  <code>{value}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
