// query() as programs for in-process agents call it, on a durable session. The program's process is the session's worker: its tools and
// hooks run here, and what needs it waits while it is gone. Started again, it goes on where it was.
import type { Log } from '../../activities/log.ts';
import { logText } from '../../activities/log.ts';
import { checkConfig } from '../../worker/config/config.ts';
import { dataFolder } from '../../worker/embedded/data-folder.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { OptionChanges } from '../../workflows/contract/session.ts';
import { answerApprovals } from '../answer-approvals.ts';
import { actOnAbort } from '../async.ts';
import { type OpenWorkplace, openWorkplace, type Workplace } from '../connect/workplace.ts';
import { ClientProblem } from '../problem.ts';
import { checkedId } from '../sessions/info.ts';
import { headOf, transcriptReader } from '../sessions/read.ts';
import { catalogue } from '../../worker/models/catalogue.ts';
import { approvalBy, questionBy } from './callbacks.ts';
import { type Continued, findContinued, rememberSession } from './continue.ts';
import { openTalk } from './conversation.ts';
import { initMessage } from './messages.ts';
import { modeOf, type Options, translateOptions } from './options.ts';
import { type QueryEnd, thisProgram } from './program.ts';
import { type QueryPrompt, type Running, sendMessages, type Steering } from './send-messages.ts';
import type { PermissionMode, SDKMessage, SDKUserMessage } from './shapes.ts';
import { statusesOf } from './tools.ts';

export type Query = AsyncGenerator<SDKMessage, void> & {
  /** Ends what runs now; its result is the next message. */
  interrupt(): Promise<void>;
  /** From the next message on. */
  setModel(model?: string): Promise<void>;
  /** From the next message on. */
  setPermissionMode(mode: PermissionMode): Promise<void>;
  /** From the next message on; null: no thinking. */
  setMaxThinkingTokens(tokens: number | null): Promise<void>;
  supportedModels(): Promise<readonly { readonly value: string; readonly displayName: string }[]>;
  mcpServerStatus(): Promise<readonly { readonly name: string; readonly status: 'connected' | 'pending' }[]>;
  /** Sends what comes from it beside the prompt's messages. */
  streamInput(stream: AsyncIterable<SDKUserMessage>): Promise<void>;
};

export type QueryParams = { readonly prompt: QueryPrompt; readonly options?: Options };

/** Throws ClientProblem, SetupProblem or ConfigProblem, with a sentence, from the first `next()`. */
export function query({ prompt, options = {} }: QueryParams): Query {
  const steering: Steering = {
    changes: {},
    interrupt: () => Promise.reject(new ClientProblem('refused', 'nothing runs yet: ask for the first message')),
    add: null,
  };
  const change = (changes: OptionChanges): Promise<void> => {
    steering.changes = { ...steering.changes, ...changes };
    return Promise.resolve();
  };
  const servers = statusesOf(options.mcpServers ?? {});
  return Object.assign(run(prompt, options, steering), {
    interrupt: () => steering.interrupt(),
    setModel: (model?: string) => change({ model: model ?? null }),
    setPermissionMode: async (mode: PermissionMode) =>
      change({ permissionMode: modeOf(mode, options.canUseTool !== undefined) }),
    setMaxThinkingTokens: (tokens: number | null) => change({ thinkingTokens: tokens ?? null }),
    supportedModels: () =>
      Promise.resolve(Object.keys(catalogue.models).map((value) => ({ value, displayName: value }))),
    mcpServerStatus: () => Promise.resolve(servers),
    streamInput: async (stream: AsyncIterable<SDKUserMessage>) => {
      if (steering.add === null)
        throw new ClientProblem(
          'refused',
          'nothing runs yet, or no more: give messages while those of the query are read',
        );
      await steering.add(stream);
    },
  });
}

async function* run(prompt: QueryPrompt, given: Options, steering: Steering): AsyncGenerator<SDKMessage, void> {
  const { env = process.env, cwd = process.cwd(), stderr } = given;
  const say = stderr ?? ((line: string) => process.stderr.write(`${line}\n`));
  const translated = translateOptions(given, say);
  const runOptions = translated.run;
  const config = checkConfig(translated.config, 'the options of query()');
  const chosen = { config, source: { kind: 'given' }, explicit: true } as const;
  const asked = [typeof prompt === 'string' ? prompt : null, cwd, given.resume, given.sessionId];
  const where = { root: dataFolder(env).root, cwd, config };
  const goesOn = given.continue === true;
  const program = thisProgram(where.root, env['PERDURE_SESSION']).query(
    JSON.stringify(goesOn ? [...asked, 'continue'] : asked),
  );
  const found = goesOn ? await findContinued(where, program, { env, say }) : null;
  const options = found?.session ? { ...given, resume: found.session } : given;
  const session = options.resume ?? options.sessionId ?? program.session;
  const log: Log = (_, message, fields) => say(logText(message, fields));
  const workplace = await openFor({ env, chosen, session: checkedId(session), anywhere: false, say, log }, found);
  rememberSession(where, session);
  let end: QueryEnd = 'left';
  try {
    if (program.isKnown) say(`goes on with session ${session}, which this program began before it ended`);
    yield initMessage(workplace.session, options, runOptions.cwd);
    for await (const message of converse({ workplace, program, options, runOptions, steering, say }, prompt)) {
      end = message.type !== 'result' ? 'left' : message.is_error ? 'failed' : 'succeeded';
      yield message;
    }
  } finally {
    program.end(end);
    if (end === 'left') say(`session ${session} is left as it is: options.resume goes on with it`);
    await workplace.close();
  }
}

async function openFor(open: OpenWorkplace, found: Continued | null): Promise<Workplace> {
  try {
    return await openWorkplace(open);
  } finally {
    await found?.close();
  }
}

async function* converse(running: Running, prompt: QueryPrompt): AsyncGenerator<SDKMessage, void> {
  const { workplace, program, options, steering, say } = running;
  const { sessions, store, temporal } = workplace;
  const session = workplace.session as SessionId;
  const answers = answerApprovals(sessions, {
    onApproval: approvalBy(options.canUseTool, say),
    onQuestion: questionBy(options.canUseTool, say),
  });
  const failed = AbortSignal.any([workplace.failed, answers.failed]);
  const before = program.isKnown ? 0 : await runsBefore(running);
  steering.interrupt = () => sessions.interrupt(session);
  const stopped = actOnAbort(options.abortController?.signal, () => sessions.interrupt(session));
  const sender = sendMessages(running, prompt);
  const conversation = openTalk(
    {
      session,
      sessions,
      reader: transcriptReader(store),
      program,
      before,
      partial: options.includePartialMessages ?? false,
      headNow: () => headOf(temporal.client, session),
      failed,
      // Nobody is asked by a program that cannot answer: its session's mode sees to that.
      onApproval: (event) => options.canUseTool && answers.hear(event),
      say,
    },
    sender.sent,
  );
  try {
    for await (const item of sender.messages) {
      if ('error' in item) throw item.error;
      yield* conversation.answer(item.id);
    }
  } finally {
    steering.interrupt = () => Promise.resolve();
    steering.add = null;
    await stopped();
    for (const problem of await answers.stop()) say(problem);
  }
}

/** Runs of a session that is not of this query's making: what they said is not told. */
async function runsBefore({ workplace, options }: Running): Promise<number> {
  if (options.resume === undefined && options.sessionId === undefined) return 0;
  try {
    return (await workplace.sessions.describe(workplace.session)).last?.run ?? 0;
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind !== 'no_session' || options.resume !== undefined) throw error;
    return 0;
  }
}
