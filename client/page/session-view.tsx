// One session: its runs with what they came to and cost, then its transcript.
import { pairedOutcomes } from '../render/tool-lines.ts';
import { plain } from '../../activities/text.ts';
import { money, shortAge, shortTime } from '../units.ts';
import type { RunOutcome } from '../sessions/outcome.ts';
import { isUnderWay } from '../sessions/info.ts';
import type { SessionReading } from '../sessions/read.ts';
import { EntryView } from './entry-view.tsx';
import { Layout, Phase, Reason } from './layout.tsx';

const REFRESH_SECONDS = 3;
/** Entries; the whole is in `perdure show`. */
const MOST = 400;

export function SessionView({ reading, now }: { readonly reading: SessionReading; readonly now: number }) {
  const { description, runs, entries, problems } = reading;
  const busy = isUnderWay(description);
  const paired = pairedOutcomes(entries);
  const hidden = Math.max(0, entries.length - MOST);
  return (
    <Layout
      title={plain(description.title || description.session)}
      {...(busy ? { refreshSeconds: REFRESH_SECONDS } : {})}
    >
      <p class="back">
        <a href="/">All sessions</a>
      </p>
      <header>
        <h1>{plain(description.title || description.session)}</h1>
        <p class="quiet">
          <Phase session={description} /> {plain(description.session)} · {plain(description.cwd)} ·{' '}
          {shortAge(now - description.startedAt)} old
        </p>
      </header>
      {problems.map(({ problem }) => (
        <p class="problem">{plain(problem)}</p>
      ))}
      {runs.length === 0 ? null : <Runs runs={runs} />}
      <h2>Transcript</h2>
      {hidden > 0 ? (
        <p class="quiet">{`The first ${hidden} entries are not shown: perdure show ${description.session}`}</p>
      ) : null}
      {entries.length === 0 ? <p class="quiet">Nothing is stored yet.</p> : null}
      {entries.slice(hidden).map((entry) => (
        <EntryView entry={entry} bodies={reading.bodies} paired={paired} />
      ))}
    </Layout>
  );
}

function Runs({ runs }: { readonly runs: readonly RunOutcome[] }) {
  return (
    <div class="wide">
      <table>
        <thead>
          <tr>
            {['Run', 'Ended', 'Turns', 'Tokens in / out', 'Cost', 'Time', 'Transitions'].map((heading) => (
              <th>{heading}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.map((run, index) => (
            <tr>
              <td>{index + 1}</td>
              <td>
                <Reason reason={run.reason} />
                {run.detail === undefined ? null : <small>{plain(run.detail)}</small>}
              </td>
              <td>{run.turns}</td>
              <td>{tokens(run)}</td>
              <td>{money(run.costUsd)}</td>
              <td>{shortTime(run.durationMs)}</td>
              <td>{transitions(run)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function tokens({ usage }: RunOutcome): string {
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  return `${input.toLocaleString('en')} / ${usage.output.toLocaleString('en')}`;
}

/** next_turn × 3, model_fallback × 1 */
function transitions(run: RunOutcome): string {
  const counts = new Map<string, number>();
  for (const { reason } of run.transitions) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, times]) => `${reason} × ${times}`).join(', ') || '–';
}
