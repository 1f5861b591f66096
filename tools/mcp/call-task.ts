// Calls a tool that its server offers only as a task (MCP 2025-11-25): the server answers at once
// with a task, which is asked about until it is over, and then for its result.
import { z } from 'zod';
import { pause } from '../../system/async.ts';
import { McpError } from './failures.ts';
import type { Link, RequestOptions } from './link.ts';
import { callResult } from './results.ts';

const task = z.looseObject({
  taskId: z.string(),
  status: z.string(),
  statusMessage: z.string().nullish(),
  pollInterval: z.number().nullish(),
});

type Task = z.output<typeof task>;

const created = z.looseObject({ task });
const anything = z.looseObject({});

/** Milliseconds between two questions, where the server names none; its own are held to bounds. */
const POLL_MS = 1_000;
const LEAST_POLL_MS = 50;
const MOST_POLL_MS = 30_000;
const CANCEL_MS = 5_000;

type TaskWatch = RequestOptions & {
  readonly signal: AbortSignal;
  /** Milliseconds that the server is asked to keep the task. */
  readonly keepMs: number;
  /** Called with each answer of the server that the task goes on, and what it says of it. */
  readonly onWorking: (words: string | undefined) => void;
};

export async function callAsTask(
  link: Link,
  params: object,
  { keepMs, onWorking, ...how }: TaskWatch,
): Promise<z.output<typeof callResult>> {
  const { task: started } = await link.request('tools/call', { ...params, task: { ttl: keepMs } }, created, how);
  const { taskId } = started;
  try {
    return await followTask(link, started, { keepMs, onWorking, ...how });
  } catch (error) {
    // Nobody waits for it any more. Whether the server heeds that makes no difference here.
    if (how.signal.aborted)
      link.request('tasks/cancel', { taskId }, anything, { timeout: CANCEL_MS }).catch(() => undefined);
    // The task has begun, whatever the server knows of it now.
    if (error instanceof McpError && ['forgotten', 'unauthorized'].includes(error.kind))
      throw new McpError('lost', error.message, error);
    throw error;
  }
}

async function followTask(link: Link, started: Task, { onWorking, ...how }: TaskWatch) {
  const { taskId } = started;
  const askForResult = () => link.request('tasks/result', { taskId }, callResult, how);
  let now = started;
  // A question to people comes with the answer to this request, which the server holds back.
  let result: ReturnType<typeof askForResult> | undefined;
  while (!['completed', 'failed', 'cancelled'].includes(now.status)) {
    onWorking(now.statusMessage ?? undefined);
    if (now.status === 'input_required' && result === undefined) {
      result = askForResult();
      result.catch(() => undefined);
    }
    const waiting = pause(Math.min(Math.max(now.pollInterval ?? POLL_MS, LEAST_POLL_MS), MOST_POLL_MS), how.signal);
    const isOver = await Promise.race([waiting.then(() => false), ...(result ? [result.then(() => true)] : [])]);
    if (isOver) break;
    how.signal.throwIfAborted();
    now = {
      ...now,
      ...(await link.request('tasks/get', { taskId }, task, { signal: how.signal, timeout: how.timeout })),
    };
  }
  if (now.status === 'cancelled' && result === undefined)
    throw new McpError('refused', `it cancelled the task: ${now.statusMessage ?? 'it does not say why'}`, undefined);
  return await (result ?? askForResult());
}
