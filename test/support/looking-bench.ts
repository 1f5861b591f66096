// A conversation of calls, each thought about, whose worker has other tools from turn to turn,
// restarts, and sums up: against the scripted model, which binds thinking to all that stood before
// it.
import { z } from 'zod';
import { callModel } from '../../activities/call-model.ts';
import { compact } from '../../activities/compaction/compact.ts';
import type { Deps } from '../../activities/deps.ts';
import { noHooks } from './no-hooks.ts';
import { readOutcome } from '../../activities/calls/journal.ts';
import { createCallRunner } from '../../activities/calls/call-runner.ts';
import { addFindTools } from '../../tools/find-tools.ts';
import { createRegistry } from '../../tools/registry.ts';
import { defineTool, type Tool } from '../../tools/tool.ts';
import { createTranscripts } from '../../store/transcript/transcripts.ts';
import { createModels } from '../../models/models.ts';
import { reply, text, thinking, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import type { Append, Compact, CompactionResult } from '../../workflows/contract/activities.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { modelResultOf } from '../../workflows/contract/model-call.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { asksForSummary } from './asks-for-summary.ts';
import { benchDeps, fakeAttempt, look, prompt } from './bench-deps.ts';

export const aim = toolOf('aim');

export function toolOf(name: string, inputs: z.ZodRawShape = {}): Tool {
  return defineTool({
    name,
    description: `${name}.`,
    inputSchema: z.object(inputs),
    risk: 'read',
    recovery: 'rerun',
    call: () => Promise.resolve({ content: `${name} says` }),
  });
}

type Looking = {
  readonly run?: Partial<RunOptions>;
  /** The tools of the first turn. */
  readonly first?: readonly Tool[];
  /** The model, by its position in the run's list, that answers the first turn. */
  readonly answers?: number;
  /** Answers before anything else does. */
  readonly hear?: (request: ParsedRequest) => Reply | undefined;
  /** The id of the call of a turn. */
  readonly id?: (turn: number) => string;
};

/** `turns` are behind it, with `tools` from the second on. */
export async function lookingBench(
  turns: number,
  { run = {}, first: begins = [look], answers = 0, hear, id }: Looking = {},
  tools: readonly Tool[] = [look],
) {
  let turn = 0;
  const next: Reply[] = [];
  const script = (request: ParsedRequest): Reply => {
    const [first] = next.splice(0, 1);
    const heard = first ?? hear?.(request);
    if (heard) return heard;
    if (asksForSummary(request)) return reply('They looked.');
    turn += 1;
    const call = toolUse('look', { turn }, id?.(turn));
    return reply([thinking(`Thought ${turn}. ${'Long. '.repeat(60)}`), text(`Look ${turn}.`), call]);
  };
  const bench = await benchDeps({ script, run: { model: 'claude-sonnet-5-5', ...run } });
  let { deps } = bench;
  let head: Hash | null = null;
  let step = 10;
  const moved = (to: { readonly head?: Hash } | object): void => {
    if ('head' in to && to.head !== undefined) ({ head } = to as { readonly head: Hash });
  };
  const h = {
    ...bench,
    /** What is answered before anything else. */
    next,
    deps: (): Deps => deps,
    head: () => head as Hash,
    setTools(all: readonly Tool[]) {
      deps = { ...deps, tools: createCallRunner(deps.store, addFindTools(createRegistry(all)), noHooks) };
    },
    /** Nothing is remembered of the server, nor of transcripts. */
    restart() {
      const { store } = deps;
      const transcripts = createTranscripts(
        store,
        async (session, key) => (await readOutcome(store, { session, key }))?.outcome ?? null,
      );
      deps = { ...deps, models: createModels({}), transcripts };
    },
    async call(append: readonly Append[] = [], model = 0) {
      const asked = bench.input({ head, append, step: (step += 1), iteration: step, model });
      const result = modelResultOf(await callModel(deps)(fakeAttempt(), asked));
      moved(result);
      return result;
    },
    async sumUp(more: Partial<Compact> = {}): Promise<CompactionResult> {
      const input = { head, append: [], config: bench.opened.config, step: (step += 1), iteration: step };
      const result = await compact(deps)(fakeAttempt(), { ...input, trigger: 'reactive', ...more });
      moved(result);
      return result;
    },
    entries: () => bench.entries(head as Hash),
    last: () => bench.bodies().at(-1) as ParsedRequest,
    epochs: async () =>
      (await bench.entries(head as Hash)).flatMap((entry) => (entry.kind === 'epoch' ? [entry.why] : [])),
    /** Whose summaries there are. */
    summaries: async () =>
      (await bench.entries(head as Hash)).flatMap((entry) =>
        entry.kind === 'boundary' ? [entry.signed ? 'signed' : 'plain'] : [],
      ),
    /** Why thinking was dropped for what stood before it: nothing, where all is well. */
    dropped: async () =>
      (await bench.entries(head as Hash)).flatMap((entry) => {
        if (entry.kind !== 'reply') return [];
        const { input_transformations: all = [] } = entry.message as { input_transformations?: { reason: string }[] };
        return all.filter(({ reason }) => reason === 'prefix_binding_mismatch');
      }),
  };
  h.setTools(begins);
  await h.call([prompt('Look.')], answers);
  h.setTools(tools);
  for (let n = 1; n < turns; n += 1) await h.call();
  return h;
}
