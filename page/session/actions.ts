// Carries out what a person asks of a session: checks it, sends it, and answers in a sentence. It
// says so when another person was faster.
import { z } from 'zod';
import { createLimit } from '../../system/async.ts';
import { reasonOf, showUnseen } from '../../system/text.ts';
import type { SessionId, NewLimits } from '../../client/faces/types.ts';
import { present, formatCount, shortAge } from '../../client/faces/basics.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { totalTokens } from '../../client/faces/contract.ts';
import { permissionModes, rewoundPartsText, turnsText } from '../../client/faces/options.ts';
import { transcriptItems, sumSpend } from '../../client/faces/turns.ts';
import { newMessageId } from '../../client/faces/sessions.ts';
import { asideCost, createBodyReader } from '../../client/faces/words.ts';
import { callMethod, type Operation, operations } from '../../client/operations/operations.ts';
import type { PendingMessage } from '../feed/standing.tsx';
import { refuseSteering } from '../api/problems.ts';
import type { Role } from '../hosting/people.ts';
import type { PagePorts } from '../ports.ts';
import { requestText, personName } from './lately.tsx';
import { rewindChoice, rewindForm } from './rewind-preview.tsx';

/**
 * `message` is on its way; `link` leads to what came of it; `next` is an action that may follow.
 */
type Done = {
  readonly said: string;
  readonly message?: PendingMessage;
  readonly link?: string;
  readonly next?: { readonly action: string; readonly label: string };
};

const text = z.string();
const sent = z.object({ text, now: z.literal('true').optional() });
/** Without `input` the call runs as it is. */
const allowed = z.object({ call: text, inputHash: text, input: text.optional() });
const denied = z.object({ call: text, reason: text.optional() });
/** The model is told this where a person gives no reason. */
const NO_REASON = 'no reason was given';
const answered = z.object({ call: text, answer: text });
/** `at`: the fork has what was before it; absent or empty: all that is there now. */
const forkForm = z
  .object({ at: text, where: z.enum(['own', 'same']), folder: text, prompt: text })
  .partial()
  .transform(({ at, where, folder = '', prompt = '' }) => ({
    ...(at && { at }),
    ...(where === 'same' ? { files: false as const } : folder.trim() !== '' && { files: folder.trim() }),
    ...(prompt.trim() !== '' && { prompt }),
  }));
const questionForm = z.object({ question: text });

/** A field of a form; an empty one counts as not given. */
const amount = text
  .transform((value) => (value.trim() === '' ? undefined : Number(value)))
  .refine((value) => value === undefined || Number.isFinite(value), 'is no number')
  .optional();
const more = z
  .object({ maxTurns: amount, maxBudgetUsd: amount, maxTokens: amount, minutes: amount })
  .transform((limits) => present(limits));
const lines = text.transform((value) => value.split('\n').flatMap((line) => line.trim() || []));
const option = text.transform((value) =>
  value.trim() === '' ? undefined : value.trim() === 'none' ? null : value.trim(),
);
const mode = z.union([z.literal('').transform(() => undefined), z.enum(permissionModes)]);
const next = z
  .object({ model: option, permissionMode: mode, allow: lines, ask: lines, deny: lines })
  .transform(({ model, permissionMode, ...rules }) => ({ changes: present({ model, permissionMode }), rules }));

/** Tells whether the run has spent what it may now. */
async function isExceeded(ports: PagePorts, session: SessionId, limits: NewLimits): Promise<boolean> {
  const items = transcriptItems();
  items.add((await ports.read(session)).entries);
  const { turns, spend } = sumSpend(items.all).run;
  const { maxTurns = Infinity, maxBudgetUsd = Infinity, maxTokens = Infinity } = limits;
  return turns > maxTurns || (spend.usd ?? 0) >= maxBudgetUsd || totalTokens(spend.usage) >= maxTokens;
}

const isNone = (rules: Readonly<Record<string, readonly string[]>>): boolean =>
  Object.values(rules).every((list) => list.length === 1 && list[0] === 'none');

type Act = (ports: PagePorts, session: SessionId, body: unknown, role: Role) => Promise<Done>;

/** An action without a form. */
const plainAction =
  (operation: Operation): Act =>
  async (ports, session) => {
    await callMethod(ports, operation, session, {});
    return { said: operation.done };
  };

const actions: Readonly<Record<string, Act>> = {
  send: async (ports, session, body) => {
    const form = readForm(sent, body);
    const now = form.now !== undefined;
    const message = { id: newMessageId(), text: form.text, now };
    await ports.send(session, form.text, { messageId: message.id, now, querySource: 'page' });
    return { said: now ? `${operations.send.done} It interrupts the run.` : operations.send.done, message };
  },
  aside: async (ports, session, body) => {
    const { question } = readForm(questionForm, body);
    const reply = await ports.askAside(session, question);
    return { said: `${showUnseen(reply.answer)}\n\n(${asideCost(reply)})` };
  },
  continue: async (ports, session) => {
    const message = { id: newMessageId(), text: CONTINUE, now: false };
    await ports.send(session, message.text, { messageId: message.id, querySource: 'page' });
    return { said: 'Continuing.', message };
  },
  again: async (ports, session) => {
    const { prompt, options } = await readBeginning(ports, session);
    const handle = await ports.start(prompt, { ...options, querySource: 'page' });
    return { said: 'Started as a new session.', link: `/sessions/${handle.session}` };
  },
  fork: async (ports, session, body) => {
    const { session: fork, cwd, files } = await ports.fork(session, readForm(forkForm, body));
    const where = files ? `Its files are in ${showUnseen(cwd)}.` : `It works in the same folder, ${showUnseen(cwd)}.`;
    return { said: `${operations.fork.done} ${where}`, link: `/sessions/${fork}` };
  },
  interrupt: plainAction(operations.interrupt),
  resume: plainAction(operations.resume),
  cancel: plainAction(operations.cancel),
  approve: async (ports, session, body, role) => {
    const { call, inputHash, input } = readForm(allowed, body);
    const waiting = (await ports.approvals(session)).find((one) => one.call === call);
    if (waiting && waiting.inputHash !== inputHash)
      throw new ClientProblem('refused', `the input of call ${call} is another one now: look at it again`);
    if (waiting?.problem !== undefined)
      throw new ClientProblem('refused', `call ${call} can only be denied: ${waiting.problem}`);
    const edited = input === undefined ? waiting?.input : parseInput(input);
    const same = waiting !== undefined && JSON.stringify(waiting.input) === JSON.stringify(edited);
    const request = same || waiting === undefined ? {} : { input: edited };
    refuseSteering(role, operations.approve, { ...request, call });
    await firstDecision(ports, session, call, () => ports.approve(session, call, request));
    return { said: same ? operations.approve.done : 'Allowed, with the input as you changed it.' };
  },
  deny: async (ports, session, body) => {
    const { call, reason = '' } = readForm(denied, body);
    await firstDecision(ports, session, call, () => ports.deny(session, call, reason.trim() || NO_REASON));
    return { said: operations.deny.done };
  },
  answer: async (ports, session, body) => {
    const { call, answer } = readForm(answered, body);
    await firstDecision(ports, session, call, () => ports.answer(session, call, answer));
    return { said: operations.answer.done };
  },
  topUp: async (ports, session, body) => {
    const { minutes, ...amounts } = readForm(more, body);
    const limits = { ...amounts, ...(minutes === undefined ? {} : { timeoutMs: minutes * 60_000 }) };
    await ports.topUp(session, { ...limits, exact: true });
    // It is set, whether or not the transcript can be read now.
    const exceeded = await isExceeded(ports, session, limits).catch(() => false);
    if (!exceeded) return { said: operations.topUp.done };
    return {
      said: `${operations.topUp.done} The run is already over it and stops after the current model call.`,
      next: { action: 'interrupt', label: 'Stop now' },
    };
  },
  options: async (ports, session, body) => {
    const { changes, rules } = readForm(next, body);
    const named = Object.fromEntries(Object.entries(rules).filter(([, list]) => list.length > 0));
    const permissions = Object.keys(named).length === 0 ? {} : { permissions: isNone(named) ? null : named };
    await ports.setOptions(session, { ...changes, ...permissions });
    return { said: operations.setOptions.done };
  },
  rewind: async (ports, session, body) => {
    const { rewound } = await ports.rewind(session, rewindChoice(readForm(rewindForm, body)));
    return { said: `Went back: ${rewound ? rewoundPartsText(rewound) : 'nothing'}.`, next: UNDO_REWIND };
  },
  'undo-rewind': async (ports, session) => {
    const { turns, ...rewound } = await ports.undoRewind(session);
    return { said: `Went back again: ${rewoundPartsText(rewound)}${turnsText(turns)}.`, next: UNDO_REWIND };
  },
};

const UNDO_REWIND = { action: 'undo-rewind', label: 'Undo' };
const CONTINUE = 'Continue where you stopped.';

/** Returns the first prompt of a session and the options that it was started with. */
async function readBeginning(ports: PagePorts, session: SessionId) {
  const [{ entries }, options] = await Promise.all([ports.read(session), ports.startOptions(session)]);
  const first = entries.find((entry) => entry.kind === 'user');
  if (first === undefined || options === null)
    throw new ClientProblem('refused', 'its beginning is not known any longer: start a new task by hand');
  if ((first.body.media ?? []).length > 0)
    throw new ClientProblem('refused', 'its prompt has images or documents: start a new task by hand');
  if (first.body.kind === 'text') return { prompt: first.body.text, options };
  const prompt = (await createBodyReader(ports.store)([first])).get(first.body.hash);
  if (prompt === undefined) throw new ClientProblem('refused', 'its prompt cannot be read');
  return { prompt, options };
}

export const isAction = (name: string): boolean => Object.hasOwn(actions, name);

/** Throws ClientProblem, a sentence for the person who asked. */
export async function actOnSession(
  { ports, role }: { readonly ports: PagePorts; readonly role: Role },
  session: SessionId,
  name: string,
  body: unknown,
): Promise<Done> {
  const action = actions[name];
  if (!action) throw new ClientProblem('refused', `there is no action ${name}`);
  return action(ports, session, body, role);
}

/** `count` is how many the person was asked about: the filter has to match no more than that. */
const several = z.union([
  z.object({ action: z.enum(['interrupt', 'resume', 'cancel']), sessions: z.array(text).min(1).max(1_000) }),
  z.object({ action: z.enum(['interrupt', 'resume', 'cancel']), filter: text, count: z.int().positive().max(1_000) }),
]);

/** Most requests on the way to the server at once. */
const TOGETHER = 10;

/** Does the same to many sessions. The sentence says how many it reached, and why not the rest. */
export async function actOnMany(
  ports: PagePorts,
  body: unknown,
): Promise<{ readonly said: string; readonly ok: boolean }> {
  const request = readForm(several, body);
  const { action } = request;
  const sessions = 'sessions' in request ? request.sessions : await matchingIds(ports, request);
  if (sessions.length === 0) throw new ClientProblem('refused', 'no session matches now: nothing was done');
  const few = createLimit(TOGETHER);
  const requests = sessions.map((session) => few(() => ports[action](session)));
  const failed = (await Promise.allSettled(requests)).flatMap((one) =>
    one.status === 'rejected' ? [reasonOf(one.reason)] : [],
  );
  const done = sessions.length - failed.length;
  // The page calls it as its button does.
  const sentence = `Asked ${formatCount(done, 'session')} to ${action === 'cancel' ? 'end' : action}.`;
  if (failed.length === 0) return { said: sentence, ok: true };
  return { said: `${sentence} ${formatCount(failed.length, 'session')} not: ${failed[0]}`, ok: false };
}

/** Pages that are read for a filter; a page may be empty and have a next one. */
const MOST_PAGES = 100;

/** Throws ClientProblem when more match now than the person was asked about. */
async function matchingIds(
  ports: Pick<PagePorts, 'page'>,
  { filter, count }: { readonly filter: string; readonly count: number },
): Promise<readonly string[]> {
  const found: string[] = [];
  let after: string | undefined;
  let pages = 0;
  do {
    const page = await ports.page(present({ filter, size: 1_000, after }));
    found.push(...page.sessions.map(({ session }) => session));
    after = page.next ?? undefined;
  } while (after !== undefined && found.length <= count && (pages += 1) < MOST_PAGES);
  if (found.length > count)
    throw new ClientProblem('refused', `more than the ${count} you were asked about match now: nothing was done`);
  return found;
}

/** Throws ClientProblem for a body of another shape. */
export function readForm<T>(schema: z.ZodType<T>, body: unknown): T {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  const where = error.issues[0];
  throw new ClientProblem('refused', `what was sent will not do: ${where?.path.join('.')} ${where?.message}`);
}

function parseInput(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ClientProblem('refused', `the input is not JSON: ${error.message}. Nothing was sent.`);
  }
}

/** Tells a person who decides second who was first. */
async function firstDecision(
  ports: PagePorts,
  session: SessionId,
  call: string,
  decide: () => Promise<unknown>,
): Promise<void> {
  try {
    await decide();
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    const { asked: requests } = await ports.recent(session);
    const first = requests.find((one) => 'call' in one && one.call === call);
    if (first === undefined) throw error;
    const ago = shortAge(Date.now() - first.at);
    throw new ClientProblem(
      'no_call',
      `another was first: ${requestText(first)} by ${personName(first.by)} ${ago} ago. Yours did nothing.`,
    );
  }
}
