// What a model call came to that was stopped without saying so, because its worker was gone: its stored reply with the outcome of each
// call, or nothing (L39, L47). No request is made and no call is begun. Recording that there is nothing is a fence: an attempt
// that is still alive somewhere stores no reply after it, and so begins no call either.
import type { FindReply, ModelResult } from '../workflows/contract/activities.ts';
import { callKey } from '../workflows/contract/ids.ts';
import { noSpend } from '../workflows/contract/loop.ts';
import type { Attempt } from './attempt.ts';
import type { CallPort, Deps } from './deps.ts';
import { announce } from './live/announce.ts';
import { finish } from './live/finish.ts';
import { orDied } from './live/or-died.ts';
import { retellStored } from './model/retell-stored.ts';
import type { RunConfig } from './run-config.ts';
import { stepRecord } from './step-record.ts';
import { storedCall } from './tools/stored-call.ts';

const nothing: ModelResult = { kind: 'nothing', spend: noSpend };

export function findReply(deps: Deps): (attempt: Attempt, input: FindReply) => Promise<ModelResult> {
  return async (attempt, { call, step }) => {
    const { session, number } = attempt;
    const config = await deps.config(call.config);
    const record = stepRecord<ModelResult>(deps.store, session, config.chain, call);
    const known = (await record.read()) ?? (await record.record(nothing, Buffer.from(JSON.stringify(nothing)))).result;
    if (!('head' in known)) return known;
    const live = deps.live.open({ session, step, attempt: number, activity: 'callModel' });
    return orDied(live, async () => {
      const given = await deps.transcripts.extend(session, call.head, call.append);
      announce(live, given.added);
      await retellStored(deps, session, live, known, given);
      const port = { iteration: call.iteration, say: live.write };
      return finish(
        live,
        known.kind === 'message' ? await settled(deps, config, attempt, { known, port, step }) : known,
      );
    });
  };
}

type Found = {
  readonly known: Extract<ModelResult, { kind: 'message' }>;
  readonly port: CallPort;
  readonly step: number;
};

/** A call that was begun gets the outcome it had, or that it is unknown; one that was not says so. */
async function settled(deps: Deps, config: RunConfig, attempt: Attempt, found: Found): Promise<ModelResult> {
  const { known, port, step } = found;
  const view = await deps.transcripts.view(attempt.session, known.head);
  const stopped = { ...attempt, signal: AbortSignal.abort(), abortedBy: () => 'stop' as const };
  const calls = [...known.calls];
  for (const [at, call] of calls.entries()) {
    if (call.outcome) continue;
    const key = callKey(config.chain, known.head, call.index);
    const done = await deps.tools.claimed(config, storedCall(view, call.index), key, stopped, port, { step });
    if ('ask' in done) throw new Error(`${call.name} asks, and the run was stopped`);
    calls[at] = { ...call, ran: done.facts };
  }
  return { ...known, calls };
}
