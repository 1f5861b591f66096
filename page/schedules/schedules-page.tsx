// Shows schedules (L87): when each fires and what its firings opened; and carries out what a person
// does to one.
import { raw } from 'hono/html';
import { ClientProblem } from '../../client/faces/start.ts';
import type { Schedules } from '../../client/faces/types.ts';
import { Icon } from '../primitives.tsx';
import { Layout } from '../layout.tsx';
import { SCHEDULES, type SchedulesFeed } from './schedules-feed.tsx';

export function schedulesPage({ parts, ring }: SchedulesFeed) {
  const into = (container: string) => raw(parts.flatMap((part) => (part.into === container ? part.html : [])).join(''));
  return (
    <Layout
      title="Schedules"
      feed={{ path: '/schedules/live?', from: `${ring.epoch}.${ring.now}` }}
      scripts={['live.js', 'times.js', 'keys.js']}
      at="schedules"
      styles={['sessions.css']}
      banners={into(SCHEDULES.banners)}
    >
      <header class="row fleet-head">
        <h1>Schedules</h1>
        <button type="button" class="far" data-needs="steer" data-opens="new-schedule" aria-haspopup="dialog">
          <Icon name="plus" />
          New schedule
        </button>
      </header>
      <dialog id="new-schedule" aria-labelledby="new-schedule-title" data-from="/schedules/new" />
      <dialog id="edit-schedule" aria-labelledby="edit-schedule-title" />
      <div id={SCHEDULES.count} data-fresh>
        {into(SCHEDULES.count)}
      </div>
      <table class="schedules">
        <thead>
          <tr>
            {['Schedule', 'Times', 'Next', 'Past runs', 'State', 'Actions'].map((heading) => (
              <th scope="col">{heading}</th>
            ))}
          </tr>
        </thead>
        <tbody id={SCHEDULES.rows} data-fresh>
          {into(SCHEDULES.rows)}
        </tbody>
      </table>
    </Layout>
  );
}

type Acting = Pick<Schedules, 'pause' | 'resume' | 'delete' | 'trigger'>;

const acts: Readonly<Record<string, (schedules: Acting, name: string) => Promise<string>>> = {
  pause: async (schedules, name) => {
    await schedules.pause(name);
    return 'Schedule paused.';
  },
  resume: async (schedules, name) => {
    await schedules.resume(name);
    return 'Schedule resumed.';
  },
  delete: async (schedules, name) => {
    await schedules.delete(name);
    return 'Schedule deleted. Its sessions are kept.';
  },
  trigger: async (schedules, name) => {
    const { outcome, session } = await schedules.trigger(name);
    if (outcome === 'started') return `Started session ${session ?? 'unknown'}.`;
    return `The previous run is still going, so this one ${outcome === 'skipped' ? 'was skipped' : 'will run after it'}.`;
  },
};

export const isScheduleAction = (name: string): boolean => Object.hasOwn(acts, name);

/** Returns a sentence for the person who asked. Throws ClientProblem. */
export async function actOnSchedule(schedules: Acting, name: string, action: string): Promise<string> {
  const act = acts[action];
  if (!act) throw new ClientProblem('refused', `there is no action ${action}`);
  return act(schedules, name);
}
