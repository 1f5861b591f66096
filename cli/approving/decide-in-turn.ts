// Asks about calls of any sessions one after the other, oldest first, until the person leaves.
import { callToDecideText, approvalText } from '../../client/faces/words.ts';
import type { OpenedServer, WaitingApproval } from '../../client/faces/types.ts';
import { oneLine, formatCount } from '../../client/faces/basics.ts';
import type { Cli } from '../cli.ts';
import { withDecidingWorker } from '../decide-session.ts';
import { askApprovals } from './ask-approvals.ts';
import { isPicked } from './pick-decision.ts';

export async function decideInTurn(cli: Cli, opened: OpenedServer, waiting: readonly WaitingApproval[]): Promise<void> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const input = cli.openInput?.({ submit: () => undefined, interrupt: leave, leave }) ?? null;
  const { sessions } = opened;
  let decided = 0;
  const carryOut = async <T>(session: string, word: string, act: () => Promise<T>): Promise<T> => {
    const { taskQueue } = await sessions.describe(session);
    const done = await withDecidingWorker(cli, opened, taskQueue, act);
    decided += 1;
    cli.say(word);
    return done;
  };
  const deciders: Parameters<typeof askApprovals>[1] = {
    approve: (session, ...rest) => carryOut(session, 'allowed', () => sessions.approve(session, ...rest)),
    deny: (session, ...rest) => carryOut(session, 'denied', () => sessions.deny(session, ...rest)),
    answer: (session, ...rest) => carryOut(session, 'answered', () => sessions.answer(session, ...rest)),
  };
  const asking = askApprovals({ ...cli, input }, deciders);
  try {
    for (const [at, approval] of waiting.entries()) {
      if (left.signal.aborted) break;
      const { title } = await sessions.describe(approval.session);
      cli.print(`${cli.out.dim(`── ${at + 1} of ${waiting.length} · ${oneLine(title, 80)} · ${approval.session}`)}\n`);
      // Where a line answers, the text says all that a menu would.
      const isLine = !input?.pick || (approval.question && !isPicked(approval));
      cli.print(`${isLine ? approvalText(cli.out, approval) : callToDecideText(cli.out, approval)}\n`);
      await Promise.race([
        asking.ask(approval),
        new Promise((resolve) => left.signal.addEventListener('abort', resolve)),
      ]);
    }
  } finally {
    input?.close();
    await asking.stop();
  }
  cli.say(`${formatCount(decided, 'decision')} of ${waiting.length}`);
}
