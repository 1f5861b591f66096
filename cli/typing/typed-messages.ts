// Sends typed messages at once while a run goes on, so that nothing is lost, and shows them as
// waiting until the session takes them up.
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { reasonOf } from '../../system/text.ts';
import type { Followed } from '../../client/follow/cursor.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { oneLine } from '../../client/paint.ts';
import { newMessageId } from '../../client/sessions/message-id.ts';
import type { Cli } from '../cli.ts';

export type TypedMessages = {
  /** With `now` the message interrupts the current run. */
  submit(text: string, now: boolean): void;
  hear(event: Followed): void;
  /** Returns the oldest message that the session has not taken up; null when it has taken all. */
  waiting(): MessageId | null;
  /** Resolves when every typed message has been sent or has failed. */
  sent(): Promise<void>;
  close(): void;
};

type Waiting = { readonly text: string; readonly now: boolean };

const ROWS = 5;
const ROW = 200;

export function createTypedMessages(
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
      // One after the other, so that they arrive in the order in which they were typed.
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
