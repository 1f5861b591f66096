// What the model does: a plan says how many calls a run makes, and of which kinds. Its seed decides
// on the calls. Each reply has ids of its own: a call that is made twice on the ledger was run twice.
import {
  reply,
  toolUse,
  type ParsedRequest,
  type ReplyBlock,
  type ScriptFunction,
} from '../../../scripted-model/index.ts';
import { random, type Random } from '../../support/random.ts';
import { LEDGER } from './services.ts';

export type Plan = {
  readonly session: string;
  readonly number: number;
  readonly calls: number;
  readonly seed: number;
  readonly isLast?: boolean;
};

/** The file that each effect adds its id to. */
export const EFFECTS = 'effects.log';

export const planText = ({ session, number, calls, seed, isLast = false }: Plan): string =>
  `Plan ${number} of ${session}: ${calls} calls, seed ${seed}${isLast ? ', the last' : ''}.`;

const PLAN = /Plan (\d+) of (\S+): (\d+) calls, seed (\d+)(, the last)?\./g;

/** The command of an effect: nobody writes the line if the ledger has not noted it. */
const ID = /:\d+\/(\S+) > \/dev\/null/;
const effectCommand = (id: string): string => `curl -sf -m 5 ${LEDGER}/${id} > /dev/null && echo ${id} >> ${EFFECTS}`;

/** Returns the id of the effect that a call of the model makes; null for other calls. */
export function effectOf({ name, input }: { readonly name: string; readonly input: unknown }): string | null {
  const { command = '' } = input as { readonly command?: string };
  return name === 'bash' ? (ID.exec(command)?.[1] ?? null) : null;
}

export function planScript(): ScriptFunction {
  return (request, n) => {
    const under = findPlan(request);
    if (under === null) return undefined;
    const { plan, done } = under;
    const dice = random(plan.seed * 1_000 + done);
    const delayMs = 200 + dice.nat(1_800);
    if (done >= plan.calls) return reply(`Plan ${plan.number} is done.`, { delayMs });
    return reply(callsOf(dice, { ...plan, id: `${plan.session}.${plan.number}.${done}.${n}` }), { delayMs });
  };
}

/** The last plan, and how many replies it has had. */
function findPlan({ messages }: ParsedRequest): { readonly plan: Plan; readonly done: number } | null {
  let done = 0;
  for (const { role, content } of messages.toReversed()) {
    if (role === 'assistant') done += 1;
    // Messages that came together are one.
    const match = role === 'user' ? [...JSON.stringify(content).matchAll(PLAN)].at(-1) : undefined;
    if (!match) continue;
    const [, number, session = '', calls, seed, last] = match;
    const plan = {
      session,
      number: Number(number),
      calls: Number(calls),
      seed: Number(seed),
      isLast: last !== undefined,
    };
    return { plan, done };
  }
  return null;
}

const bash = (command: string, more: object = {}): ReplyBlock => toolUse('bash', { command, ...more });

/** Longer than a command in the background, which may write until then. */
const SETTLE_SECONDS = 5;

type Turn = Plan & { readonly id: string };

function callsOf(dice: Random, turn: Turn): readonly ReplyBlock[] {
  if (turn.isLast) return [bash(`${effectCommand(turn.id)} && sleep ${SETTLE_SECONDS}`)];
  return Array.from({ length: 1 + dice.nat(1) }, (_, at) => callOf(dice, { ...turn, id: `${turn.id}.${at}` }));
}

function callOf(dice: Random, { id, number }: Turn): ReplyBlock {
  const path = `notes-${dice.nat(3)}.txt`;
  return dice.weighted<ReplyBlock>([
    [50, () => bash(effectCommand(id))],
    [10, () => bash(`${effectCommand(id)} && sleep ${1 + dice.nat(4)}`)],
    [15, () => toolUse('write', { path, content: `plan ${number}\nlast: ${id}\n` })],
    [10, () => toolUse('edit', { path, old_string: `plan ${number}`, new_string: `plan ${number} and more` })],
    [5, () => bash(`for n in 1 2 3; do sleep 1; echo ${id}.$n >> background.log; done`, { background: true })],
    [10, () => toolUse('read', { path })],
  ]);
}
