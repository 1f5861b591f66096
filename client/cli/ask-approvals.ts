// Asks the person at the terminal about calls that wait for a decision, one at a time (L55). Who decides elsewhere is heeded: the
// question is withdrawn.
import { reasonOf } from '../../activities/text.ts';
import { type ApprovalEvent, type WaitingApproval, reasonProblem } from '../sessions/decide.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { ClientProblem } from '../problem.ts';
import { oneLine } from '../paint.ts';
import { approvalHint } from '../render/approval-text.ts';
import type { Cli } from './cli.ts';
import { UsageError } from './errors.ts';

type AskApprovals = {
  hear(event: ApprovalEvent): void;
  /** Withdraws what is asked; resolves when what was answered has been given, or has failed. */
  stop(): Promise<void>;
};

type Sessions = Pick<PerdureClient, 'approve' | 'deny'>;
type Asked = { readonly approval: WaitingApproval; readonly gone: AbortController };

const DENIED = 'the user denied it';

/** Without a terminal it only says how to decide elsewhere. */
export function askApprovals(cli: Cli, sessions: Sessions): AskApprovals {
  const open = new Map<string, Asked>();
  let asking: Promise<void> = Promise.resolve();
  return {
    hear: (event) => {
      if (event.type === 'approval_settled') return close(open, event.call);
      const asked: Asked = { approval: event, gone: new AbortController() };
      open.set(event.call, asked);
      cli.say(approvalHint(event, cli.self));
      asking = asking.then(() => untilDecided(cli, sessions, asked));
    },
    stop: async () => {
      for (const { gone } of open.values()) gone.abort();
      open.clear();
      await asking;
    },
  };
}

function close(open: Map<string, Asked>, call: string): void {
  open.get(call)?.gone.abort();
  open.delete(call);
}

async function untilDecided(cli: Cli, sessions: Sessions, { approval, gone }: Asked): Promise<void> {
  while (cli.readLine && !gone.signal.aborted) {
    const question = cli.err.bold(`${oneLine(approval.tool, 60)}? [y]es / [n]o / [e]dit / [i]nterrupt: `);
    const line = await cli.readLine(question, gone.signal);
    if (line === null) return;
    try {
      if (await decided(cli, sessions, approval, line.trim(), gone.signal)) return;
    } catch (error) {
      if (!(error instanceof ClientProblem || error instanceof UsageError)) {
        cli.say(`the decision could not be sent: ${reasonOf(error)}`);
        return;
      }
      cli.say(error.message);
      if (error instanceof ClientProblem && (error.kind === 'no_call' || error.kind === 'closed')) return;
    }
  }
}

/** False: ask again. What follows `n` or `i` is the reason. */
async function decided(
  cli: Cli,
  sessions: Sessions,
  { session, call, input }: WaitingApproval,
  line: string,
  gone: AbortSignal,
): Promise<boolean> {
  const [word = ''] = line.split(/\s/, 1);
  const rest = line.slice(word.length).trimStart();
  const reason = rest === '' ? DENIED : rest;
  switch (word.toLowerCase()) {
    case 'y':
    case 'yes':
      await sessions.approve(session, call);
      return true;
    case 'n':
    case 'no':
    case 'i':
    case 'interrupt': {
      const problem = reasonProblem(reason);
      if (problem !== undefined) throw new UsageError(problem);
      await sessions.deny(session, call, reason, { interrupt: word.toLowerCase().startsWith('i') });
      return true;
    }
    case 'e':
    case 'edit': {
      const edited = await editedInput(cli, input, rest, gone);
      if (edited === null) return false;
      await sessions.approve(session, call, { input: edited });
      return true;
    }
    default:
      cli.say('answer y, e, n or i; a reason may follow n and i');
      return false;
  }
}

/** Null: nothing was given. Throws UsageError for what is no JSON object. */
async function editedInput(cli: Cli, input: unknown, given: string, gone: AbortSignal) {
  if (given !== '') return parseInput(given);
  cli.say(`current input: ${oneLine(JSON.stringify(input) ?? '', 2_000)}`);
  const line = await cli.readLine?.('new input, as JSON on one line (leave empty to be asked again): ', gone);
  return line === null || line === undefined || line.trim() === '' ? null : parseInput(line);
}

// The input of a call as a person writes it: one JSON object.

/** Throws UsageError. */
export function parseInput(text: string): Readonly<Record<string, unknown>> {
  const value = parsed(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`the input ${oneLine(text, 80)} is not a JSON object: write it as {"name": "value"}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : String(error);
    throw new UsageError(`the input is not JSON: ${oneLine(why, 200)}`);
  }
}
