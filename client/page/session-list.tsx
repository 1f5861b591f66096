// All sessions, newest first.
import { plain } from '../../activities/text.ts';
import { shortAge } from '../units.ts';
import type { SessionInfo } from '../sessions/info.ts';
import { Layout, Phase, Reason } from './layout.tsx';

export function SessionList({ sessions, now }: { readonly sessions: readonly SessionInfo[]; readonly now: number }) {
  const running = sessions.filter(({ phase }) => phase === 'running').length;
  const waiting = sessions.filter(({ phase }) => phase === 'waiting_approval').length;
  return (
    <Layout title="Sessions" scripts={['times.js', 'keys.js']}>
      <header>
        <h1>Sessions</h1>
        <p class="quiet">{`${sessions.length} shown, ${running} running, ${waiting} waiting for approval`}</p>
      </header>
      {sessions.length === 0 ? <p class="quiet">No sessions yet.</p> : <Table sessions={sessions} now={now} />}
    </Layout>
  );
}

function Table({ sessions, now }: { readonly sessions: readonly SessionInfo[]; readonly now: number }) {
  return (
    <div class="wide">
      <table>
        <thead>
          <tr>
            {['Task', 'Phase', 'Runs', 'Last', 'Age'].map((heading) => (
              <th>{heading}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <tr>
              <td>
                <a href={`/sessions/${encodeURIComponent(session.session)}`}>{plain(session.title) || '(no title)'}</a>
                <small>{plain(session.session)}</small>
              </td>
              <td>
                <Phase session={session} />
              </td>
              <td>{session.runs}</td>
              <td>
                <Reason reason={session.last?.terminal.reason ?? null} />
              </td>
              <td>{shortAge(now - session.startedAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
