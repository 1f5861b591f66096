// Between two boundaries what was sent is only added to, whatever changes meanwhile: over random
// runs against a server that binds thinking to all that stood before it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { callModel } from '../../activities/call-model.ts';
import { compact } from '../../activities/compaction/compact.ts';
import type { Deps } from '../../activities/deps.ts';
import { noHooks } from '../support/no-hooks.ts';
import { openRun } from '../../activities/run/open-run.ts';
import { createCallRunner } from '../../activities/calls/call-runner.ts';
import { readOutcome } from '../../activities/calls/journal.ts';
import { createTranscripts } from '../../store/transcript/transcripts.ts';
import { createRegistry } from '../../tools/registry.ts';
import { defineTool, type Tool } from '../../tools/tool.ts';
import type { Entry, EpochEntry } from '../../store/log/entries.ts';
import { readMarks } from '../../store/transcript/marks.ts';
import { reply, text, thinking, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import type { Append } from '../../workflows/contract/activities.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { benchDeps, fakeAttempt, look, prompt, SESSION } from '../support/bench-deps.ts';
import { continuationProblem, isSummary } from '../support/continuation.ts';

const DAY = 24 * 3_600_000;
const MODELS = [
  'claude-sonnet-5-5',
  'claude-opus-5',
  'claude-haiku-4-5',
  'claude-fable-5-2',
  'claude-sonnet-5',
  'my-other',
];
/** They take no tools from messages, and are sent them with the others. */
const TAKE_NONE: readonly unknown[] = ['claude-haiku-4-5', 'claude-sonnet-5', 'my-other'];

const toolOf = (name: string, description: string, inputs: z.ZodRawShape): Tool =>
  defineTool({
    name,
    description,
    inputSchema: z.object(inputs),
    risk: 'read',
    recovery: 'rerun',
    call: () => Promise.resolve({ content: `${name} says something`.repeat(20) }),
  });

/** What a worker has, from deploy to deploy. */
const toolSets: readonly (readonly Tool[])[] = [
  [look],
  [look, toolOf('zoom', 'Zoom.', { level: z.number() })],
  [look, toolOf('zoom', 'Zooms in, with other words for it.', { level: z.number() })],
  [look, toolOf('zoom', 'Zoom.', { level: z.string() }), toolOf('aim', 'Aim.', {})],
];

const optionSets: readonly Partial<RunOptions>[] = [
  {},
  { appendSystemPrompt: 'Be brief.' },
  { tools: ['look'] },
  { outputSchema: { type: 'object' } },
];

/** The tools that the model is offered at the end of a request. */
function inEffect({ tools = [], messages }: ParsedRequest): readonly string[] {
  const offered = new Set(tools.map((tool) => String(Reflect.get(tool, 'name'))));
  const [first] = messages as readonly {
    readonly content: readonly { readonly tool_changes?: readonly ToolChange[] }[];
  }[];
  const told = messages.flatMap(({ role, content }) =>
    role === 'system' && Array.isArray(content) ? (content as readonly ToolChange[]) : [],
  );
  for (const { type, tool } of [...(first?.content[0]?.tool_changes ?? []), ...told]) {
    if (type === 'tool_addition') offered.add(String(tool?.definition?.name ?? tool?.name));
    if (type === 'tool_removal') offered.delete(String(tool?.name));
  }
  return [...offered].toSorted();
}

type ToolChange = {
  readonly type: string;
  readonly tool?: { readonly name?: string; readonly definition?: { readonly name: string } };
};

type Action =
  | { readonly do: 'turn'; readonly kind: number; readonly model: number }
  | { readonly do: 'run'; readonly options: number; readonly days: number }
  | { readonly do: 'deploy'; readonly tools: number }
  | { readonly do: 'snip'; readonly at: number }
  | { readonly do: 'compact'; readonly reactive: boolean; readonly model: number };

const turn = fc.record({
  do: fc.constant('turn' as const),
  kind: fc.nat(4),
  model: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5),
});
const change = fc.oneof(
  fc.record({ do: fc.constant('run' as const), options: fc.nat(optionSets.length - 1), days: fc.nat(2) }),
  fc.record({ do: fc.constant('deploy' as const), tools: fc.nat(toolSets.length - 1) }),
  fc.record({ do: fc.constant('snip' as const), at: fc.nat(30) }),
  fc.record({
    do: fc.constant('compact' as const),
    reactive: fc.boolean(),
    model: fc.constantFrom(0, 0, 0, 1, 3, 4, 5),
  }),
);
const actions = fc.array(fc.oneof({ weight: 3, arbitrary: turn }, { weight: 1, arbitrary: change }), {
  minLength: 6,
  maxLength: 25,
});

/** Thinks, and calls the tool that is always there, now and then with words before it. */
function answer(kinds: readonly number[]): (request: ParsedRequest) => Reply {
  let n = 0;
  return ({ tools }) => {
    if (!tools) return reply('A summary.');
    const kind = kinds[n++] ?? 0;
    // Some servers count calls from reply to reply, and some give ids that are not allowed.
    const call = toolUse('look', { n }, n % 5 === 0 ? 'call_0' : n % 7 === 0 ? `functions.look:${n}` : `toolu_${n}`);
    if (kind === 0) return reply([thinking(`Thought ${n}.`), call]);
    if (kind === 1) return reply([thinking(`Thought ${n}.`), text(`Words ${n}.`), call]);
    if (kind === 2) return reply([thinking(`Thought ${n}.`), text(`Answer ${n}.`)]);
    if (kind === 3) return reply([text(`Answer ${n}.`)]);
    return reply([thinking(''), call, toolUse('look', { again: n }, `toolu_${n}_again`)]);
  };
}

async function play(all: readonly Action[]) {
  const kinds = all.flatMap((action) => (action.do === 'turn' ? [action.kind] : []));
  const bench = await benchDeps({ script: answer(kinds) });
  let clock = Date.parse('2026-11-26T10:00:00Z');
  let deps: Deps = { ...bench.deps, now: () => clock };
  let head: Hash | null = null;
  let config = bench.opened.config;
  let [step, runs] = [10, 0];
  let pending: Append[] = [];
  const sent: { readonly body: unknown; readonly model: number; readonly at: number; readonly wanted: string[] }[] = [];
  let [has, may]: [readonly Tool[], readonly string[] | undefined] = [[look], undefined];
  const options = { model: MODELS[0]!, fallbackModels: MODELS.slice(1), permissionMode: 'bypass' as const };
  const open = async (more: Partial<RunOptions>): Promise<void> => {
    runs += 1;
    const asked = { chain: 'chain', run: runs, step: (step += 1), options: { cwd: bench.cwd, ...options, ...more } };
    const opened = await openRun(deps)(fakeAttempt(), asked);
    if (opened.kind === 'refused') throw new Error(opened.detail);
    ({ config } = opened);
    pending.push({ kind: 'run_started', run: runs, config, at: clock }, prompt(`Go on with run ${runs}.`));
  };
  await open({});
  for (const action of all) {
    clock += 1_000;
    const common = { head, append: pending, config, step: (step += 1), iteration: step };
    if (action.do === 'turn') {
      const result = await callModel(deps)(fakeAttempt(), { ...common, cap: 8_000, model: action.model });
      if (!('head' in result)) throw new Error(`${result.kind}: ${'detail' in result ? result.detail : ''}`);
      ({ head } = result);
      const { length } = await bench.entries(head);
      const wanted = has.map(({ name }) => name).filter((name) => may?.includes(name) ?? true);
      sent.push({ body: bench.bodies().at(-1), model: action.model, at: length, wanted: wanted.toSorted() });
      pending = [];
    } else if (action.do === 'run') {
      clock += action.days * DAY;
      may = optionSets[action.options]!.tools;
      await open(optionSets[action.options]!);
    } else if (action.do === 'deploy') {
      has = toolSets[action.tools]!;
      const { store } = deps;
      // Another worker, which remembers nothing.
      const transcripts = createTranscripts(
        store,
        async (session, key) => (await readOutcome(store, { session, key }))?.outcome ?? null,
      );
      deps = { ...deps, transcripts, tools: createCallRunner(store, createRegistry(has), noHooks) };
    } else if (action.do === 'snip') {
      if (head !== null) pending.push({ kind: 'snip', entries: [action.at] });
    } else if (head !== null) {
      const trigger = action.reactive ? ('reactive' as const) : ('auto' as const);
      const result = await compact(deps)(fakeAttempt(), { ...common, trigger, model: action.model });
      if ('head' in result && result.head !== undefined) [head, pending] = [result.head, []];
    }
  }
  return {
    sent,
    entries: head === null ? [] : await bench.entries(head),
    problems: bench.model.problems,
    session: SESSION,
  };
}

/**
 * An epoch begins at first, after a boundary of our own making, and when a tool came or takes other
 * inputs: never else.
 */
function needlessEpochs(entries: readonly Entry[]): readonly string[] {
  let last: EpochEntry | null = null;
  let bounded = false;
  const known = new Map<string, string>();
  const know = (tools: readonly object[]): void => {
    for (const tool of tools as readonly EpochEntry['tools'][number][])
      known.set(tool.name, JSON.stringify(tool.input_schema));
  };
  return entries.flatMap((entry) => {
    if (entry.kind === 'boundary' && !entry.signed) bounded = true;
    if (entry.kind === 'notice' && entry.notice.kind === 'preamble_changed') know(entry.notice.toolsNew ?? []);
    if (entry.kind !== 'epoch') return [];
    const isNew = entry.tools.some(({ name, input_schema }) => known.get(name) !== JSON.stringify(input_schema));
    const why = last === null ? 'first' : bounded ? 'compacted' : isNew ? 'tools' : 'nothing';
    [last, bounded] = [entry, false];
    known.clear();
    know(entry.tools);
    return why === entry.why || (why === 'first' && entry.why === 'compacted') ? [] : [`${entry.why}, for ${why}`];
  });
}

/** A summary that the API has signed, for a model that does not take it so. */
function isSaidInWords(since: readonly Entry[], body: unknown): boolean {
  const { messages } = body as { readonly messages: readonly { readonly content: readonly object[] }[] };
  return since.some((entry) => entry.kind === 'boundary' && entry.signed) && !isSummary(messages[0]?.content[0]);
}

/** A model that takes no tools from messages is sent them with the others. */
function isBrought(since: readonly Entry[], model: number): boolean {
  const isNews = (entry: Entry): boolean =>
    entry.kind === 'notice' && entry.notice.kind === 'preamble_changed' && entry.notice.toolsNew !== undefined;
  return TAKE_NONE.includes(MODELS[model]) && since.some(isNews);
}

test('each request continues the one before it, or an entry says why not; no thinking is ever refused (L22 L58 L59)', async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (all) => {
      const { sent, entries, problems } = await play(all);
      expect(problems).toEqual([]);
      expect(needlessEpochs(entries)).toEqual([]);
      for (const [n, { body, model, at, wanted }] of sent.entries()) {
        const offered = inEffect(body as ParsedRequest);
        // In words a tool that is gone is still offered, and a call of it refused.
        expect(TAKE_NONE.includes(MODELS[model]) ? offered.filter((name) => wanted.includes(name)) : offered).toEqual(
          wanted,
        );
        const before = sent.slice(0, n).findLast((other) => other.model === model);
        // A snip says so where it stands, or where the trajectory that it waited for was over.
        if (!before || readMarks(entries.slice(0, at)).rewrittenAt >= before.at) continue;
        if (isSaidInWords(entries.slice(before.at, at), body)) continue;
        const problem = continuationProblem(before.body, body);
        expect(
          problem === 'tools' && isBrought(entries.slice(before.at, at), model) ? undefined : problem,
        ).toBeUndefined();
      }
    }),
    { numRuns: Number(process.env.APPEND_ONLY_RUNS ?? 60) },
  );
});
