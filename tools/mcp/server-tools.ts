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
import type { OnAsked } from './askers.ts';
import { ServerAway, isRunEnding, McpError } from './failures.ts';
import type { KeptServer } from './keep-server.ts';
import { answerServer } from './elicit.ts';
import { CallClock } from './call-clock.ts';
import { FOR_EVER, type Link } from './link.ts';
import type { ListedTool } from './list-tools.ts';
import { callResult, toToolOutput } from './results.ts';
import { CALL_MS, canAskPeople, type ServerQuestion, nameServerTool } from './servers.ts';

/** The key in `_meta` of a call: unique to it for ever, the same when it runs again (L40). */
export const IDEMPOTENCY_KEY = 'perdure/idempotencyKey';

const LONGEST_PROGRESS = 500;
const PROGRESS_MS = 250;

export function createServerTool(server: KeptServer, listed: ListedTool): Tool {
  const { name, description, inputSchema, readOnly, idempotent } = listed;
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
    call: (input, context) => callServer(server, name, input, context),
  };
}

async function callServer(server: KeptServer, name: string, input: unknown, context: ToolContext): Promise<ToolOutput> {
  const { idempotencyKey, traceparent } = context;
  const meta = { [IDEMPOTENCY_KEY]: idempotencyKey, ...(traceparent && { traceparent }) };
  const params = { name, arguments: input, _meta: meta };
  const onProgress = throttle(PROGRESS_MS, ({ message, progress, total }: Progress) => {
    context.progress(clip(message ?? `${progress}${total === undefined ? '' : ` of ${total}`}`, LONGEST_PROGRESS));
  });
  return await askServer(server, context, async (link, timeout) => {
    const { signal, askPeople, session = '' } = context;
    const clock = askPeople || server.settings.answers ? new CallClock(timeout) : null;
    const asking = clock && {
      signal: AbortSignal.any([signal, clock.signal]),
      timeout: FOR_EVER,
      asker: { session, answer: createAnswerer(server, context, clock) },
    };
    const how = { signal, timeout, onProgress, asker: { session }, ...asking };
    const answer = await link.request('tools/call', params, callResult, how).finally(() => clock?.stop());
    const output = toToolOutput(answer);
    return output.isError === true ? { ...output, content: link.redact(output.content) } : output;
  });
}

/** Answers by a function of the configuration, or by people. */
function createAnswerer(
  { name, settings: { answers, asksPeople } }: KeptServer,
  { signal, askPeople }: ToolContext,
  clock: CallClock,
): OnAsked {
  return (asked, gone) =>
    clock.pause(async () => {
      const ends = AbortSignal.any([signal, gone]);
      const answer = await answers?.(toServerQuestion(name, asked), { signal: ends });
      if (answer) return answer;
      return askPeople && asksPeople ? await answerServer(name, asked, askPeople, ends) : { action: 'cancel' };
    });
}

function toServerQuestion(serverName: string, asked: ElicitRequest['params']): ServerQuestion {
  const { message } = asked;
  if ('requestedSchema' in asked) return { serverName, message, mode: 'form', requestedSchema: asked.requestedSchema };
  return { serverName, message, mode: 'url', url: asked.url, elicitationId: asked.elicitationId };
}

/**
 * Asks the server; `ask` gets the milliseconds that are left. Throws ToolFailure, and
 * FatalToolFailure where the run is not to go on without credentials.
 */
export async function askServer<Answer>(
  server: KeptServer,
  { signal, fence }: Pick<ToolContext, 'signal' | 'fence'>,
  ask: (link: Link, timeout: number) => Promise<Answer>,
): Promise<Answer> {
  const { timeoutMs = CALL_MS } = server.settings;
  const began = performance.now();
  const link = await runWithin(timeoutMs, signal, (ends) => server.link(ends)).catch((error: unknown) => {
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
    const left = Math.max(1, Math.ceil(timeoutMs - (performance.now() - began)));
    return await ask(link, left).catch((error: unknown) => {
      const isGivenUp = !(error instanceof McpError) || error.kind === 'late';
      if (isGivenUp && canAskPeople(server.settings)) server.retire(link, null);
      if (!(error instanceof McpError)) throw error;
      if (error.kind === 'lost') server.retire(link, error);
      const Failure = isRunEnding(server.settings, error) ? FatalToolFailure : ToolFailure;
      throw new Failure(describeMcpError(server.name, error, timeoutMs), { cause: error });
    });
  });
}

const DOUBT = 'It may have taken effect wholly, partly or not at all: check before you repeat it.';

function describeMcpError(server: string, { kind, message }: McpError, timeoutMs: number): string {
  switch (kind) {
    case 'refused':
      return `The MCP server ${server} refused it: ${clip(message, 2_000)}`;
    case 'late':
      return `The MCP server ${server} did not answer within ${timeoutMs} ms, and was told to stop. ${DOUBT}`;
    case 'lost':
      return `The MCP server ${server} was lost while it worked: ${message}. ${DOUBT}`;
    case 'unreadable':
      return `The answer of the MCP server ${server} cannot be read: ${message}. ${DOUBT}`;
  }
}
