// Shows all sessions: what waits for a person on top, the number in each phase, and a live page of
// them.
import { raw } from 'hono/html';
import { Layout } from '../layout.tsx';
import { FLEET, type FleetFeed } from './fleet-feed.tsx';

export function fleetPage(feed: FleetFeed, view: string) {
  const asked = new URLSearchParams(view);
  const filter = asked.get('q') ?? '';
  const { found, parts, ring } = feed;
  const into = (container: string) => raw(parts.flatMap((part) => (part.into === container ? part.html : [])).join(''));
  const from = `${ring.epoch}.${ring.now}`;
  return (
    <Layout
      title="Sessions"
      feed={{ path: `/live?${view}&`, from }}
      scripts={['live.js', 'times.js', 'keys.js', 'fleet.js']}
      at="sessions"
      banners={into(FLEET.banners)}
      filter={filter}
    >
      <h1>Sessions</h1>
      <section id={FLEET.inbox} aria-label="Inbox" data-fresh>
        {into(FLEET.inbox)}
      </section>
      <div id={FLEET.counts} data-fresh>
        {into(FLEET.counts)}
      </div>
      {found.note === undefined ? null : <p class="quiet">{found.note}</p>}
      <div class="buttons" id="bulk" role="group" aria-label="With the selected sessions">
        {['interrupt', 'resume', 'cancel'].map((action) => (
          <button type="button" data-bulk={action} disabled>
            {action[0]?.toUpperCase() + action.slice(1)}
          </button>
        ))}
        <span id="picked" class="quiet" role="status">
          None selected
        </span>
      </div>
      <table class="fleet">
        <thead>
          <tr>
            <th class="pick">
              <input type="checkbox" id="all" aria-label="Select all on this page" />
            </th>
            {['Task', 'Phase', 'Runs', 'Turns', 'Cost', 'Last', 'Begun'].map((heading) => (
              <th scope="col">{heading}</th>
            ))}
          </tr>
        </thead>
        <tbody id={FLEET.rows} data-fresh>
          {into(FLEET.rows)}
        </tbody>
      </table>
      {found.sessions.length === 0 ? (
        <p class="quiet">{filter === '' ? 'No sessions yet.' : 'No session is like that.'}</p>
      ) : null}
      {found.next === null ? null : (
        <p class="more">
          <a rel="next" href={`/?${new URLSearchParams({ q: filter, after: found.next }).toString()}`}>
            Older sessions
          </a>
        </p>
      )}
    </Layout>
  );
}
