// What a model call came to that was stopped without saying so, because its worker was gone: its stored reply, or nothing (L39, L47).
// Recording that there is nothing is a fence: an attempt that is still alive somewhere stores no reply after it, and so begins no
// call either. What became of the calls of a reply is asked of `runTool`.
import type { FindReply, ModelResult } from '../workflows/contract/activities.ts';
import { noSpend } from '../workflows/contract/loop.ts';
import type { Attempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import { finish } from './live/finish.ts';
import { orDied } from './live/or-died.ts';
import { announceGiven } from './model/announce-given.ts';
import { retellStored } from './model/retell-stored.ts';
import { inDoubt } from './model/run-open-calls.ts';
import { stepRecord } from './step-record.ts';

const nothing: ModelResult = { kind: 'nothing', spend: noSpend };

export function findReply(deps: Deps): (attempt: Attempt, input: FindReply) => Promise<ModelResult> {
  return async (attempt, { call, step }) => {
    const { session, number } = attempt;
    const { chain } = await deps.config(call.config);
    const record = stepRecord<ModelResult>(deps.store, attempt, chain, call);
    const known = (await record.read()) ?? (await record.record(nothing)).result;
    if (!('head' in known)) return known;
    // What the lost attempt has shown is void, whatever it said last: it is told again here.
    const place = { session, step, attempt: number, activity: 'callModel', supersedes: call.step } as const;
    const live = deps.live.open({ ...place, retells: call.step });
    return orDied(live, async () => {
      const given = await deps.transcripts.extend(session, call.head, call.append);
      announceGiven(live, call, given);
      await retellStored(deps, session, live, known, given);
      return finish(live, inDoubt(known));
    });
  };
}
