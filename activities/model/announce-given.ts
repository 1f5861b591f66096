// What a model call appends before its reply, told to watchers. Of what a request appends again, only its own transition is news, and
// that it is the last (L26, L51).
import type { CallModel } from '../../workflows/contract/activities.ts';
import { announce } from '../live/announce.ts';
import type { LiveWriter } from '../live/events.ts';
import type { Entry } from '../transcript/log/entries.ts';
import type { Extended } from '../transcript/transcripts.ts';

export function announceGiven(live: LiveWriter, call: CallModel, { added }: Extended): void {
  announce(live, call.supersedes === undefined ? added : added.filter(isLast(call)));
}

function isLast({ iteration }: CallModel): (entry: Entry) => boolean {
  return (entry) =>
    (entry.kind === 'transition' && entry.iteration === iteration) ||
    (entry.kind === 'notice' && entry.notice.kind === 'wrap_up');
}
