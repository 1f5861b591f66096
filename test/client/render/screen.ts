// The screen of someone who follows a run, as text.
import { eventRenderer } from '../../../cli/render/events.ts';
import { createPaint } from '../../../client/paint.ts';
import type { Followed } from '../../../client/follow/news.ts';
import type { MessageId, SessionId } from '../../../workflows/contract/ids.ts';

export const at = (step: number, attempt = 1) => ({ step, attempt });

export function screen(events: readonly Followed[], { colours = false, own = null as string | null } = {}): string {
  let written = '';
  const show = eventRenderer({
    write: (text) => void (written += text),
    paint: createPaint(colours),
    own: own as MessageId | null,
    session: 's-1' as SessionId,
  });
  for (const event of events) show(event);
  return written;
}
