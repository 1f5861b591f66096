// Sums what a run and its agents spent, by model. The replies of each transcript carry their spend,
// and the rest counts for the small model, which makes summaries and reads pages.
import type { Entry, RunOutcome, AgentSpending, Hash, SessionId, Spend, Usage } from '../../faces/types.ts';
import { addSpend, noSpend, totalTokens } from '../../faces/contract.ts';
import { ClientProblem } from '../../faces/start.ts';
import { StoreError } from '../../faces/sessions.ts';

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
