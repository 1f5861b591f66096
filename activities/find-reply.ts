// Finds the outcome of a model call that was stopped after its worker was lost, and shows stored
// replies again.
import type { CallModel, ModelResult, FindReply } from '../workflows/contract/activities.ts';
import type { Attempt } from './attempt.ts';
import type { ModelDeps } from './model-deps.ts';
import { announceBoundary, announceEntries, endIfThrows, endWithResult, retellReply } from '../store/live/tell.ts';
import type { LiveWriter } from '../store/live/events.ts';
import { inDoubt } from './model/run-open-calls.ts';
import { observableMessage } from './model/store-reply.ts';
import { openStepRecord } from './step-record.ts';
import type { Entry } from '../store/log/entries.ts';
import { entriesOf, type ExtendedView } from '../store/transcript/transcripts.ts';
import { noSpend } from '../workflows/contract/loop.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { lastReply, type View } from '../store/view/view.ts';
import type { ToolForms } from '../tools/registry.ts';

const NOTHING: ModelResult = { kind: 'nothing', spend: noSpend };

export function findReply(deps: ModelDeps): (attempt: Attempt, input: FindReply) => Promise<ModelResult> {
  return async (attempt, { call, step }) => {
    const { session, number } = attempt;
    const config = await deps.config(call.config);
    const record = openStepRecord<ModelResult>(deps.store, attempt, config.chain, call);
    const known = (await record.read()) ?? (await record.record(NOTHING)).result;
    if (!('head' in known)) return known;
    // The events of the lost attempt are void, whatever it said last: they are told again here.
    const place = { session, step, attempt: number, activity: 'callModel', supersedes: call.step } as const;
    const live = deps.live.open({ ...place, retells: call.step });
    return endIfThrows(live, async () => {
      const extended = await deps.transcripts.extend(session, call.head, call.append);
      announceGiven(live, call, extended);
      await retellStored(deps, live, { config, session, known, extended });
      return endWithResult(live, inDoubt(known));
    });
  };
}

/**
 * Tells watchers the entries before the reply. Of entries that a request appends again, only its
 * own transition is news, and the notice that it is the last (L26, L51).
 */
export function announceGiven(live: LiveWriter, call: CallModel, { view, added }: ExtendedView): void {
  announceEntries(live, call.supersedes === undefined ? added : added.filter(isLast(call)));
  if (call.supersedes === undefined || added.at(-1)?.kind === 'boundary') tellPrepared(live, call, { view, added });
}

/** Tells of a compaction that was prepared in parallel where it takes effect. */
function tellPrepared(live: LiveWriter, { iteration }: Pick<CallModel, 'iteration'>, extended: ExtendedView): void {
  const at = extended.added.findIndex(({ kind }) => kind === 'boundary');
  if (at >= 0) announceBoundary(live, iteration, entriesOf(extended), extended.view.length + at);
}

function isLast({ iteration }: CallModel): (entry: Entry) => boolean {
  return (entry) =>
    (entry.kind === 'transition' && entry.iteration === iteration) ||
    (entry.kind === 'notice' && entry.notice.kind === 'wrap_up');
}

/**
 * Tells a stored reply again: its attempt died before it could say so, and what it had shown was
 * taken back. `extended` is what the step appended before the reply. Throws StoreError.
 */
export async function retellStored(
  { transcripts, tools }: Pick<ModelDeps, 'transcripts' | 'tools'>,
  live: LiveWriter,
  {
    config,
    session,
    known,
    extended,
  }: {
    readonly config: ToolForms;
    readonly session: SessionId;
    readonly known: ModelResult;
    readonly extended: ExtendedView;
  },
): Promise<void> {
  const view = 'head' in known ? await transcripts.view(session, known.head) : null;
  if (!view || !lastReply(view)) return;
  // These entries were collected for the reply, which is told below.
  announceEntries(live, view.from(extended.view.length + extended.added.length));
  retellLast({ tools }, live, { config, view });
}

/** Tells the last reply of `view`, which watchers have been told is void. */
export function retellLast(
  { tools }: Pick<ModelDeps, 'tools'>,
  live: LiveWriter,
  { config, view }: { readonly config: ToolForms; readonly view: View },
): void {
  const last = lastReply(view);
  if (!last) return;
  const outcomes = view.from(last.position).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  retellReply(live, { ...last.reply, message: observableMessage(tools, config, last.reply.message) }, outcomes);
}
