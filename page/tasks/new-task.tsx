// The form of a new task, which every page opens: what to do, where, with which model, what it has
// to ask before, and how much it may take.
import { z } from 'zod';
import { showUnseen } from '../../system/text.ts';
import type { SessionInfo, QuerySource, PermissionMode } from '../../client/faces/types.ts';
import { present } from '../../client/faces/basics.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { permissionModes } from '../../client/faces/options.ts';
import { DialogHead } from '../primitives.tsx';
import type { PagePorts } from '../ports.ts';

const MODES: Readonly<Record<PermissionMode, string>> = {
  default: 'default: ask before edits, commands and hosts',
  acceptEdits: 'acceptEdits: ask before commands and hosts',
  plan: 'plan: read-only, plans only',
  dontAsk: 'dontAsk: deny what would need approval',
  bypass: 'bypass: allow everything',
};

/** Most folders, models and tags that are offered. */
const MOST_OFFERED = 20;

/** Offers what the newest sessions were begun with. */
export async function newTaskForm({ page }: Pick<PagePorts, 'page'>) {
  const { sessions } = await page({ size: 100 });
  // Sessions that a person began come first: forks and programs have folders of their own.
  const chosen = sessions.filter(({ forkedFrom, facts }) => !forkedFrom && isOfPerson(facts?.querySource));
  const folders = offers([...chosen, ...sessions.filter(({ forkedFrom }) => !forkedFrom)], ({ cwd }) => cwd);
  const models = offers(sessions, ({ facts }) => facts?.model);
  return (
    <form id="task-form" hx-post="/tasks" hx-target="#task-said">
      <DialogHead id="new-task-title" title="New task" />
      <label>
        <span>Task</span>
        <textarea name="task" rows={4} required maxlength={100_000} autofocus placeholder="What should the agent do?" />
      </label>
      <div class="fields">
        <label>
          <span>Folder (on the worker)</span>
          <input
            name="cwd"
            required
            list="task-folders"
            value={folders[0] ?? ''}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
        <label>
          <span>Model</span>
          <input name="model" list="task-models" placeholder="worker default" autocomplete="off" spellcheck={false} />
        </label>
        <label>
          <span>Permissions</span>
          <select name="permissionMode">
            <option value="">worker default</option>
            {permissionModes.map((mode) => (
              <option value={mode}>{MODES[mode]}</option>
            ))}
          </select>
        </label>
      </div>
      <div class="fields">
        <label>
          <span>Budget (USD)</span>
          <input name="maxBudgetUsd" inputmode="decimal" autocomplete="off" />
        </label>
        <label>
          <span>Turn limit</span>
          <input name="maxTurns" inputmode="numeric" autocomplete="off" />
        </label>
        <label>
          <span>Tags (name=value)</span>
          <input name="tags" autocomplete="off" spellcheck={false} placeholder="team=web kind=fix" />
        </label>
      </div>
      <p id="task-said" role="alert" />
      <div class="buttons">
        <button class="first">Start</button>
        <button type="button" data-copy-command>
          Copy as command
        </button>
      </div>
      <Offers id="task-folders" values={folders} />
      <Offers id="task-models" values={models} />
    </form>
  );
}

const isOfPerson = (source: QuerySource | undefined): boolean => source === 'page' || source === 'cli';

function Offers({ id, values }: { readonly id: string; readonly values: readonly string[] }) {
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option value={value}>{showUnseen(value)}</option>
      ))}
    </datalist>
  );
}

function offers(
  sessions: readonly SessionInfo[],
  value: (session: SessionInfo) => string | undefined,
): readonly string[] {
  return [...new Set(sessions.flatMap((session) => value(session) || []))].slice(0, MOST_OFFERED);
}

const text = z.string();
const amount = text
  .transform((value) => (value.trim() === '' ? undefined : Number(value)))
  .refine((value) => value === undefined || Number.isFinite(value), 'is no number');
const optional = text.transform((value) => (value.trim() === '' ? undefined : value.trim()));
const form = z.object({
  task: text,
  cwd: optional,
  model: optional,
  permissionMode: z.union([z.literal('').transform(() => undefined), z.enum(permissionModes)]),
  maxBudgetUsd: amount,
  maxTurns: amount,
  tags: text.transform(readTags),
});

/** Starts the task and returns its session. Throws ClientProblem. */
export async function startTask({ start }: Pick<PagePorts, 'start'>, body: unknown): Promise<string> {
  const { success, data, error } = form.safeParse(body);
  if (!success) {
    const [issue] = error.issues;
    throw new ClientProblem('refused', `${issue?.path.join('.')} ${issue?.message}`);
  }
  const { task, ...options } = data;
  if (task.trim() === '') throw new ClientProblem('refused', 'the task is empty: say what to do');
  const { session } = await start(task, { ...present(options), querySource: 'page' });
  return session;
}

/** Reads `team=web kind=fix`; the client checks names and values. */
function readTags(value: string, context: z.RefinementCtx): Readonly<Record<string, string>> | undefined {
  const parts = value.split(/[\s,]+/).filter((part) => part !== '');
  if (parts.length === 0) return undefined;
  const wrong = parts.find((part) => !/^[^=]+=.+$/.test(part));
  if (wrong !== undefined) context.addIssue(`has ${JSON.stringify(wrong)}: write name=value`);
  return Object.fromEntries(parts.map((part) => [part.split('=', 1)[0] ?? '', part.slice(part.indexOf('=') + 1)]));
}
