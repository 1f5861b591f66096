// Ranks tools by the words that they share with a query: in the name they count most, and words that
// few tools have count more than others.

export type RankedTool = {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: object;
};

type ToolWords = { readonly name: ReadonlySet<string>; readonly others: ReadonlySet<string> };

/** Definitions never change, so each is taken apart once. */
const known = new WeakMap<RankedTool, ToolWords>();

const IN_NAME = 4;
/** The share of a word that only begins with the one asked for, or the other way round. */
const BEGINNING = 0.5;
const SHORTEST_BEGINNING = 3;

/** Returns the tools with any of the words, the best first. */
export function rankTools<Ranked extends RankedTool>(tools: readonly Ranked[], query: string): readonly Ranked[] {
  const words = [...wordsOf(query)];
  const scores = new Map<Ranked, number>();
  for (const word of words) {
    const matches = tools.flatMap((tool) => {
      const strength = matchWord(readWords(tool), word);
      return strength > 0 ? [{ tool, strength }] : [];
    });
    const rarity = Math.log(1 + tools.length / Math.max(1, matches.length));
    for (const { tool, strength } of matches) scores.set(tool, (scores.get(tool) ?? 0) + strength * rarity);
  }
  return [...scores]
    .sort(([one, of], [other, ofOther]) => ofOther - of || (one.name < other.name ? -1 : 1))
    .map(([tool]) => tool);
}

function matchWord({ name, others }: ToolWords, word: string): number {
  return Math.max(IN_NAME * matchAny(name, word), matchAny(others, word));
}

function matchAny(words: ReadonlySet<string>, word: string): number {
  if (words.has(word)) return 1;
  for (const each of words) if (beginsAlike(each, word)) return BEGINNING;
  return 0;
}

function beginsAlike(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return short.length >= SHORTEST_BEGINNING && long.startsWith(short);
}

function readWords(tool: RankedTool): ToolWords {
  const before = known.get(tool);
  if (before) return before;
  const { name, description = '', input_schema } = tool;
  const properties: unknown = Reflect.get(input_schema, 'properties');
  const fields = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  const words = { name: wordsOf(name), others: wordsOf([description, ...fields].join(' ')) };
  known.set(tool, words);
  return words;
}

/** Words are told apart by signs and, as in `listIssues`, by a capital letter. */
function wordsOf(text: string): ReadonlySet<string> {
  const apart = text.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase();
  return new Set(apart.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '' && word !== 'mcp'));
}
