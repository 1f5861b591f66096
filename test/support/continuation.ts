// Whether a request only adds to the one before it: what a model's thinking is bound to, and what
// the prompt cache can read again.
import { isDeepStrictEqual } from 'node:util';

type Body = Readonly<Record<string, unknown>> & { readonly messages: readonly Message[] };
type Message = { readonly role: string; readonly content: string | readonly object[] };

/**
 * The first thing that differs; undefined when `after` continues `before`. Marks for the cache do
 * not count. A summary that the API has signed stands for the beginning of what was said, and what
 * it does not stand for follows at once.
 */
export function continuationProblem(before: unknown, after: unknown): string | undefined {
  const [one, two] = [plain(before), plain(after)];
  for (const part of ['system', 'tools'] as const) if (!isDeepStrictEqual(one[part], two[part])) return part;
  const [said, saying] = [flat(one.messages), flat(two.messages)];
  if (isSummary(saying[0]) && !isDeepStrictEqual(said[0], saying[0])) {
    const kept = saying.slice(1);
    const begins = (from: number): boolean => said.slice(from).every((block, n) => isDeepStrictEqual(block, kept[n]));
    // All that was said then may be in the summary: what is kept begins with its answer.
    const isKept = isReply(kept[0]) && [...said, null].some((_, from) => begins(from));
    return isKept ? undefined : `behind the summary: ${JSON.stringify(kept[0])} is not how what was said goes on`;
  }
  const at = said.findIndex((block, index) => !isDeepStrictEqual(block, saying[index]));
  return at < 0 ? undefined : `block ${at}: ${JSON.stringify(said[at])} became ${JSON.stringify(saying[at])}`;
}

function plain(body: unknown): Body {
  const text = JSON.stringify(body, (key, value: unknown) => (key === 'cache_control' ? undefined : value));
  return JSON.parse(text) as Body;
}

/** Blocks with their role, for a message may grow at its end while nothing has answered it. */
function flat(messages: readonly Message[]): readonly object[] {
  return messages.flatMap(({ role, content }) =>
    typeof content === 'string' ? [{ role, text: content }] : content.map((block) => ({ role, ...block })),
  );
}

export function isSummary(block: object | undefined): boolean {
  return fieldOf(block, 'type') === 'compaction';
}

function isReply(block: object | undefined): boolean {
  return fieldOf(block, 'role') === 'assistant';
}

function fieldOf(block: object | undefined, key: string): unknown {
  return block && Reflect.get(block, key);
}
