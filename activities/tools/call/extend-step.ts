// What a step appends to the transcript before it does anything else. The ends of calls that the workflow carried out are recorded here,
// where no activity of their own has done so (L62): words alone, which nothing looked at.
import type { AppendingStep, Append, OutcomeItem } from '../../../workflows/contract/activities.ts';
import { type Attempt, stopAttempt } from '../../attempt.ts';
import type { configReader } from '../../configuration.ts';
import type { LiveEvent } from '../../live/events.ts';
import type { CallBlock, CallRunner } from './call-port.ts';
import { isDamage } from '../../transcript/store/store.ts';
import type { Extended, Transcripts } from '../../transcript/transcripts.ts';
import { lastReply, type View } from '../../transcript/view/view.ts';

export type Extends = {
  readonly config: ReturnType<typeof configReader>;
  readonly tools: Pick<CallRunner, 'claimed'>;
  readonly transcripts: Transcripts;
};

type Step = Pick<AppendingStep, 'head' | 'append'>;

/** `say` tells watchers of the calls that end with it. Throws StoreError. */
export async function extendStep(
  deps: Extends,
  attempt: Attempt,
  step: Step,
  say: (event: LiveEvent) => void = () => {},
): Promise<Extended> {
  const append = await Promise.all(
    step.append.map(async (each): Promise<Append> => {
      if (each.kind !== 'outcomes') return each;
      return { ...each, items: await Promise.all(each.items.map((item) => ended(deps, attempt, step, item, say))) };
    }),
  );
  return await deps.transcripts.extend(attempt.session, step.head, append);
}

/** As it is to be appended. A stop ends nothing here: it has ended. */
async function ended(
  { config, tools, transcripts }: Extends,
  attempt: Attempt,
  step: Step,
  item: OutcomeItem,
  say: (event: LiveEvent) => void,
): Promise<OutcomeItem> {
  const { index, key, end: delegated, config: hash } = item;
  if (!delegated || !key || !hash) return item;
  const run = await config(hash);
  const { call, iteration } = storedCall(await transcripts.view(attempt.session, step.head), index);
  try {
    await tools.claimed(run, call, key, stopAttempt(attempt), { iteration, say }, { safe: false, delegated });
    return item;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { index, note: `Outcome unknown: what is stored of this call is damaged. ${error.message}`, unknown: true };
  }
}

/** Finds a call in the reply it was made in: the stored reply is the only source of a call's input. Throws when there is none. */
export function storedCall(view: View, index: number): { readonly call: CallBlock; readonly iteration: number } {
  const last = lastReply(view);
  const block = last?.reply.message.content[index];
  if (!last || block?.type !== 'tool_use') {
    throw new Error(`session ${view.session}: block ${index} of the last reply is no call`);
  }
  const { id, name, input } = block;
  return { call: { index, id, name, input }, iteration: last.reply.iteration };
}
