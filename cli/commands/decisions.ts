// perdure approve, deny and answer: each decides about one waiting call or question, or about all
// that wait in the sessions of a filter (L55, L81).
// perdure approvals: lists the calls that wait for a decision and the questions that wait for an
// answer, from the memo and the store alone (L55, L81).
import type { Command } from 'commander';
import { formatMoment, shortAge } from '../../client/faces/basics.ts';
import { formatTable } from '../../client/faces/lists.ts';
import { oneLine } from '../../client/faces/start.ts';
import type {
  OpenedServer,
  Paint,
  PendingApproval,
  PerdureClient,
  SessionId,
  WaitingApproval,
} from '../../client/faces/types.ts';
import { approvalWhat, approvalWhy } from '../../client/faces/words.ts';
import { callMethod, type Fields, type Operation, operations } from '../../client/operations/operations.ts';
import { jsonLine } from '../../system/text.ts';
import { chooseAnswer, parseCallInput } from '../approving/pick-decision.ts';
import type { Cli } from '../cli.ts';
import { type DecideSession, decideSession, withDecidingWorker } from '../decide-session.ts';
import { STATUS, UsageError } from '../errors.ts';
import { actOnMatching, addFilterOptions, type FilterFlags, type Many, wantsMany } from '../many-sessions.ts';
import { withServer, withSession } from '../with-server.ts';

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

export function approvalsCommand(program: Command, cli: Cli): void {
  program
    .command('approvals')
    .description('decide waiting calls and questions one by one; without a terminal, list them')
    .argument('[id]', 'of this session only')
    .option('--list', 'only list them, at a terminal too')
    .option('--json', 'print one JSON object per call, with its whole input')
    .action(async (id: string | undefined, flags: ListFlags) => {
      cli.exit(await showApprovals(cli, id, flags));
    });
}

type ListFlags = { readonly json?: boolean; readonly list?: boolean };

async function showApprovals(
  cli: Cli,
  id: string | undefined,
  { json = false, list: only = false }: ListFlags,
): Promise<number> {
  const list = async (opened: OpenedServer, session?: SessionId): Promise<number> => {
    const { sessions } = opened;
    const waiting = await sessions.approvals(session);
    if (waiting.length > 0 && !json && !only && cli.isTerminal && cli.openInput !== null) {
      const { decideInTurn } = await import('../approving/ask-approvals.ts');
      await decideInTurn(cli, opened, waiting);
      return STATUS.ok;
    }
    if (json) for (const approval of waiting) cli.print(`${jsonLine(approval)}\n`);
    else if (waiting.length > 0) cli.print(approvalsTable(cli.out, waiting));
    const decide = `decide with: ${cli.self} approve ID CALL, or ${cli.self} deny ID CALL --reason "why"`;
    if (waiting.length === 0) cli.say(`no calls are waiting for a decision${await lastDecisionText(cli, opened)}`);
    if (waiting.some(({ question }) => !question)) cli.say(decide);
    if (waiting.some(({ question }) => question)) cli.say(`answer with: ${cli.self} answer ID CALL "your answer"`);
    return STATUS.ok;
  };
  return id === undefined ? withServer(cli, list) : withSession(cli, id, list);
}

/** Says at a terminal who decided last; a program gets nothing of it. */
async function lastDecisionText(cli: Cli, opened: OpenedServer): Promise<string> {
  if (!cli.isTerminal) return '';
  const { findLastDecision } = await import('../../client/faces/history.ts');
  const last = await findLastDecision(opened);
  if (!last) return '';
  const { decision, session, verb } = last;
  return `; the last one: ${oneLine(decision.by, 100)} ${verb} ${oneLine(session.title, 60)}, ${shortAge(Date.now() - decision.at)} ago`;
}

const APPROVAL_HEADINGS = ['SESSION', 'CALL', 'TOOL', 'WAITING UNTIL', 'WHAT', 'REASON'] as const;

/** Formats calls that wait for a decision. Ends with a line break. */
export function approvalsTable(paint: Paint, approvals: readonly WaitingApproval[]): string {
  const rows = approvals.map((approval) => [
    oneLine(approval.session, 200),
    oneLine(approval.call, 40),
    oneLine(approval.tool, 40),
    formatMoment(approval.deadline),
    approvalWhat(approval),
    approvalWhy(approval),
  ]);
  return formatTable(paint, APPROVAL_HEADINGS, rows);
}
