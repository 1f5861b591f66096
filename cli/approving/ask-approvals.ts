// Asks the person at the terminal about waiting calls and questions of the model, one at a time
// (L55, L81): those of the session that is followed, or of any, oldest first. When someone decides
// elsewhere, the question is withdrawn.
import { reasonOf } from '../../system/text.ts';
import { reasonProblem } from '../../client/faces/sessions.ts';
import { createAlwaysRules, ruleFor } from '../../client/faces/rules.ts';
import type {
  ApprovalEvent,
  WaitingApproval,
  PerdureClient,
  AlwaysRules,
  OpenedServer,
} from '../../client/faces/types.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { ClientProblem, oneLine } from '../../client/faces/start.ts';
import { permissionsProblem } from '../../client/faces/options.ts';
import { approvalHint, callToDecideText, approvalText } from '../../client/faces/words.ts';
import type { Cli } from '../cli.ts';
import type { Input } from '../typing/input.ts';
import { UsageError } from '../errors.ts';
import { answerFromLine, isPicked, LATER, parseCallInput, pickDecision } from './pick-decision.ts';
import { withDecidingWorker } from '../decide-session.ts';

type AskApprovals = {
  hear(event: ApprovalEvent): void;
  /** Asks about one call; resolves when it is decided, or nothing more can be typed. */
  ask(approval: WaitingApproval): Promise<void>;
  /** Withdraws open questions. Resolves when given answers have been delivered or have failed. */
  stop(): Promise<void>;
};

/** The terminal at which the person is asked; `input` is null without one. */
type Terminal = Pick<Cli, 'self' | 'say' | 'env'> & {
  readonly input: Pick<Input, 'ask' | 'pick' | 'edit'> | null;
};

type Sessions = Pick<PerdureClient, 'approve' | 'deny' | 'answer'>;
type OpenQuestion = { readonly approval: WaitingApproval; readonly withdrawal: AbortController };

const DENIED = 'the user denied it';

/**
 * Asks about approvals. Without a terminal it only says how to decide elsewhere. `always` has the
 * rules that answer for the person.
 */
export function askApprovals(cli: Terminal, sessions: Sessions, always = createAlwaysRules()): AskApprovals {
  const open = new Map<string, OpenQuestion>();
  let asking: Promise<void> = Promise.resolve();
  return {
    hear: (event) => {
      if (event.type === 'approval_settled') return close(open, event.call);
      const entry: OpenQuestion = { approval: event, withdrawal: new AbortController() };
      open.set(event.call, entry);
      // Where one key decides, a command line is of no use.
      if (!cli.input?.pick && always.ruleThatCovers(event) === null) cli.say(approvalHint(event, cli.self));
      asking = asking.then(() => untilDecided({ cli, sessions, always }, entry));
    },
    ask: (approval) => {
      const entry: OpenQuestion = { approval, withdrawal: new AbortController() };
      open.set(approval.call, entry);
      asking = asking.then(() => untilDecided({ cli, sessions, always }, entry));
      return asking;
    },
    stop: async () => {
      for (const { withdrawal } of open.values()) withdrawal.abort();
      open.clear();
      await asking;
    },
  };
}

function close(open: Map<string, OpenQuestion>, call: string): void {
  open.get(call)?.withdrawal.abort();
  open.delete(call);
}

type Person = { readonly cli: Terminal; readonly sessions: Sessions; readonly always: AlwaysRules };

async function untilDecided(person: Person, entry: OpenQuestion): Promise<void> {
  const { cli } = person;
  const { approval, withdrawal } = entry;
  while (cli.input && !withdrawal.signal.aborted) {
    const rule = person.always.ruleThatCovers(approval);
    const line = rule === null ? await askForLine(cli, approval, withdrawal.signal) : 'y';
    if (rule !== null) cli.say(`approved by your rule ${oneLine(rule, 200)}`);
    // A menu was left by the way back.
    if (line === '' && cli.input.pick) continue;
    if (line === LATER) return cli.say(approvalHint(approval, cli.self));
    if (line === null) return withdrawal.signal.aborted ? undefined : cli.say(stillWaitsText(approval, cli.self));
    try {
      if (approval.question) return await answerFromLine(person, approval, line);
      if (await carryOutLine(person, approval, line.trim(), withdrawal.signal)) return;
    } catch (error) {
      if (!(error instanceof ClientProblem || error instanceof UsageError)) {
        cli.say(`the decision could not be sent: ${reasonOf(error)}`);
        return;
      }
      cli.say(error.message);
      if (error instanceof ClientProblem && (error.kind === 'no_call' || error.kind === 'closed')) return;
      if (rule !== null) return;
    }
  }
}

function askForLine(cli: Terminal, approval: WaitingApproval, signal: AbortSignal): Promise<string | null> {
  const { ask, pick } = cli.input ?? {};
  if (ask && pick) return pickDecision({ ask, pick }, { approval, signal });
  return askByLine(ask, approval, signal);
}

/** Asks where only whole lines can be typed; an empty one leaves a question for later. */
async function askByLine(
  ask: Input['ask'] | undefined,
  { tool, question }: WaitingApproval,
  signal: AbortSignal,
): Promise<string | null> {
  const prompt = question
    ? 'your answer (Enter: later): '
    : `${oneLine(tool, 60)}? [y]es / [a]lways / [n]o / [e]dit / [i]nterrupt / [l]ater: `;
  const line = (await ask?.(prompt, signal)) ?? null;
  const leaves = question ? [''] : ['l', 'later'];
  return line !== null && leaves.includes(line.trim().toLowerCase()) ? LATER : line;
}

/** Ctrl-D ends the typing here and decides nothing. */
const stillWaitsText = (approval: WaitingApproval, self: string): string =>
  `input has ended, and call ${oneLine(approval.call, 100)} still waits; ${approvalHint(approval, self)}`;

/**
 * Carries out the typed decision and returns false to ask again. The text behind `n` or `i` is the
 * reason.
 */
async function carryOutLine(
  { cli, sessions, always }: Person,
  approval: WaitingApproval,
  line: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { session, call, input } = approval;
  const [word = ''] = line.split(/\s/, 1);
  const rest = line.slice(word.length).trimStart();
  switch (word.toLowerCase()) {
    case 'y':
    case 'yes':
      await sessions.approve(session, call);
      return true;
    case 'a':
    case 'always': {
      const rule = await chooseRule(cli, approval, rest, signal);
      if (rule === null) return false;
      if (always.misses(rule, approval)) {
        cli.say(
          `the rule ${oneLine(rule, 200)} doesn't cover this call, so nothing was decided: name the tool, as in ${oneLine(ruleFor(approval) ?? approval.tool, 200)}`,
        );
        return false;
      }
      await sessions.approve(session, call);
      always.add(rule);
      cli.say(
        `${cli.input?.pick ? 'from here on' : 'approved, and from here on'} ${rule} while this terminal follows; to keep it, start with --allow "${rule}"`,
      );
      return true;
    }
    case 'n':
    case 'no':
    case 'i':
    case 'interrupt':
      return denyCall(sessions, approval, { word, reason: rest === '' ? DENIED : rest });
    case 'e':
    case 'edit': {
      const edited = await editInput(cli, input, rest, signal);
      if (edited === null) return false;
      await sessions.approve(session, call, { input: edited });
      return true;
    }
    default:
      cli.say('answer y, a, n, e, i or l; a reason may follow n and i, a rule may follow a');
      return false;
  }
}

async function denyCall(
  sessions: Sessions,
  { session, call }: WaitingApproval,
  { word, reason }: { readonly word: string; readonly reason: string },
): Promise<boolean> {
  const problem = reasonProblem(reason);
  if (problem !== undefined) throw new UsageError(problem);
  await sessions.deny(session, call, reason, { interrupt: word.toLowerCase().startsWith('i') });
  return true;
}

/**
 * Returns the proposed rule, or another that the person types; null to ask again. Throws
 * UsageError.
 */
async function chooseRule(
  cli: Terminal,
  approval: WaitingApproval,
  text: string,
  signal: AbortSignal,
): Promise<string | null> {
  const proposed = ruleFor(approval);
  const question =
    proposed === null
      ? 'which rule? such as bash(npm test:*), or Enter to be asked again: '
      : `allow ${oneLine(proposed, 400)}? Enter, or another rule, or n: `;
  const typed = text !== '' ? text : ((await cli.input?.ask(question, signal, 'n')) ?? 'n');
  const isYes = ['', 'y', 'yes'].includes(typed.trim().toLowerCase());
  const rule = isYes ? proposed : typed.trim();
  if (rule === null || ['n', 'no'].includes(rule.toLowerCase())) return null;
  const problem = permissionsProblem({ allow: [rule] });
  if (problem !== undefined) throw new UsageError(problem);
  return rule;
}

/** Returns null when nothing was given. Throws UsageError for a text that is not a JSON object. */
async function editInput(cli: Terminal, input: unknown, text: string, signal: AbortSignal) {
  if (text !== '') return parseCallInput(text);
  if (cli.input && (cli.env['VISUAL'] || cli.env['EDITOR'])) {
    const before = JSON.stringify(input, null, 2) ?? '';
    const after = await cli.input.edit(before);
    if (signal.aborted || after === null) return null;
    if (after.trim() === before.trim()) return (cli.say('input unchanged: answer y to run it'), null);
    return parseCallInput(after);
  }
  cli.say(`current input: ${oneLine(JSON.stringify(input) ?? '', 2_000)}`);
  const line = await cli.input?.ask('new input, as JSON on one line (leave empty to be asked again): ', signal, '');
  return line === null || line === undefined || line.trim() === '' ? null : parseCallInput(line);
}

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
