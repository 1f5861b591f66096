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
  /** An agent has it, and starts none itself. */
  readonly isAgents?: boolean;
};

/** The file that each effect adds its id to. */
export const EFFECTS = 'effects.log';

export const planText = ({ session, number, calls, seed, isLast, isAgents }: Plan): string =>
  `Plan ${number} of ${session}: ${calls} calls, seed ${seed}${isLast ? ', the last' : ''}${isAgents ? ', of an agent' : ''}.`;

const PLAN = /Plan (\d+) of (\S+): (\d+) calls, seed (\d+)(, the last)?(, of an agent)?\./g;

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
export function findPlan({ messages }: ParsedRequest): { readonly plan: Plan; readonly done: number } | null {
  let done = 0;
  for (const { role, content } of messages.toReversed()) {
    if (role === 'assistant') done += 1;
    // Messages that came together are one.
    const match = role === 'user' ? [...JSON.stringify(content).matchAll(PLAN)].at(-1) : undefined;
    if (!match) continue;
    const [, number, session = '', calls, seed, last, agents] = match;
    const plan = {
      session,
      number: Number(number),
      calls: Number(calls),
      seed: Number(seed),
      isLast: last !== undefined,
      isAgents: agents !== undefined,
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

function callOf(dice: Random, turn: Turn): ReplyBlock {
  const { id, number } = turn;
  const path = `notes-${dice.nat(3)}.txt`;
  return dice.weighted<ReplyBlock>([
    [50, () => bash(effectCommand(id))],
    [10, () => bash(`${effectCommand(id)} && sleep ${1 + dice.nat(4)}`)],
    [15, () => toolUse('write', { path, content: `plan ${number}\nlast: ${id}\n` })],
    [10, () => toolUse('edit', { path, old_string: `plan ${number}`, new_string: `plan ${number} and more` })],
    [5, () => bash(`for n in 1 2 3; do sleep 1; echo ${id}.$n >> background.log; done`, { background: true })],
    [10, () => toolUse('read', { path })],
    ...(turn.isAgents ? [] : [[6, () => agentOf(dice, turn)] as const]),
  ]);
}

const AGENT_CALLS = { least: 2, most: 8 } as const;

/** Half of the agents work in the background, beside the session. */
function agentOf(dice: Random, { session, number, id }: Turn): ReplyBlock {
  const calls = AGENT_CALLS.least + dice.nat(AGENT_CALLS.most - AGENT_CALLS.least);
  const prompt = planText({ session, number, calls, seed: dice.nat(1e9), isAgents: true });
  return toolUse('agent', { description: `Help with ${id}`, prompt, ...(dice.bool() && { background: true }) });
}
