// Tools that a server offers only as tasks, and the time of calls that show that they are at work
// (L75 L77).
import { afterEach, expect, test, vi } from 'vitest';
import type { Progress } from '@modelcontextprotocol/client';
import { McpError } from '../../../tools/mcp/failures.ts';
import { KeptServer } from '../../../tools/mcp/keep-server.ts';
import type { Link, RequestOptions } from '../../../tools/mcp/link.ts';
import { createServerTool } from '../../../tools/mcp/server-tools.ts';
import { mcpBounds, type McpServer } from '../../../tools/mcp/servers.ts';
import type { PeopleAnswer, PeopleQuestion } from '../../../tools/people/ask-people.ts';
import { readList } from '../../../tools/mcp/list-tools.ts';
import { everythingAt, noSandbox } from '../../support/mcp/addresses.ts';
import { anyContext, openTestServers } from '../../support/mcp/servers.ts';
import { until } from '../../support/until.ts';

afterEach(() => void vi.useRealTimers());

type Answer = (params: Record<string, unknown>, how: RequestOptions) => unknown;

/** A tool whose server answers each method so. */
function toolOf(answers: Readonly<Record<string, Answer>>, settings: Partial<McpServer> = {}) {
  const asked: string[] = [];
  const link: Link = {
    instructions: '',
    offers: { tools: true, resources: false, tellsOfChanges: true, tasks: true },
    request: (method, params, _, how) => {
      asked.push(method);
      const answer = answers[method];
      return Promise.resolve().then(() => answer?.(params as Record<string, unknown>, how)) as never;
    },
    closed: new Promise(() => undefined),
    lastWords: () => '',
    printed: () => '',
    redact: (text) => text,
    close: () => Promise.resolve(),
  };
  const server = new KeptServer('s', { command: 'x', ...settings } as McpServer, {
    open: () => Promise.resolve(link),
    bounds: mcpBounds,
    log: () => undefined,
  });
  const listed = { name: 't', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } };
  const [read] = readList([listed], 'tasks/get' in answers).tools;
  return { tool: createServerTool(server, read!), asked };
}

const text = (words: string) => ({ content: [{ type: 'text', text: words }] });
const task = (status: string, more = {}) => ({ taskId: 't-1', status, pollInterval: 1, ...more });
const tools = () => ({ tools: [] });

/** Settles when the call that was given up has told so. */
const heldBack: Answer = (_, { signal }) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

test('server-everything: a tool that requires tasks runs as one, and its states are progress (L77)', async () => {
  const every = await everythingAt('http');
  const { registry, call, names } = await openTestServers({ every }, { sandbox: noSandbox });
  await registry.refresh?.();
  const name = 'mcp__every__simulate-research-query';
  await until(() => names().includes(name));
  const shown: string[] = [];
  const { content } = await call(name, { topic: 'python' }, { progress: (words) => void shown.push(words) });
  expect(content).toContain('# Research Report: python');
  expect(shown).toContain('Analyzing content...');
});

test('server-everything: a task that needs to know something has people asked (L77)', async () => {
  const every = { ...(await everythingAt('http')), asksPeople: true };
  const { registry, call, names } = await openTestServers({ every }, { sandbox: noSandbox });
  await registry.refresh?.();
  const name = 'mcp__every__simulate-research-query';
  await until(() => names().includes(name));
  const asked: PeopleQuestion[] = [];
  const askPeople = (question: PeopleQuestion): Promise<PeopleAnswer> => {
    asked.push(question);
    return Promise.resolve({ kind: 'answered', text: 'Monty Python comedy group' } as PeopleAnswer);
  };
  const { content } = await call(name, { topic: 'python', ambiguous: true }, { askPeople });
  expect(content).toContain('# Research Report: python (comedy)');
  expect(asked[0]?.question).toContain('could have multiple interpretations');
});

test('a task that is stopped is cancelled at its server (L77)', async () => {
  const stop = new AbortController();
  const { tool, asked } = toolOf({
    'tools/list': tools,
    'tools/call': () => ({ task: task('working') }),
    'tasks/get': () => {
      stop.abort('interrupt');
      return task('working');
    },
  });
  await expect(tool.call({}, { ...anyContext(), signal: stop.signal })).rejects.toBe('interrupt');
  expect(asked.filter((method) => method !== 'tools/list')).toEqual(['tools/call', 'tasks/get', 'tasks/cancel']);
});

test.each([
  ['cancelled', 'refused it: it cancelled the task: too dear'],
  ['failed', 'refused it: the disk is full'],
])('a task that its server has %s is an error outcome (L75)', async (status, words) => {
  const { tool } = toolOf({
    'tools/list': tools,
    'tools/call': () => ({ task: task('working') }),
    'tasks/get': () => task(status, { statusMessage: 'too dear' }),
    'tasks/result': () => Promise.reject(new McpError('refused', 'the disk is full', null)),
  });
  await expect(tool.call({}, anyContext())).rejects.toThrow(words);
});

test('a task whose session is forgotten may have taken effect: it is not begun again (L75)', async () => {
  const { tool, asked } = toolOf({
    'tools/list': tools,
    'tools/call': () => ({ task: task('working') }),
    'tasks/get': () => Promise.reject(new McpError('forgotten', 'Session not found', null)),
  });
  await expect(tool.call({}, anyContext())).rejects.toThrow('was lost while it worked: Session not found. It may have');
  expect(asked.filter((method) => method === 'tools/call')).toHaveLength(1);
});

test('a server that does not run calls as tasks has its tools called as any other', async () => {
  const { tool } = toolOf({ 'tools/list': tools, 'tools/call': ({ task: asked }) => text(`task: ${typeof asked}`) });
  expect((await tool.call({}, anyContext())).content).toBe('task: undefined');
});

test('a call that reports progress has its time anew, until it has had the most (L77)', async () => {
  vi.useFakeTimers();
  let report: ((progress: Progress) => void) | undefined;
  const works: Answer = (params, how) => {
    report = how.onProgress;
    return heldBack(params, how);
  };
  const times = { timeoutMs: 1_000, progressTimeoutMs: 3_000 };
  const { tool } = toolOf({ 'tools/list': tools, 'tools/call': works }, times);
  const calling = tool.call({}, anyContext());
  const ended = expect(calling).rejects.toThrow('was told to stop: it was still at work after 3000 ms. It may have');
  for (let n = 0; n < 4; n += 1) {
    await vi.advanceTimersByTimeAsync(700);
    report?.({ progress: n });
  }
  await vi.advanceTimersByTimeAsync(200);
  await ended;
});

test.each([
  [0, 'was told to stop: it did not answer within 1000 ms. It may have'],
  [1, 'was told to stop: it gave no sign of its work for 1000 ms. It may have'],
])('a call that is silent after %d reports of progress is given up in its time (L75)', async (reports, words) => {
  vi.useFakeTimers();
  let report: ((progress: Progress) => void) | undefined;
  const works: Answer = (params, how) => {
    report = how.onProgress;
    return heldBack(params, how);
  };
  const { tool } = toolOf({ 'tools/list': tools, 'tools/call': works }, { timeoutMs: 1_000 });
  const ended = expect(tool.call({}, anyContext())).rejects.toThrow(words);
  await vi.advanceTimersByTimeAsync(500);
  for (let n = 0; n < reports; n += 1) report?.({ progress: n });
  await vi.advanceTimersByTimeAsync(1_000);
  await ended;
});
