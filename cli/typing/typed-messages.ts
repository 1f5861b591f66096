// What is typed while a run goes on: sent at once, so that nothing is lost, and shown below as
// waiting until the session takes it up.
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { reasonOf } from '../../system/text.ts';
import type { Followed } from '../../client/follow/cursor.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { oneLine } from '../../client/paint.ts';
import { newMessageId } from '../../client/sessions/message-id.ts';
import type { Cli } from '../cli.ts';

export type TypedMessages = {
  /** `now`: it interrupts what runs. */
  submit(text: string, now: boolean): void;
  hear(event: Followed): void;
  /** The oldest that the session has not taken up; null when it has taken them all. */
  waiting(): MessageId | null;
  /** Resolves when what was typed has been sent, or could not be. */
  sent(): Promise<void>;
  close(): void;
};

type Waiting = { readonly text: string; readonly now: boolean };

const ROWS = 5;
const ROW = 200;

export function typedMessages(
  cli: Pick<Cli, 'bottom' | 'err' | 'say'>,
  { send }: Pick<PerdureClient, 'send'>,
  session: SessionId,
): TypedMessages {
  const waiting = new Map<MessageId, Waiting>();
  let sending: Promise<void> = Promise.resolve();
  const draw = (): void => {
    const rows = [...waiting.values()].map(({ text, now }) => `${now ? '⋯ now:' : '⋯ waits:'} ${oneLine(text, ROW)}`);
    const more = rows.length > ROWS ? [`⋯ and ${rows.length - ROWS} more`] : [];
    cli.bottom?.show('queued', [...rows.slice(0, ROWS), ...more].map(cli.err.dim));
  };
  const sendOne = async (messageId: MessageId, { text, now }: Waiting): Promise<void> => {
    try {
      await send(session, text, { messageId, now });
      if (!cli.bottom) cli.say(now ? 'sent: it interrupts what runs' : 'sent: it waits for its turn');
    } catch (error) {
      waiting.delete(messageId);
      draw();
      cli.say(`not sent (${reasonOf(error)}): ${text}`);
    }
  };
  return {
    submit: (text, now) => {
      const id = newMessageId();
      const message = { text, now };
      waiting.set(id, message);
      draw();
      // One after the other: they arrive in the order in which they were typed.
      sending = sending.then(() => sendOne(id, message));
    },
    hear: (event) => {
      if (event.type !== 'user' || !waiting.delete(event.id)) return;
      draw();
    },
    waiting: () => [...waiting.keys()][0] ?? null,
    sent: () => sending,
    close: () => cli.bottom?.show('queued', []),
  };
}
