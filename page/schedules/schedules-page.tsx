// Shows schedules (L87): when each fires and what its firings opened. Carries out what a person
// does to one, and offers the form of a new one.
import { raw } from 'hono/html';
import { ClientProblem } from '../../client/faces/start.ts';
import type { Schedules, OverlapPolicy } from '../../client/faces/types.ts';
import { Icon, DialogHead } from '../primitives.tsx';
import { Layout } from '../layout.tsx';
import { SCHEDULES, type SchedulesFeed } from './schedules-feed.tsx';
import { z } from 'zod';
import { overlapPolicies } from '../../client/faces/schedules.ts';
import { present } from '../../client/faces/basics.ts';
import type { PagePorts } from '../ports.ts';
import { readForm } from '../session/actions.ts';

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

const OVERLAPS: Readonly<Record<OverlapPolicy, string>> = {
  skip: 'leave the new firing out',
  'buffer-one': 'one comes after it',
  'buffer-all': 'all come after it',
  'cancel-other': 'end the one that runs',
  'allow-all': 'run both',
};

/** Offers the folder of the newest session. */
export async function newScheduleForm({ page }: Pick<PagePorts, 'page'>) {
  const { sessions } = await page({ size: 1 });
  return (
    <form id="schedule-form" hx-post="/schedules" hx-target="#schedule-said">
      <DialogHead id="new-schedule-title" title="New schedule" />
      <label>
        <span>Task</span>
        <textarea name="task" rows={3} required maxlength={100_000} autofocus />
      </label>
      <div class="fields">
        <label>
          <span>Schedule (cron)</span>
          <input name="cron" required placeholder="0 6 * * 1" autocomplete="off" spellcheck={false} />
        </label>
        <label>
          <span>Time zone</span>
          <input name="timeZone" placeholder="UTC" autocomplete="off" spellcheck={false} />
        </label>
        <label>
          <span>Name</span>
          <input name="name" placeholder="one is made" autocomplete="off" spellcheck={false} />
        </label>
        <label>
          <span>Folder (on the worker)</span>
          <input name="cwd" required value={sessions[0]?.cwd ?? ''} autocomplete="off" spellcheck={false} />
        </label>
        <OverlapField />
      </div>
      <p class="quiet">Scheduled runs are unattended: anything that needs approval is denied.</p>
      <p id="schedule-said" role="alert" />
      <div class="buttons">
        <button class="first">Create</button>
      </div>
    </form>
  );
}

function OverlapField({ now }: { readonly now?: OverlapPolicy }) {
  return (
    <label>
      <span>If the previous run is still going</span>
      <select name="overlap">
        {overlapPolicies.map((policy) => (
          <option value={policy} selected={policy === now}>
            {OVERLAPS[policy]}
          </option>
        ))}
      </select>
    </label>
  );
}

const optional = z.string().transform((text) => (text.trim() === '' ? undefined : text.trim()));
const form = z.object({
  task: z.string(),
  cron: z.string(),
  timeZone: optional,
  name: optional,
  cwd: optional,
  overlap: z.enum(overlapPolicies),
});

/** The form of a schedule that is there. */
export async function editScheduleForm({ schedules }: Pick<PagePorts, 'schedules'>, name: string) {
  const { task, cron, timeZone, overlap, options } = await schedules.settings(name);
  const amount = (value: number | null | undefined): string => (value == null ? '' : String(value));
  return (
    <form id="edit-schedule-form" hx-post={`/schedules/${encodeURIComponent(name)}/update`} hx-target="#edit-said">
      <DialogHead id="edit-schedule-title" title={`Change ${name}`} />
      <label>
        <span>Task</span>
        <textarea name="task" rows={3} required maxlength={100_000}>
          {task}
        </textarea>
      </label>
      <div class="fields">
        <label>
          <span>Schedule (cron)</span>
          <input name="cron" required value={cron} autocomplete="off" spellcheck={false} />
        </label>
        <label>
          <span>Time zone</span>
          <input name="timeZone" value={timeZone} autocomplete="off" spellcheck={false} />
        </label>
        {overlap === null ? null : <OverlapField now={overlap} />}
        <label>
          <span>Model</span>
          <input name="model" value={options.model ?? ''} placeholder="as the worker says" autocomplete="off" />
        </label>
        <label>
          <span>Turn limit</span>
          <input name="maxTurns" value={amount(options.maxTurns)} inputmode="numeric" autocomplete="off" />
        </label>
        <label>
          <span>Budget (USD)</span>
          <input name="maxBudgetUsd" value={amount(options.maxBudgetUsd)} inputmode="decimal" autocomplete="off" />
        </label>
      </div>
      <p class="quiet">Takes effect from the next run. Leave a field blank to use the worker’s default.</p>
      <p id="edit-said" role="alert" />
      <div class="buttons">
        <button class="first">Change</button>
      </div>
    </form>
  );
}

const limit = z
  .string()
  .transform((text) => (text.trim() === '' ? null : Number(text)))
  .refine((value) => value === null || Number.isFinite(value), 'is no number');
const changes = z.object({
  task: z.string(),
  cron: z.string(),
  timeZone: z.string().transform((text) => text.trim() || 'UTC'),
  overlap: z.enum(overlapPolicies).optional(),
  model: z.string().transform((text) => text.trim() || null),
  maxTurns: limit,
  maxBudgetUsd: limit,
});

/** Throws ClientProblem. */
export async function changeSchedule(
  schedules: Pick<Schedules, 'settings' | 'update'>,
  name: string,
  body: unknown,
): Promise<void> {
  const { cron, model, maxTurns, maxBudgetUsd, ...rest } = readForm(changes, body);
  const { options: now } = await schedules.settings(name);
  // An open session is told null, whose own option an empty field leaves as it is.
  const differs = <Value,>(value: Value | null, before: Value | null = null) => (value === before ? undefined : value);
  const options = present({
    model: differs(model, now.model),
    maxTurns: differs(maxTurns, now.maxTurns),
    maxBudgetUsd: differs(maxBudgetUsd, now.maxBudgetUsd),
  });
  await schedules.update(name, { ...present(rest), cron: cron.trim(), options });
}

/** Creates the schedule and returns its name. Throws ClientProblem. */
export async function createSchedule({ create }: Pick<Schedules, 'create'>, body: unknown): Promise<string> {
  const { cron, task, ...options } = readForm(form, body);
  const { name } = await create(cron.trim(), task, present(options));
  return name;
}
