// An earlier attempt stored its reply and died before it could say so: what it had shown was taken back, and is told again.
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { ModelResult } from '../../workflows/contract/activities.ts';
import type { Deps } from '../deps.ts';
import { announce } from '../live/announce.ts';
import type { LiveWriter } from '../live/events.ts';
import { retell } from '../live/retell.ts';
import type { Extended } from '../transcript/transcripts.ts';
import { lastReply, type View } from '../transcript/view/view.ts';
import { observableMessage } from './observe.ts';

/** `given`: what the step appended before its reply. Throws StoreError. */
export async function retellStored(
  { transcripts, tools }: Pick<Deps, 'transcripts' | 'tools'>,
  session: SessionId,
  live: LiveWriter,
  known: ModelResult,
  given: Extended,
): Promise<void> {
  const view = 'head' in known ? await transcripts.view(session, known.head) : null;
  if (!view || !lastReply(view)) return;
  // What was collected for it; the reply itself is told below.
  announce(live, view.from(given.view.length + given.added.length));
  retellLast({ tools }, live, view);
}

/** The last reply of `view`, which watchers have been told is void. */
export function retellLast({ tools }: Pick<Deps, 'tools'>, live: LiveWriter, view: View): void {
  const last = lastReply(view);
  if (!last) return;
  const outcomes = view.from(last.position).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  retell(live, { ...last.reply, message: observableMessage(tools, last.reply.message) }, outcomes);
}
