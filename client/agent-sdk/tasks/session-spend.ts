// Sums what a session has spent, run by run, by model: a result tells the total so far.
import { catalogue, parseBaseName } from '../../../models/catalogue.ts';
import { addSpend, noSpend, totalTokens } from '../../faces/contract.ts';
import { headOf, transcriptReader } from '../../faces/history.ts';
import { StoreError } from '../../faces/sessions.ts';
import { ClientProblem } from '../../faces/start.ts';
import { countSearches } from '../../faces/tools.ts';
import type { AgentSpending, Entry, Hash, RunOutcome, SessionId, Spend, Usage, Workplace } from '../../faces/types.ts';
import type { SDKControlGetContextUsageResponse } from '../shapes/query.ts';

/** The spend of one model, and how often it searched the web. */
export type ModelSpend = { readonly spend: Spend; readonly searches: number };

export type QuerySpend = {
  /** Adds the runs that have ended. Throws StoreError. */
  add(entries: readonly Entry[]): Promise<void>;
  /** Returns the totals by model. */
  totals(): ReadonlyMap<string, ModelSpend>;
  /** The number of the last run that is counted, or 0. */
  readonly run: number;
};

export function createSessionSpend(ports: SpendPorts): QuerySpend {
  const totals = new Map<string, ModelSpend>();
  let run = 0;
  const addTo = (model: string, spend: Spend, searches: number): void => {
    const before = totals.get(model) ?? { spend: noSpend, searches: 0 };
    totals.set(model, { spend: addSpend(before.spend, spend), searches: before.searches + searches });
  };
  return {
    get run() {
      return run;
    },
    totals: () => totals,
    add: async (entries) => {
      for (const { end, own } of splitRuns(entries)) {
        if (end.run <= run) continue;
        const { spend, agents } = end;
        const whole = { usage: spend.usage, costUsd: spend.usd, ...(agents && { agents }) };
        for (const [model, modelSpend] of await sumSpendByModel(whole, own, ports)) addTo(model, modelSpend, 0);
        for (const entry of own)
          if (entry.kind === 'reply') addTo(entry.message.model, noSpend, countSearches(entry.message.usage));
        run = end.run;
      }
    },
  };
}

type EndedRun = { readonly end: Extract<Entry, { kind: 'run_ended' }>['ended']; readonly own: readonly Entry[] };

function splitRuns(entries: readonly Entry[]): readonly EndedRun[] {
  const runs: EndedRun[] = [];
  let from = 0;
  for (const [at, entry] of entries.entries()) {
    if (entry.kind !== 'run_ended') continue;
    runs.push({ end: entry.ended, own: entries.slice(from, at + 1) });
    from = at + 1;
  }
  return runs;
}

// Sums what a run and its agents spent, by model. The replies of each transcript carry their spend,
// and the rest counts for the small model, which makes summaries and reads pages.
export type SpendPorts = {
  /** Reads all that an agent has stored. Throws ClientProblem and StoreError. */
  readonly entriesOf: (session: SessionId) => Promise<readonly Entry[]>;
  /** Reads the small model of the run that began with this configuration. Throws StoreError. */
  readonly smallModel: (config: Hash) => Promise<string>;
};

/** `entries` are the run's. The models together spent what the outcome says. Throws StoreError. */
export async function sumSpendByModel(
  { usage, costUsd, agents }: Pick<RunOutcome, 'usage' | 'costUsd' | 'agents'>,
  entries: readonly Entry[],
  ports: SpendPorts,
): Promise<ReadonlyMap<string, Spend>> {
  const byModel = new Map<string, Spend>();
  const add = (model: string, spend: Spend): void => {
    byModel.set(model, addSpend(byModel.get(model) ?? noSpend, spend));
  };
  const addAll = async (all: readonly Entry[], below: readonly AgentSpending[]): Promise<void> => {
    for (const entry of all) if (entry.kind === 'reply') add(entry.message.model, entry.spend);
    for (const { session } of below) {
      const own = await readIfKept(ports.entriesOf(session));
      const further = own.flatMap((entry) => (entry.kind === 'run_ended' ? (entry.ended.agents ?? []) : []));
      await addAll(own, further);
    }
  };
  await addAll(entries, agents ?? []);
  const started = entries.find((entry) => entry.kind === 'run_started');
  const rest = restOf({ usage, usd: costUsd }, [...byModel.values()].reduce(addSpend, noSpend));
  if (rest !== null && started?.kind === 'run_started') add(await ports.smallModel(started.config), rest);
  return byModel;
}

/** Returns no entries for an agent that is gone, whose cost then counts as part of the rest. */
async function readIfKept(reading: Promise<readonly Entry[]>): Promise<readonly Entry[]> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError || (error instanceof ClientProblem && error.kind === 'no_session')) return [];
    throw error;
  }
}

/** US dollars: rounding makes sums of prices differ by less than this. */
const NOTHING_USD = 1e-8;

/** Subtracts the parts from the whole. Returns null when nothing is left. */
function restOf(whole: Spend, parts: Spend): Spend | null {
  const left = (key: keyof Usage): number => Math.max(0, whole.usage[key] - parts.usage[key]);
  const usage = {
    input: left('input'),
    output: left('output'),
    cacheRead: left('cacheRead'),
    cacheWrite: left('cacheWrite'),
  };
  const usd = whole.usd === null || parts.usd === null ? 0 : Math.max(0, whole.usd - parts.usd);
  return totalTokens(usage) === 0 && usd < NOTHING_USD ? null : { usage, usd };
}

// Tells how full the window of a session's model is, from the count that the API gave of its last
// request. Instructions, tools and messages are counted together.
/** Reads the usage from the stored transcript. Throws ClientProblem `refused` before a reply. */
export async function readContextUsage({
  session: id,
  store,
  temporal,
}: Pick<Workplace, 'session' | 'store' | 'temporal'>): Promise<SDKControlGetContextUsageResponse> {
  const session = id as SessionId;
  return usageIn(await transcriptReader(store).entries(session, await headOf(temporal.client, session)));
}

/**
 * Reports the usage as of the last reply, or the estimate of a later compaction. Throws
 * ClientProblem `refused` before the first reply.
 */
export function usageIn(entries: readonly Entry[]): SDKControlGetContextUsageResponse {
  const last = entries.findLastIndex(({ kind }) => kind === 'reply');
  const reply = entries[last];
  if (reply?.kind !== 'reply')
    throw new ClientProblem('refused', 'no reply has come yet, so that nothing has been counted');
  const { model, usage } = reply.message;
  const { input_tokens: input, output_tokens: output } = usage;
  const counted = input + output + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  const boundary = entries.slice(last).findLast((entry) => entry.kind === 'boundary');
  const total = boundary?.kind === 'boundary' ? boundary.after : counted;
  const { window = 0 } = catalogue.models[parseBaseName(model).base] ?? {};
  const free = Math.max(0, window - total);
  return {
    model,
    totalTokens: total,
    maxTokens: window,
    rawMaxTokens: window,
    percentage: window === 0 ? 0 : Math.round((100 * total) / window),
    categories: [
      { name: 'Conversation, instructions and tools', tokens: total, color: 'text', kind: 'used' },
      { name: 'Free space', tokens: free, color: 'inactive', kind: 'free' },
    ],
  };
}
