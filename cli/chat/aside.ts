// Asks a question aside at a terminal, by `/btw`, while a session is followed. The answer appears
// among the output of the run.
import { reasonOf } from '../../system/text.ts';
import type { SessionId, PerdureClient } from '../../client/faces/types.ts';
import { asideCost } from '../../client/faces/words.ts';

type Asking = {
  readonly sessions: Pick<PerdureClient, 'askAside'>;
  readonly session: SessionId;
  readonly say: (line: string) => void;
};

/** Throws ClientProblem. */
export async function sayAside({ sessions, session, say }: Asking, question: string): Promise<void> {
  say('asked on the side: the run continues');
  const reply = await sessions.askAside(session, question);
  say(reply.answer);
  say(asideCost(reply));
}

/** Takes questions that begin with `/btw` out of the typed messages. */
export function createAsides(asking: Asking, send: (text: string, now: boolean) => void) {
  const open = new Set<Promise<void>>();
  return {
    submit: (text: string, now: boolean): void => {
      const found = /^\/btw(?:\s([^]*))?$/.exec(text.trim());
      if (!found) return send(text, now);
      const question = found[1]?.trim();
      if (question === undefined) return asking.say('add a question after /btw');
      const pending = sayAside(asking, question).catch((error: unknown) => asking.say(reasonOf(error)));
      open.add(pending);
      void pending.then(() => open.delete(pending));
    },
    /** Resolves when each question has been answered or has failed. */
    answered: async (): Promise<void> => void (await Promise.all(open)),
  };
}
