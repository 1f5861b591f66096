// perdure answer: answers a question of the model that waits for one (L81).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { chooseAnswer } from '../approving/answer-question.ts';
import { decideSession } from '../decide-session.ts';

export function answerCommand(program: Command, cli: Cli): void {
  program
    .command('answer')
    .description('answer a question that waits; `perdure approvals` lists them')
    .argument('<id>', 'the session')
    .argument('<call>', 'the question, as `perdure approvals` names it')
    .argument('<answer>', 'the answer; where options are offered, one of them or its number')
    .action(async (id: string, call: string, answer: string) => {
      cli.exit(
        await decideSession(cli, {
          id,
          call,
          done: 'answered',
          act: async (sessions, session) => {
            const waiting = (await sessions.approvals(session)).find((one) => one.call === call && one.question);
            const text = waiting ? chooseAnswer(waiting.input, answer) : answer;
            return sessions.answer(session, call, text);
          },
        }),
      );
    });
}
