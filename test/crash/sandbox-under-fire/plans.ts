// What the model does: a plan says how many replies a turn makes. Each effect is a line of a file
// outside of all sandboxes, with the key of its call. After a result that leaves an effect open,
// the model looks at the file before it repeats, as an agent would.
import { reply, toolResults, toolUse, type ReplyBlock, type ScriptFunction } from '../../../scripted-model/index.ts';
import { IDEMPOTENCY_VARIABLE } from '../../../system/idempotency-variable.ts';
import { random, type Random } from '../../support/random.ts';
import { findPlan } from '../hosts-under-fire/plans.ts';

const ID = /echo "(\S+) /;

/** `log`: the path of the file. It gets the line before the command takes any time. */
const effectCommand = (log: string, id: string): string => `echo "${id} $${IDEMPOTENCY_VARIABLE}" >> ${log}`;

/** Returns the id of the effect that a call makes; null for other calls. */
export function effectOf(input: unknown): string | null {
  const { command } = input as { readonly command?: unknown };
  return typeof command === 'string' ? (ID.exec(command)?.[1] ?? null) : null;
}

/** `log`: where effects are written to. */
export function sandboxScript(log: string): ScriptFunction {
  return (request, n) => {
    const under = findPlan(request);
    if (under === null) return undefined;
    const { plan, done } = under;
    const dice = random(plan.seed * 1_000 + done);
    const delayMs = 100 + dice.nat(900);
    const open = openEffects(request);
    if (open.length > 0)
      return reply(
        open.map((id) => bash(lookAndRepeat(log, id))),
        { delayMs },
      );
    if (done >= plan.calls) return reply(`Plan ${plan.number} is done.`, { delayMs });
    const id = `${plan.session}.${plan.number}.${done}.${n}`;
    const calls = Array.from({ length: 1 + dice.nat(2) }, (_, at) => callOf(dice, log, `${id}.${at}`));
    return reply(calls, { delayMs });
  };
}

const bash = (command: string): ReplyBlock => toolUse('bash', { command });

const lookAndRepeat = (log: string, id: string): string => `grep -q "^${id} " ${log} || ${effectCommand(log, id)}`;

type Request = Parameters<ScriptFunction>[0];

/** Effects of the last reply whose results are errors: they may have happened, or not. */
function openEffects(request: Request): readonly string[] {
  const failed = new Set(toolResults(request).flatMap(({ id, isError }) => (isError ? [id] : [])));
  const last = request.messages.findLast(({ role }) => role === 'assistant');
  const blocks = typeof last?.content === 'string' ? [] : (last?.content ?? []);
  return blocks.flatMap((block) => {
    const effect = block.type === 'tool_use' && failed.has(block.id) ? effectOf(block.input) : null;
    return effect === null ? [] : [effect];
  });
}

function callOf(dice: Random, log: string, id: string): ReplyBlock {
  const path = `notes-${dice.nat(3)}.txt`;
  return dice.weighted<ReplyBlock>([
    [50, () => bash(effectCommand(log, id))],
    [20, () => bash(`${effectCommand(log, id)}; sleep ${1 + dice.nat(3)}`)],
    [10, () => toolUse('write', { file_path: path, content: `first\nlast: ${id}\n` })],
    [8, () => toolUse('edit', { file_path: path, old_string: 'first', new_string: 'first of all' })],
    [6, () => toolUse('read', { file_path: path })],
    [6, () => toolUse('grep', { pattern: 'last' })],
  ]);
}
