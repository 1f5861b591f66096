// A conversation of many turns over days, in one process against the strict scripted model: with
// thinking, summaries, tools that come and go, and a fallback and back. The same seed gives the
// same conversation.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Deps } from '../../activities/deps.ts';
import { noHooks } from './no-hooks.ts';
import { createCallRunner } from '../../activities/calls/call-runner.ts';
import { createRegistry } from '../../tools/registry.ts';
import { defineTool, type Tool } from '../../tools/tool.ts';
import type { Entry, ReplyEntry } from '../../store/log/entries.ts';
import { currentEpoch, joinSystemPrompt } from '../../store/transcript/preamble.ts';
import { emptyView } from '../../store/view/view.ts';
import { memoryLoop, type MemoryRun } from '../../client/testing/memory-loop.ts';
import { fault, reply, text, thinking, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { asksForSummary } from './asks-for-summary.ts';
import { benchDeps, SESSION } from './bench-deps.ts';
import { continuationProblem } from './continuation.ts';
import { random } from './random.ts';

export type Conversation = {
  readonly seed: number;
  /** Of all prompts together. */
  readonly turns: number;
  readonly prompts: number;
  readonly days: number;
  /** Tokens. */
  readonly window: number;
  readonly model?: string;
  /** Characters of the first prompt. */
  readonly first?: number;
  /** Tools stay as they are, and nothing fails. */
  readonly even?: boolean;
};

/**
 * What came of it. Tokens are those of the conversation's own requests, as the scripted model bills
 * them.
 */
export type Conversed = {
  readonly ends: readonly string[];
  readonly replies: number;
  readonly boundaries: { readonly signed: number; readonly ours: number };
  readonly epochs: readonly string[];
  readonly fallbacks: number;
  readonly tokens: { readonly read: number; readonly all: number };
  /** Requests of which less than half was read from the cache, but for the first to a model. */
  readonly misses: number;
  /**
   * What must not be: requests that were refused, or that neither continue the one before nor say
   * why.
   */
  readonly problems: readonly string[];
};

const DAY = 24 * 3_600_000;

const toolNamed = (name: string, size: number): Tool =>
  defineTool({
    name,
    description: `Looks with ${name}.`,
    inputSchema: z.record(z.string(), z.unknown()),
    risk: 'read',
    recovery: 'rerun',
    call: (input) => Promise.resolve({ content: `${JSON.stringify(input)} ${'seen '.repeat(size)}` }),
  });

export async function converse(asked: Conversation): Promise<Conversed> {
  const { seed, turns, prompts, days, window, model = 'claude-sonnet-5-5', first = 0, even = false } = asked;
  const drawn = random(seed);
  const perPrompt = Math.ceil(turns / prompts);
  const fallsAt = Math.floor(prompts / 2);
  let [prompt, turn, failed] = [0, 0, 0];
  const last = new Map<string, ParsedRequest>();
  const sent: Sent[] = [];
  const script = (request: ParsedRequest): Reply => {
    if (asksForSummary(request)) return reply(`Summed up. ${'Much was seen. '.repeat(60)}`);
    // In the middle of one prompt the first model has too much to do, three times in a row.
    if (!even && prompt === fallsAt && turn === 2 && failed < 3 && request.model === model) {
      failed += 1;
      return fault({ status: 529 });
    }
    const before = last.get(request.model);
    const differs = before && continuationProblem(before, request);
    last.set(request.model, request);
    sent.push({
      model: request.model,
      digest: digestTexts(request),
      ...(differs && { differs: differs.slice(0, 400) }),
    });
    turn += 1;
    const thought = thinking(`Thought ${prompt}.${turn}. ${'Then more. '.repeat(drawn.nat(40))}`);
    if (turn >= perPrompt) return reply([thought, text(`Answer ${prompt}.`)]);
    const calls = Array.from({ length: 1 + drawn.nat(1) }, (_, n) => toolUse('look', { prompt, turn, n }));
    return reply(drawn.bool() ? [thought, ...calls] : [thought, text(`Words ${turn}.`), ...calls]);
  };
  let clock = Date.parse('2026-11-26T10:00:00Z');
  const facts = { window, maxOutput: 8_000, price: { input: 1, output: 1, cacheRead: 0.1, cacheWrite: 1.25 } };
  const bench = await benchDeps({
    script,
    keep: 'none',
    tools: [toolNamed('look', 60)],
    defaults: { models: { [model]: facts }, backoff: { maxRetries: 10, firstMs: 1, maxMs: 2, parkOverMs: 60_000 } },
  });
  const deps: Deps = { ...bench.deps, now: () => (clock += 1) };
  const options: RunOptions = { cwd: bench.cwd, model, fallbackModels: ['claude-opus-5'], maxTurns: turns + 1 };
  const ends: string[] = [];
  let run: MemoryRun | undefined;
  for (prompt = 0; prompt < prompts; prompt += 1) {
    [turn, clock] = [0, clock + Math.floor((days * DAY) / prompts)];
    const names = even || prompt % 4 === 0 ? [] : [`tool-${Math.floor(prompt / 8)}`];
    const tools = [toolNamed('look', 60), ...names.map((name) => toolNamed(name, 10))];
    const has = { ...deps, tools: createCallRunner(deps.store, createRegistry(tools), noHooks) };
    const words = prompt === 0 ? 'word '.repeat(Math.ceil(first / 5)) : '';
    run = await memoryLoop(has, { session: SESSION, text: `Prompt ${prompt}. ${words}`, options, after: run });
    ends.push(run.terminal.reason);
  }
  const { entries } = await deps.transcripts.whole(SESSION, run?.head ?? null);
  const problems = [...bench.model.problems, ...brokenIn(entries, sent), ...(await notAgain(deps, entries, sent))];
  return { ends, ...countIn(entries), problems };
}

/**
 * A request that was answered. `differs`: how it does not continue the one before it to the same
 * model.
 */
type Sent = { readonly model: string; readonly digest: string; readonly differs?: string };

function digestTexts({ system, tools, messages }: Pick<ParsedRequest, 'system' | 'tools' | 'messages'>): string {
  const plain = JSON.stringify({ system, tools, messages }, (key, value: unknown) =>
    key === 'cache_control' ? undefined : value,
  );
  return createHash('sha256').update(plain).digest('hex');
}

function repliesIn(entries: readonly Entry[]): readonly (ReplyEntry & { readonly position: number })[] {
  return entries.flatMap((entry, position) => (entry.kind === 'reply' ? [{ ...entry, position }] : []));
}

/** Requests that do not continue the one before, and nothing in the transcript says why. */
function brokenIn(entries: readonly Entry[], sent: readonly Sent[]): readonly string[] {
  const replies = repliesIn(entries);
  if (replies.length !== sent.length)
    return [`${sent.length} requests were answered, and ${replies.length} replies kept`];
  return sent.flatMap(({ model, differs }, n) => {
    const before = sent.findLastIndex((other, at) => at < n && other.model === model);
    const since = entries.slice(replies[before]?.position ?? 0, replies[n]?.position);
    const isSaid = since.some((entry) => entry.kind === 'epoch' || entry.kind === 'boundary' || entry.kind === 'snip');
    return differs === undefined || isSaid ? [] : [`request ${n}: ${differs}`];
  });
}

/** Requests that the transcript alone does not come to again. */
async function notAgain(deps: Deps, entries: readonly Entry[], sent: readonly Sent[]): Promise<readonly string[]> {
  const different: string[] = [];
  for (const [n, { position, message, asked }] of repliesIn(entries).entries()) {
    const before = entries.slice(0, position);
    const name = asked ?? message.model;
    const extended = { view: emptyView(SESSION), added: before };
    const { messages } = await deps.transcripts.messages(extended, { name, ...deps.models.facts(name) });
    const { system = [], tools = [] } = currentEpoch(before)?.epoch ?? {};
    const again = {
      system: [{ type: 'text' as const, text: joinSystemPrompt(system) }],
      tools: [...tools],
      messages: [...messages],
    };
    if (digestTexts(again) !== sent[n]?.digest) different.push(`request ${n} is not what its transcript comes to`);
  }
  return different;
}

function countIn(entries: readonly Entry[]): Omit<Conversed, 'ends' | 'problems'> {
  const replies = repliesIn(entries);
  const prompts = replies.map(({ spend: { usage } }) => ({
    read: usage.cacheRead,
    all: usage.input + usage.cacheRead + usage.cacheWrite,
  }));
  const modelOf = (n: number): string | undefined => replies[n]?.message.model;
  const isFirst = (n: number): boolean => modelOf(n) !== modelOf(n - 1);
  const kinds = entries.flatMap((entry) => (entry.kind === 'boundary' ? [entry.signed ? 'signed' : 'ours'] : []));
  const signed = kinds.filter((kind) => kind === 'signed').length;
  return {
    replies: replies.length,
    boundaries: { signed, ours: kinds.length - signed },
    epochs: entries.flatMap((entry) => (entry.kind === 'epoch' ? [entry.why] : [])),
    fallbacks: entries.filter((entry) => entry.kind === 'transition' && entry.reason === 'model_fallback').length,
    tokens: {
      read: prompts.reduce((sum, { read }) => sum + read, 0),
      all: prompts.reduce((sum, { all }) => sum + all, 0),
    },
    misses: prompts.filter(({ read, all }, n) => !isFirst(n) && read < all / 2).length,
  };
}
