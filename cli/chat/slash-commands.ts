// Slash commands of a chat: what the command line can do with the current session.
import { didYouMean } from '../../workflows/contract/did-you-mean.ts';
import type { OptionChanges } from '../../workflows/contract/session.ts';
import { formatMoney } from '../../client/units.ts';
import { phaseText } from '../../client/sessions/info.ts';
import { limitsOf, runOptions } from '../run-options.ts';
import { UsageError } from '../errors.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { topUpProblem } from '../../client/sessions/steer.ts';
import { sayAside } from './aside.ts';

type Sessions = Pick<
  PerdureClient,
  'describe' | 'interrupt' | 'resume' | 'cancel' | 'setOptions' | 'topUp' | 'list' | 'askAside'
>;

export type Talk = {
  readonly sessions: Sessions;
  readonly session: SessionId;
  readonly self: string;
  readonly say: (line: string) => void;
  readonly cwd: string;
  readonly leave: () => void;
};

type Slash = {
  /** Placeholder for the argument. */
  readonly takes: string;
  readonly does: string;
  readonly act: (talk: Talk, rest: string) => Promise<void>;
};

/** Throws UsageError. */
const requireText = (rest: string, what: string): string => {
  if (rest === '') throw new UsageError(`name ${what} behind it`);
  return rest;
};

async function setOption({ sessions, session, say }: Talk, changes: OptionChanges): Promise<void> {
  await sessions.setOptions(session, changes);
  say('set: the next run begins with it');
}

const commands: Readonly<Record<string, Slash>> = {
  help: {
    takes: '',
    does: 'lists these',
    act: ({ say }) => {
      for (const line of slashHelp()) say(line);
      return Promise.resolve();
    },
  },
  status: {
    takes: '',
    does: 'tells the session’s id, phase, turns and cost',
    act: async ({ sessions, session, say }) => {
      const seen = await sessions.describe(session);
      const { facts } = seen;
      const cost = facts ? [`${facts.turns} turns`, formatMoney(facts.cents === null ? null : facts.cents / 100)] : [];
      say([`session ${session}`, phaseText(seen), `${seen.runs} runs`, ...cost].join(' · '));
    },
  },
  btw: {
    takes: 'QUESTION',
    does: 'asks something aside: the conversation keeps no trace of it',
    act: (talk, rest) => sayAside(talk, requireText(rest, 'a question')),
  },
  interrupt: {
    takes: '',
    does: 'stops the current run, as Ctrl-C does',
    act: ({ sessions, session }) => sessions.interrupt(session),
  },
  resume: {
    takes: '',
    does: 'ends a parked session’s wait now',
    act: ({ sessions, session }) => sessions.resume(session),
  },
  model: {
    takes: 'NAME',
    does: 'the model from the next run on; `none`: as the worker says',
    act: (talk, rest) => setOption(talk, parseOptions({ model: requireText(rest, 'a model') })),
  },
  mode: {
    takes: 'MODE',
    does: 'the permission mode from the next run on',
    act: (talk, rest) => setOption(talk, parseOptions({ permissionMode: requireText(rest, 'a mode') })),
  },
  turns: {
    takes: 'N',
    does: 'raises the turns that the run under way may take',
    act: (talk, rest) => topUp(talk, { maxTurns: requireText(rest, 'how many') }),
  },
  budget: {
    takes: 'X',
    does: 'raises the US dollars that the run under way may cost',
    act: (talk, rest) => topUp(talk, { maxBudgetUsd: requireText(rest, 'how many') }),
  },
  cancel: {
    takes: '',
    does: 'stops the session and closes it for good',
    act: async ({ sessions, session, leave }) => {
      await sessions.cancel(session);
      leave();
    },
  },
  exit: {
    takes: '',
    does: 'leaves, as Ctrl-D does; the session stays',
    act: ({ leave }) => Promise.resolve(leave()),
  },
};

async function topUp({ sessions, session, say }: Talk, flags: Parameters<typeof limitsOf>[0]): Promise<void> {
  const limits = limitsOf(flags) as Parameters<Sessions['topUp']>[1];
  const problem = topUpProblem(limits);
  if (problem !== undefined) throw new UsageError(problem);
  await sessions.topUp(session, limits);
  say('raised: the run goes on with it');
}

/** Checks options as the command line does. Throws UsageError. */
const parseOptions = (flags: Parameters<typeof runOptions>[0]): OptionChanges => runOptions(flags, () => '/');

export function slashHelp(): readonly string[] {
  const rows = Object.entries(commands).map(
    ([name, { takes, does }]) => [`/${name} ${takes}`.trimEnd(), does] as const,
  );
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, does]) => `${name.padEnd(width)}  ${does}`);
}

const LINE = /^\/([a-z-]+)(?:\s+(\S.*))?$/;
/** A question may have several lines. */
const LINES = /^\/([a-z-]+)(?:\s+(\S[^]*))?$/;
const LONG = /^\/btw\s/;

/**
 * Returns null for a text that is not a command, such as a path or words. Throws UsageError for an
 * unknown command.
 */
export function slashCommand(text: string): ((talk: Talk) => Promise<void>) | null {
  const [, name, rest = ''] = (LONG.test(text) ? LINES : LINE).exec(text.trimEnd()) ?? [];
  if (name === undefined) return null;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) return (talk) => command.act(talk, rest);
  const hint = didYouMean(name, Object.keys(commands));
  throw new UsageError(`there is no /${name}: ${hint}; a blank before the slash sends it as it is`);
}
