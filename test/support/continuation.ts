// Whether a request only adds to the one before it: what a model's thinking is bound to, and what the prompt cache can read again.
import { isDeepStrictEqual } from 'node:util';

type Body = Readonly<Record<string, unknown>> & { readonly messages: readonly Message[] };
type Message = { readonly role: string; readonly content: string | readonly object[] };

/** The first thing that differs; undefined when `after` continues `before`. Marks for the cache do not count. */
export function continuationProblem(before: unknown, after: unknown): string | undefined {
  const [one, two] = [plain(before), plain(after)];
  for (const part of ['system', 'tools'] as const) if (!isDeepStrictEqual(one[part], two[part])) return part;
  const [said, saying] = [flat(one.messages), flat(two.messages)];
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
