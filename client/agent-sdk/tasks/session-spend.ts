// Sums what a session has spent, run by run, by model: a result tells the total so far.
import type { Entry, Spend } from '../../faces/types.ts';
import { countSearches } from '../../faces/tools.ts';
import { addSpend, noSpend } from '../../faces/contract.ts';
import { type SpendPorts, sumSpendByModel } from './model-spend.ts';

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
