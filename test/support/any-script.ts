// Random conversations: what the model answers is a function of a seed and of the request alone, so
// that an attempt that is made again is answered again the same way, and two loops that ask the
// same get the same.
import { fault, reply, text, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { random, type Random } from './random.ts';

/** The prompt of a session tells its seed. */
export const promptOf = (seed: number): string => `Play conversation ${seed}.`;

const MOST_TURNS = 7;

export function anyScript(request: ParsedRequest): Reply {
  const said = JSON.stringify(request.messages[0]);
  const seed = Number(/Play conversation (-?\d+)\./.exec(said)?.[1]);
  if (Number.isNaN(seed)) return reply('A summary.');
  const depth = request.messages.filter(({ role }) => role === 'assistant').length;
  const from = random(seed * 7_919 + depth * 104_729 + request.messages.length + request.max_tokens);
  return depth >= MOST_TURNS ? reply('Enough.') : anyReply(from, `${seed}-${depth}`, request);
}

function anyReply(from: Random, id: string, { model }: ParsedRequest): Reply {
  return from.weighted<Reply>([
    [6, () => reply(anyCalls(from, id))],
    [3, () => fault({ maxTokensAfter: { block: 0, chars: 4 } }, `Half an answer ${id}`)],
    [1, () => reply([toolUse('nonsense', {}, `toolu_${id}`)])],
    [model === 'claude-a' ? 1 : 0, () => fault({ status: 404, message: 'no such model' })],
    [model === 'claude-a' ? 1 : 0, () => reply('I will not.', { stop_reason: 'refusal' })],
    [1, () => reply(`Answer ${id}.`)],
  ]);
}

function anyCalls(from: Random, id: string) {
  const calls = Array.from({ length: 1 + from.nat(3) }, (_, n) => {
    const name = `toolu_${id}_${n}`;
    return from.pick([
      toolUse('read', { path: 'a.txt' }, name),
      toolUse('read', { path: 'missing.txt' }, name),
      toolUse('glob', { pattern: '*.txt' }, name),
      toolUse('write', { path: `made-${id}-${n}.md`, content: id }, name),
      toolUse('read', { wrong: true }, name),
    ]);
  });
  return [text(`Step ${id}.`), ...calls];
}
