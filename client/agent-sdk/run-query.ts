// Runs a query to its end: opens its session, sends the program's messages, and yields the answers.
// A program that stops reading, or aborts, interrupts what runs.
import { present, parseSessionId } from '../faces/basics.ts';
import { actOnAbort } from '../faces/sessions.ts';
import { ClientProblem } from '../faces/start.ts';
import { checkConfig } from '../faces/tools.ts';
import { createConfigReader, headOf, transcriptReader } from '../faces/history.ts';
import { createBodyReader } from '../faces/words.ts';
import type { Hash, SessionId, PermissionRules, OpenWorkplace, Workplace } from '../faces/types.ts';
import { answerApprovals, openWorkplace } from '../faces/workplace.ts';
import { type Log, formatLog } from '../../system/log.ts';
import { awaitInTime } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { openDataFolder, type Env } from '../../connection/data-folder.ts';
import { withAgentServers } from './agent-types.ts';
import { createApprovalHandler, createGrants, createQuestionHandler, type Grants } from './can-use-tool.ts';
import { forkUpTo, resumeAt, rewindFilesTo } from './sessions/fork.ts';
import {
  type ContinuedSession,
  findContinued,
  rememberSession,
  type ProgramQuery,
  type QueryRequest,
  identityOf,
  programQuery,
} from './program/program.ts';
import { openConversation } from './conversation.ts';
import { type PromptPart, promptParts } from './commands.ts';
import { readContextUsage } from './tasks/session-spend.ts';
import { clearResultMessage, initMessage, resetMessage } from './messages.ts';
import { contextOf, createHookRelay, createProgramHooks, type ProgramHooks } from './program-hooks.ts';
import { withExtraArgs } from './option-fates.ts';
import { ownEnv, requireKey, withSettings } from './query-settings.ts';
import { removeSession } from './sessions/remove-session.ts';
import { translateOptions } from './options.ts';
import { asksSomebody, inwardMode, withModeInEffect } from './names.ts';
import {
  countEarlierRuns,
  hasOpenRun,
  STOPPING_MS,
  stopRuns,
  type Running,
  sendMessages,
  type Steering,
} from './send-messages.ts';
import type { SDKMessage, SDKUserMessage } from './shapes/messages.ts';
import type { Options } from './shapes/options.ts';
import type { QueryPrompt } from './shapes/query.ts';
import { listSkills, withAgentSkills } from './skills.ts';
import { withInstances } from './tools.ts';
import { AbortError } from './values.ts';

/** The reason to end a query whose remaining messages the program does not read. */
export const READER_LEFT = new Error('nobody reads the rest');

/** Throws ClientProblem, SetupProblem, ConfigProblem, or AbortError once it is aborted. */
export async function* runQuery(
  prompt: QueryPrompt,
  options: Options,
  steering: Steering,
): AsyncGenerator<SDKMessage, void> {
  const { closeIfRead } = steering;
  const abortQuery = (): Promise<void> => {
    closeIfRead.abort(new AbortError('the query was aborted by its abortController'));
    return Promise.resolve();
  };
  const stopListening = actOnAbort(options.abortController?.signal, abortQuery);
  try {
    closeIfRead.signal.throwIfAborted();
    yield* openQuery(prompt, options, steering);
  } catch (error) {
    if (error !== READER_LEFT) throw error;
  } finally {
    await stopListening();
  }
}

type QueryContext = {
  readonly written: Options;
  readonly prepared: Options;
  readonly env: Env;
  readonly steering: Steering;
  readonly say: (line: string) => void;
};

async function* openQuery(prompt: QueryPrompt, options: Options, steering: Steering): AsyncGenerator<SDKMessage, void> {
  const tell = options.stderr ?? ((line: string) => process.stderr.write(`${line}\n`));
  const say = (line: string, isDetail?: true): void => void (isDetail || tell(line));
  const written = withSettings(withExtraArgs(options, say), say);
  const env = ownEnv(written.env);
  let cleared = 0;
  let before: ClearedSession | null = null;
  let open: OpenSession | null = null;
  for (const part of promptParts(prompt, steering.servers.isPending)) {
    const isFirst: boolean = cleared === 0 && open === null;
    const prepared = await prepareOptions(written, steering, isFirst ? say : () => undefined);
    const asking = { written, prepared, env, steering, say };
    const ran: OpenSession = yield* runPart(asking, { prompt, part, cleared, before, open });
    const by = part.clearedBy();
    before = by && { session: ran.session, by };
    open = part.goesOn() ? ran : null;
    steering.changes = { ...steering.sent, ...steering.changes };
    if (by) cleared += 1;
  }
}

/** Returns the options with the servers that are in effect now, connected. */
async function prepareOptions(written: Options, { servers }: Steering, say: (line: string) => void): Promise<Options> {
  const { mcpServers: own, ...others } = written;
  const options = { ...others, ...present({ mcpServers: servers.servers(own) }) };
  const withServers = withAgentServers(withModeInEffect(options, say), say);
  return withAgentSkills(await withInstances(withServers, say), say);
}

/** A session of the query that is open, and what is known of the query. */
type OpenSession = { readonly session: string; readonly program: ProgramQuery };

/** The session that a `/clear` left, and the message that asked for it. */
type ClearedSession = { readonly session: string; readonly by: Partial<SDKUserMessage> };

/**
 * `cleared` counts the sessions that `/clear` left, and `before` is the last of them. `open` is the
 * session that goes on with another worker, or null.
 */
type PartContext = {
  readonly prompt: QueryPrompt;
  readonly part: PromptPart;
  readonly cleared: number;
  readonly before: ClearedSession | null;
  readonly open: OpenSession | null;
};

/** Runs one part of the prompt in a session of its own, and returns the session. */
async function* runPart(
  { written, prepared, env, steering, say }: QueryContext,
  { prompt, part, cleared, before, open }: PartContext,
): AsyncGenerator<SDKMessage, OpenSession> {
  const { cwd = process.cwd() } = written;
  const relay = createHookRelay();
  const sayIfFirst = cleared === 0 && open === null ? say : () => undefined;
  const translated = translateOptions(prepared, sayIfFirst, { afterClear: cleared > 0, relay });
  requireKey(env, written.env !== undefined);
  const isFirst = cleared === 0 && open === null;
  const forks = isFirst && prepared.forkSession === true;
  const config = checkConfig(translated.config, 'the options of query()');
  const chosen = { config, source: { kind: 'given' }, explicit: true } as const;
  const where = { root: openDataFolder(env).root, cwd, config };
  const request = {
    identity: identityOf(prompt, written, cwd),
    program: env['PERDURE_SESSION'] || undefined,
    session: prepared.resume === undefined || forks ? prepared.sessionId : undefined,
    resume: forks ? undefined : prepared.resume,
  };
  if (prepared.persistSession === false) checkUnkept(prepared, request.program);
  const initialProgram =
    open?.program ?? programQuery(where.root, cleared === 0 ? request : afterClear(request, cleared), say);
  // The previous worker has reported everything up to here.
  const program = open ? { ...initialProgram, isKnown: false, received: 0 } : initialProgram;
  let staysOpen = false;
  try {
    const { resume: _r, continue: _c, sessionId: _s, ...afresh } = prepared;
    const found = prepared.continue === true && isFirst ? await findContinued(where, program, { env, say }) : null;
    const origin = forks ? (found?.session ?? prepared.resume) : undefined;
    const resumed = open?.session ?? (origin === undefined ? found?.session : program.session);
    const options: Options = resumed ? { ...afresh, resume: resumed } : cleared > 0 ? afresh : prepared;
    const session = parseSessionId(options.resume ?? options.sessionId ?? program.session);
    const log: Log = (_, message, fields) => say(formatLog(message, fields));
    const workplace = await openAndCloseFound({ env, chosen, session, anywhere: false, say, log }, found);
    rememberSession(where, session);
    const goesOn = open !== null;
    const running = { workplace, program, options, runOptions: translated.run, steering, relay, goesOn, say };
    yield* runSession({ ...running, ...present({ origin }) }, part, before);
    staysOpen = part.goesOn();
    return { session, program: initialProgram };
  } finally {
    if (!staysOpen) program.end();
  }
}

/** Names the session after a `/clear`: the same one when the program is started again. */
function afterClear({ identity, program, session, resume }: QueryRequest, cleared: number): QueryRequest {
  const named = session === undefined ? undefined : `${session}-cleared-${cleared}`;
  const again = JSON.stringify([identity, resume, cleared]);
  return { identity: again, program, session: named };
}

/**
 * Throws ClientProblem `refused` for an option that names a session to go on with, which
 * `persistSession: false` would delete.
 */
function checkUnkept({ resume, continue: goesOn, sessionId }: Options, program: string | undefined): void {
  const names = { resume, continue: goesOn || undefined, sessionId, PERDURE_SESSION: program };
  const other = Object.entries(names).find(([, value]) => value !== undefined)?.[0];
  if (other === undefined) return;
  const why = 'the one deletes a session at its end, and the other keeps it to go on with: give one of them';
  throw new ClientProblem('refused', `the options "persistSession: false" and "${other}" of query(): ${why}`);
}

async function openAndCloseFound(opening: OpenWorkplace, found: ContinuedSession | null): Promise<Workplace> {
  try {
    return await openWorkplace(opening);
  } finally {
    await found?.close();
  }
}

async function* runSession(
  running: Running,
  part: PromptPart,
  before: ClearedSession | null,
): AsyncGenerator<SDKMessage, void> {
  const { workplace, program, options, runOptions, say } = running;
  const { session } = workplace;
  let isOpen = false;
  let hasResult = false;
  let staysOpen = false;
  try {
    if (program.isKnown) say(`goes on with session ${session}, which was asked for before under this name`);
    await takeUp(running);
    isOpen = true;
    if (before) yield resetMessage(before.session, session, before.by.uuid);
    const skills = await listSkills(options);
    yield initMessage(
      session,
      options,
      runOptions.cwd,
      skills.map(({ name }) => name),
    );
    if (before) yield clearResultMessage(session);
    for await (const message of exchangeMessages(running, part)) {
      hasResult = message.type === 'result';
      yield message;
    }
    staysOpen = part.goesOn();
    // A session that a `/clear` began or ended may have no message.
    hasResult ||= before !== null || part.clearedBy() !== null;
  } finally {
    if (staysOpen) say(`session ${session} goes on with other servers`);
    else if (options.persistSession === false) await deleteUnkept(workplace, say);
    else if (isOpen && !hasResult) say(`session ${session} has no result: options.resume goes on with it`);
    await workplace.close();
  }
}

/** Forks the session that is asked for, or goes back in it. Throws ClientProblem. */
async function takeUp({ workplace, options, origin, program, goesOn }: Running): Promise<void> {
  if (options.resume === undefined) return;
  // A program that is started again goes on with what it began.
  const isBegun = program.isKnown || goesOn;
  if (origin !== undefined && !(isBegun && (await isThere(workplace)))) {
    await checkSessionExists(workplace, origin);
    const { session: newId, workers } = workplace;
    await forkUpTo(workplace, { origin, newId, upTo: options.resumeSessionAt, workers });
  } else await checkSessionExists(workplace);
  if (origin === undefined && !isBegun) await resumeAt(workplace, workplace.session, options);
}

async function isThere({ sessions, session }: Workplace): Promise<boolean> {
  return await sessions.describe(session).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ClientProblem && error.kind === 'no_session') return false;
      throw error;
    },
  );
}

/** Throws ClientProblem `no_session`, with the SDK's words, which programs look for. */
async function checkSessionExists({ sessions, session: own }: Workplace, session: string = own): Promise<void> {
  try {
    await sessions.describe(session);
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind !== 'no_session') throw error;
    const which = `No conversation found with session ID: ${session}`;
    throw new ClientProblem('no_session', `${which}: \`perdure list\` shows those there are`, { cause: error });
  }
}

async function deleteUnkept({ temporal, session }: Workplace, say: (line: string) => void): Promise<void> {
  try {
    await removeSession(temporal.client, session as SessionId);
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return;
    say(`session ${session} could not be deleted: ${reasonOf(error)}`);
  }
}

async function* exchangeMessages(running: Running, part: PromptPart): AsyncGenerator<SDKMessage, void> {
  const { workplace, program, options, steering, relay, say } = running;
  const { order } = relay;
  const session = workplace.session as SessionId;
  const hooks = programHooksOf(running);
  const answers = answerApprovals(workplace.sessions, {
    onApproval: createApprovalHandler(options.canUseTool, { grants: createSessionGrants(running), hooks, order, say }),
    onQuestion: createQuestionHandler(options.canUseTool, { hooks, order, say }),
  });
  const { signal } = steering.closeIfRead;
  const failed = AbortSignal.any([workplace.failed, answers.failed, signal]);
  // A program that cannot decide is not asked: its session runs in `dontAsk`.
  const onApproval: Parameters<typeof openConversation>[0]['onApproval'] = (event) =>
    asksSomebody(options) && answers.hear(event);
  const before = program.isKnown ? 0 : await countEarlierRuns(running);
  if (isResumed(running)) await runStartHooks(running, hooks);
  signal.throwIfAborted();
  steering.interrupt = () => workplace.sessions.interrupt(session);
  const sender = sendMessages(running, part.prompt);
  const conversation = openConversation(
    { ...conversationPortsOf(running, session), before, failed, onApproval },
    sender,
  );
  let goesOn = true;
  let staysOpen = false;
  let finishes = false;
  steering.stopTask = (id) => conversation.stopTask(id);
  steering.contextUsage = () => readContextUsage(workplace);
  steering.rewindFiles = (uuid, how) => rewindFilesTo(workplace, session, uuid, how);
  try {
    const isSilent = (): boolean => sender.sent.size === 0 && part.clearedBy() === null;
    // A message that was ready has been sent once the session has answered.
    finishes = isSilent() && (await hasOpenRun(running)) && isSilent();
    if (finishes) yield* conversation.goOn();
    finishes = false;
    for await (const item of sender.messages) {
      if ('error' in item) throw item.error;
      yield* conversation.answer(item.id);
    }
    goesOn = false;
    staysOpen = part.goesOn();
  } catch (error) {
    goesOn = error === signal.reason;
    throw error;
  } finally {
    await conversation.stop();
    steering.interrupt = () => Promise.resolve();
    steering.add = null;
    steering.stopTask = null;
    steering.contextUsage = null;
    steering.rewindFiles = null;
    steering.grantMode = null;
    const sent = [...sender.sent].filter((id) => !conversation.answered.has(id));
    const unanswered = finishes ? [null, ...sent] : sent;
    if (goesOn && unanswered.length > 0) await stopRuns(running, session, unanswered);
    const reason = part.clearedBy() === null ? 'other' : 'clear';
    if (!staysOpen) {
      const endHooks = programHooksOf(running, new AbortController().signal).tell('SessionEnd', { reason }, reason);
      await awaitInTime(endHooks, [], STOPPING_MS);
    }
    for (const problem of await answers.stop()) say(problem);
  }
}

function programHooksOf(
  { workplace, options, runOptions, steering, relay, say }: Running,
  signal: AbortSignal = steering.closeIfRead.signal,
): ProgramHooks {
  const { permissionMode: mode = 'default', hooks } = options;
  return createProgramHooks(hooks, { session: workplace.session, cwd: runOptions.cwd, mode, signal, relay, say });
}

const isResumed = ({ options, program, goesOn }: Running): boolean =>
  options.resume !== undefined && !program.isKnown && !goesOn;

/** Calls the SessionStart hooks, and appends what they say to the system prompt. */
async function runStartHooks({ steering, runOptions, options, origin }: Running, hooks: ProgramHooks): Promise<void> {
  const { model } = options;
  const source = origin === undefined ? 'resume' : 'fork';
  const outputs = await hooks.tell('SessionStart', present({ source, model: model || undefined }), source);
  const parts = [runOptions.appendSystemPrompt, contextOf(outputs)].filter((part) => part);
  if (contextOf(outputs) !== undefined)
    steering.changes = { ...steering.changes, appendSystemPrompt: parts.join('\n\n') };
}

/** Granted rules hold here at once; modes and folders hold from the next message on. */
function createSessionGrants({ steering, runOptions, say }: Running): Grants {
  const grants = createGrants(runOptions.cwd, ({ mode, directories, rules }) => {
    const { additionalDirectories: before } = { ...runOptions, ...steering.changes };
    if (directories) say(`the folders ${directories.join(', ')} are the session's from its next message on`);
    steering.changes = {
      ...steering.changes,
      ...present({
        permissionMode: mode && inwardMode(mode, true),
        permissions: rules && joinRules(runOptions.permissions ?? {}, rules),
        additionalDirectories: directories && [...new Set([...(before ?? []), ...directories])],
      }),
    };
  });
  steering.grantMode = (mode) => grants.add([{ type: 'setMode', mode, destination: 'session' }]);
  return grants;
}

function joinRules(before: PermissionRules, added: Required<PermissionRules>): PermissionRules {
  const join = (list: keyof PermissionRules) => [...new Set([...(before[list] ?? []), ...added[list]])];
  return { allow: join('allow'), deny: join('deny'), ask: join('ask') };
}

function conversationPortsOf({ workplace, program, options, relay, say }: Running, session: SessionId) {
  const {
    sessions,
    store,
    temporal,
    folder: { root },
  } = workplace;
  const { agents = {}, forwardSubagentText: agentText = false } = options;
  const inBackground = new Set(Object.keys(agents).filter((type) => agents[type]?.background === true));
  const config = createConfigReader(store);
  const smallModel = async (hash: Hash): Promise<string> => (await config(hash)).smallModel.name;
  const headNow = () => headOf(temporal.client, session);
  const partial = options.includePartialMessages ?? false;
  const hookEvents = options.includeHookEvents ?? false;
  const reading = { root, reader: transcriptReader(store), bodies: createBodyReader(store), smallModel };
  return { session, sessions, ...reading, program, relay, partial, hookEvents, agentText, inBackground, headNow, say };
}
