// perdure approve, deny and answer: each decides about one waiting call or question, or about all
// that wait in the sessions of a filter (L55, L81).
import type { Command } from 'commander';
import { oneLine } from '../../client/faces/start.ts';
import type { PendingApproval, PerdureClient } from '../../client/faces/types.ts';
import { approvalWhat } from '../../client/faces/words.ts';
import { callMethod, type Fields, type Operation, operations } from '../../client/operations/operations.ts';
import { chooseAnswer, parseCallInput } from '../approving/pick-decision.ts';
import type { Cli } from '../cli.ts';
import { type DecideSession, decideSession, withDecidingWorker } from '../decide-session.ts';
import { UsageError } from '../errors.ts';
import { actOnMatching, addFilterOptions, type FilterFlags, type Many, wantsMany } from '../many-sessions.ts';

/** The worker that runs the call checks the input, so it may refuse it later. */
const ASKED_AGAIN =
  '; if the tool refuses that input, the call does not run and waits again: `perdure approvals` says why';

/** `request`: its fields apart from the call. */
type Decision = Pick<DecideSession, 'done' | 'after'> & { readonly request: Fields };

type Flags = FilterFlags & { readonly input?: string; readonly reason?: string; readonly interrupt?: boolean };

export function approveCommand(program: Command, cli: Cli): void {
  const command = addDecision(program, 'approve').option(
    '--input <json>',
    'run the call with this input instead, after checking it',
  );
  decideWith(cli, command, operations.approve, ({ input }) => {
    if (input === undefined) return { request: {}, done: 'approved' };
    return { request: { input: parseCallInput(input) }, done: 'approved with another input', after: ASKED_AGAIN };
  });
}

export function denyCommand(program: Command, cli: Cli): void {
  const command = addDecision(program, 'deny')
    .requiredOption('--reason <text>', 'the reason, which the model is told')
    .option('--interrupt', 'also end the run');
  decideWith(cli, command, operations.deny, ({ reason, interrupt = false }) => ({
    request: { reason, interrupt },
    done: interrupt ? 'denied, and the run ends' : 'denied',
  }));
}

function addDecision(program: Command, name: 'approve' | 'deny'): Command {
  return program
    .command(name)
    .description(`${name} a call that waits for a decision; \`perdure approvals\` lists them`)
    .argument('[id]', 'the session')
    .argument('[call]', 'the call, as `perdure approvals` names it');
}

function decideWith(
  cli: Cli,
  command: Command,
  operation: Operation<Fields, PendingApproval>,
  read: (flags: Flags) => Decision,
): void {
  addFilterOptions(command)
    .usage('[options] <id> <call>')
    .action(async (id: string | undefined, call: string | undefined, flags: Flags) => {
      const { request, ...words } = read(flags);
      const problem = await operation.problemOf?.(request);
      if (problem !== undefined) throw new UsageError(problem);
      const act: Act = (sessions, session, name) =>
        callMethod(sessions, operation, session, { ...request, call: name });
      if (wantsMany(id, flags) !== null) {
        if (flags.input !== undefined) throw new UsageError('--input is for one call: leave --filter out');
        const many = { verb: operation.name, thing: 'call', done: words.done, deeds: decideWaiting(cli, act) };
        return cli.exit(await actOnMatching(cli, flags, many));
      }
      if (id === undefined || call === undefined) throw new UsageError('name the call: `perdure approvals` lists them');
      cli.exit(await decideSession(cli, { id, call, ...words, act: (sessions, one) => act(sessions, one, call) }));
    });
}

type Act = (sessions: PerdureClient, session: string, call: string) => Promise<PendingApproval>;

/** Leaves out questions, and calls whose input is not certain: those are for a person to read. */
function decideWaiting(cli: Cli, act: Act): Many['deeds'] {
  return async (opened, { session, approvals = [], taskQueue }) => {
    if (approvals.length === 0) return [];
    const waiting = await opened.sessions.approvals(session);
    const certain = waiting.filter(({ question, problem }) => !question && problem === undefined);
    return certain.map((approval) => ({
      words: `${session}  ${oneLine(approval.tool, 40)} ${approvalWhat(approval)}`,
      act: () =>
        withDecidingWorker(cli, opened, taskQueue, () => act(opened.sessions, approval.session, approval.call)),
    }));
  };
}

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
