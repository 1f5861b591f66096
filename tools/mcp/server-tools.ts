// The tools of an MCP server as tools of a run (L74, L76): a call goes over the server's
// connection, in its time, and every end of it is an outcome.
import type { ElicitRequest, Progress } from '@modelcontextprotocol/client';
import {
  FatalToolFailure,
  type Recovery,
  type Risk,
  type Tool,
  type ToolContext,
  ToolFailure,
  type ToolOutput,
} from '../tool.ts';
import { throttle, runWithin } from '../../system/async.ts';
import { clip } from '../../system/text.ts';
import { ServerAway, isRunEnding, joinReasons, McpError } from './failures.ts';
import type { KeptServer } from './keep-server.ts';
import { answerServer } from './elicit.ts';
import { CallClock, type CallTimes } from './call-clock.ts';
import { callAsTask } from './call-task.ts';
import { FOR_EVER, type Link, type OnAsked } from './link.ts';
import type { ListedTool } from './list-tools.ts';
import { callResult, toToolOutput } from './results.ts';
import {
  CALL_MS,
  canAskPeople,
  type McpServer,
  nameServerTool,
  PROGRESS_CALL_MS,
  type ServerQuestion,
} from './servers.ts';

/** The key in `_meta` of a call: unique to it for ever, the same when it runs again (L40). */
export const IDEMPOTENCY_KEY = 'perdure/idempotencyKey';

const LONGEST_PROGRESS = 500;
const PROGRESS_MS = 250;

export function createServerTool(server: KeptServer, listed: ListedTool): Tool {
  const { name, description, inputSchema, readOnly, idempotent, isTask } = listed;
  // A server's claims about itself count only where it is trusted.
  const { trusted = false } = server.settings;
  const risk: Risk = trusted && readOnly ? 'read' : 'external';
  const recovery: Recovery = trusted && idempotent ? 'rerun' : 'report';
  return {
    name: nameServerTool(server.name, name),
    description,
    inputSchema,
    risk,
    recovery,
    ...(server.settings.asksPeople === true && { asksPeople: true as const }),
    call: (input, context) => callServer(server, { name, isTask }, input, context),
  };
}

async function callServer(
  server: KeptServer,
  { name, isTask }: Pick<ListedTool, 'name' | 'isTask'>,
  input: unknown,
  context: ToolContext,
): Promise<ToolOutput> {
  const { idempotencyKey, traceparent } = context;
  const meta = { [IDEMPOTENCY_KEY]: idempotencyKey, ...(traceparent && { traceparent }) };
  const params = { name, arguments: input, _meta: meta };
  const show = throttle(PROGRESS_MS, (text: string) => context.progress(clip(text, LONGEST_PROGRESS)));
  return await askServer(server, context, async (link, clock) => {
    const { signal, askPeople, session = '' } = context;
    const answer = askPeople || server.settings.answers ? createAnswerer(server, context, clock) : undefined;
    const onProgress = ({ message, progress, total }: Progress): void => {
      clock.prolong();
      show(message ?? `${progress}${total === undefined ? '' : ` of ${total}`}`);
    };
    const how = {
      signal: AbortSignal.any([signal, clock.signal]),
      timeout: FOR_EVER,
      onProgress,
      asker: { session, ...(answer && { answer }) },
    };
    const onWorking = (words: string | undefined): void => {
      clock.prolong();
      if (words !== undefined) show(words);
    };
    const answered = isTask
      ? await callAsTask(link, params, { ...how, keepMs: readTimes(server.settings).most, onWorking })
      : await link.request('tools/call', params, callResult, how);
    const output = toToolOutput(answered);
    return output.isError === true ? { ...output, content: link.redact(output.content) } : output;
  });
}

/** Answers by a function of the configuration, or by people. */
function createAnswerer(
  { name, settings: { answers, asksPeople } }: KeptServer,
  { signal, askPeople }: ToolContext,
  clock: CallClock,
): OnAsked {
  return (request, closed) =>
    clock.pause(async () => {
      const ends = AbortSignal.any([signal, closed]);
      const answer = await answers?.(toServerQuestion(name, request), { signal: ends });
      if (answer) return answer;
      return askPeople && asksPeople ? await answerServer(name, request, askPeople, ends) : { action: 'cancel' };
    });
}

function toServerQuestion(serverName: string, request: ElicitRequest['params']): ServerQuestion {
  const { message } = request;
  if ('requestedSchema' in request)
    return { serverName, message, mode: 'form', requestedSchema: request.requestedSchema };
  return { serverName, message, mode: 'url', url: request.url, elicitationId: request.elicitationId };
}

/**
 * Asks the server; `ask` gets the clock of the call. A server that has forgotten the session, and
 * so has not run the request, is asked once more in a new one. Throws ToolFailure, and
 * FatalToolFailure where the run is not to go on without credentials.
 */
export async function askServer<Answer>(
  server: KeptServer,
  context: Pick<ToolContext, 'signal' | 'fence'>,
  ask: (link: Link, clock: CallClock) => Promise<Answer>,
): Promise<Answer> {
  const began = performance.now();
  try {
    return await askOnce(server, context, began, ask).catch((error: unknown) => {
      if (!(error instanceof McpError) || error.kind !== 'forgotten') throw error;
      return askOnce(server, context, began, ask);
    });
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const Failure = isRunEnding(server.settings, error) ? FatalToolFailure : ToolFailure;
    throw new Failure(describeMcpError(server.name, error), { cause: error });
  }
}

async function askOnce<Answer>(
  server: KeptServer,
  { signal, fence }: Pick<ToolContext, 'signal' | 'fence'>,
  began: number,
  ask: (link: Link, clock: CallClock) => Promise<Answer>,
): Promise<Answer> {
  const times = readTimes(server.settings);
  const link = await runWithin(times.silent, signal, (ends) => server.link(ends)).catch((error: unknown) => {
    if (error instanceof ServerAway) {
      const Failure = error.fatal ? FatalToolFailure : ToolFailure;
      throw new Failure(`Not run: ${error.message}`, { cause: error });
    }
    throw new ToolFailure(`Not run: the MCP server ${server.name} did not connect in time.`, { cause: error });
  });
  // The link is in use from here on: another call that is given up does not close it.
  return await server.using(link, async () => {
    // Connecting may have taken a minute.
    await fence();
    const clock = new CallClock(times, performance.now() - began);
    try {
      return await ask(link, clock);
    } catch (error) {
      const isGivenUp = !(error instanceof McpError) || error.kind === 'late';
      if (isGivenUp && canAskPeople(server.settings)) server.retire(link, null);
      if (!(error instanceof McpError)) throw error;
      if (error.kind === 'lost' || error.kind === 'unauthorized') server.retire(link, error);
      if (error.kind === 'forgotten') server.renew(link, error);
      if (error.kind !== 'late') throw error;
      throw new McpError('late', joinReasons(error.message, link.printed()), error);
    } finally {
      clock.stop();
    }
  });
}

function readTimes({ timeoutMs = CALL_MS, progressTimeoutMs = PROGRESS_CALL_MS }: McpServer): CallTimes {
  return { silent: timeoutMs, most: Math.max(timeoutMs, progressTimeoutMs) };
}

const DOUBT = 'It may have taken effect wholly, partly or not at all: check before you repeat it.';

function describeMcpError(server: string, { kind, message }: McpError): string {
  switch (kind) {
    case 'refused':
      return `The MCP server ${server} refused it: ${clip(message, 2_000)}`;
    case 'unauthorized':
      return `Not run: the MCP server ${server} refused it: ${message}.`;
    case 'forgotten':
      return `Not run: the MCP server ${server} does not know the session that it has just begun: ${message}.`;
    case 'late':
      return `The MCP server ${server} was told to stop: ${message}. ${DOUBT}`;
    case 'lost':
      return `The MCP server ${server} was lost while it worked: ${message}. ${DOUBT}`;
    case 'unreadable':
      return `The answer of the MCP server ${server} cannot be read: ${message}. ${DOUBT}`;
  }
}
