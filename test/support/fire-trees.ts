// Random trees of agents, each wholly made from its seed: who starts whom, what every reply takes,
// and what is done to them meanwhile.
import { reply, toolUse, type ParsedRequest, type Reply, type ReplyBlock } from '../../scripted-model/index.ts';
import { agentCall, promptOf } from './by-prompt.ts';
import { random, type Random } from './random.ts';

const DEEPEST = 3;

type Step = { readonly tokens: number; readonly calls: readonly ReplyBlock[] };

export type FireTree = {
  readonly seed: number;
  /** What the root is told. */
  readonly prompt: string;
  /** By what each is told: its replies, in order. */
  readonly nodes: ReadonlyMap<string, readonly Step[]>;
  readonly maxTokens: number | null;
  /** Shell commands of it are asked about. */
  readonly asks: boolean;
  /** After so many of its replies someone interrupts the root, or one of its agents. */
  readonly interrupt: { readonly after: number; readonly whom: 'root' | 'agent' } | null;
};

/** `most` agents. */
export function growTree(seed: number, most: number): FireTree {
  const dice = random(seed);
  const nodes = new Map<string, readonly Step[]>();
  const prompt = grow({ dice, nodes, of: `t${seed}.`, most }, 0);
  const replies = [...nodes.values()].flat();
  const total = replies.reduce((sum, { tokens }) => sum + tokens, 0);
  const isLimited = dice.nat(9) < 5;
  const maxTokens = Math.ceil((total * (20 + dice.nat(100))) / 100);
  const interrupt = { after: 1 + dice.nat(replies.length), whom: dice.pick(['root', 'agent'] as const) };
  const isStopped = dice.nat(9) < 3;
  return {
    seed,
    prompt,
    nodes,
    maxTokens: isLimited ? maxTokens : null,
    asks: dice.nat(9) < 3,
    interrupt: isStopped ? interrupt : null,
  };
}

type Growing = {
  readonly dice: Random;
  readonly nodes: Map<string, readonly Step[]>;
  readonly of: string;
  readonly most: number;
};

/** Its prompt. */
function grow(growing: Growing, depth: number): string {
  const { dice, nodes, of } = growing;
  const prompt = `${of}${nodes.size}.`;
  nodes.set(prompt, []);
  const steps = Array.from({ length: 1 + dice.nat(2) }, () => {
    const starts = depth < DEEPEST && dice.nat(9) < 8 - 2 * depth;
    return { tokens: 500 + dice.nat(4_000), calls: starts ? agentCalls(growing, depth) : effectCalls(dice, prompt) };
  });
  nodes.set(prompt, [...steps, { tokens: 300 + dice.nat(1_000), calls: [] }]);
  return prompt;
}

function agentCalls(growing: Growing, depth: number): readonly ReplyBlock[] {
  const { dice, nodes, most } = growing;
  const wanted = Array.from({ length: 1 + dice.nat(2) }, () => (dice.nat(9) < 2 ? { background: true } : {}));
  return wanted.flatMap((more) => (nodes.size > most ? [] : [agentCall(grow(growing, depth + 1), more)]));
}

function effectCalls(dice: Random, prompt: string): readonly ReplyBlock[] {
  return Array.from({ length: 1 + dice.nat(1) }, () =>
    toolUse('bash', { command: `echo ${prompt}${dice.nat(1_000_000_000)} >> effects.log` }),
  );
}

/** A request that is made again gets the same reply: it is known by its conversation alone. */
export function fireScript(trees: readonly FireTree[]): (request: ParsedRequest) => Reply | undefined {
  const all = new Map(trees.flatMap(({ nodes }) => [...nodes]));
  return (request) => {
    const steps = all.get(promptOf(request));
    const step = steps && stepOf(steps, request);
    if (!step) return undefined;
    const usage = {
      input_tokens: step.tokens,
      output_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    return step.calls.length > 0 ? reply(step.calls, { usage }) : reply('Done.', { usage });
  };
}

function stepOf(steps: readonly Step[], { messages }: ParsedRequest): Step | undefined {
  return steps[Math.min(messages.filter(({ role }) => role === 'assistant').length, steps.length - 1)];
}

/** Tokens that a request was billed, if it was answered whole. */
export function billOf({ nodes }: FireTree, request: ParsedRequest): number {
  const steps = nodes.get(promptOf(request));
  return steps ? (stepOf(steps, request)?.tokens ?? 0) : 0;
}
