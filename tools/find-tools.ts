// The tool `find_tools`: finds tools of MCP servers whose definitions are left out of requests for
// their number (L74). What it finds is sent from the next reply on.
import { z } from 'zod';
import { clip, onOneLine } from '../system/text.ts';
import { estimateTokens } from '../workflows/contract/loop.ts';
import {
  buildDefinition,
  deriveRegistry,
  FIND_TOOLS,
  findServerName,
  SERVER_PREFIX,
  type ToolDefinition,
  type ToolRegistry,
} from './registry.ts';
import { defineTool, type Tool, ToolFailure, type ToolOutput } from './tool.ts';

/** Tokens of the definitions that one call brings; the first may have more. */
const MOST_TOKENS = 20_000;
const LONGEST_LINE = 300;
const BY_NAME = 'select:';
const MOST_SELECTED = 20;

const inputSchema = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(1_000)
    .describe('Words for what the tool does or is about, or "select:" and exact names with commas between them'),
  limit: z.number().int().min(1).max(MOST_SELECTED).default(5).describe('The most tools that words load'),
});

/** Adds the tool to a registry that has tools of servers, unless another tool has its name. */
export function addFindTools(base: ToolRegistry): ToolRegistry {
  const tool = createFindTools(base);
  const definition = buildDefinition(tool);
  return deriveRegistry(
    base,
    (name) => base.get(name) ?? (name === FIND_TOOLS ? tool : undefined),
    (all) => (all.some(isOfServer) ? insert(all, definition) : all),
  );
}

/** Keeps the order of names (L22). */
function insert(all: readonly ToolDefinition[], one: ToolDefinition): readonly ToolDefinition[] {
  if (all.some(({ name }) => name === one.name)) return all;
  return [...all, one].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export const isOfServer = ({ name }: { readonly name: string }): boolean => findServerName(name) !== undefined;

/** Tells this tool from another one of its name, which finds nothing for us. */
export const isFindTools = ({ name, description }: RankedTool): boolean =>
  name === FIND_TOOLS && description === DESCRIPTION;

const DESCRIPTION =
  'Finds tools of MCP servers that you do not have yet, by words or by their names, and loads them: from your next reply on you can call them. Search before you say that something cannot be done.';

function createFindTools(registry: ToolRegistry): Tool {
  return defineTool({
    name: FIND_TOOLS,
    description: DESCRIPTION,
    inputSchema,
    risk: 'read',
    recovery: 'rerun',
    async call({ query, limit }, { isOffered = () => true }) {
      const all = registry.definitions().filter((tool) => isOfServer(tool) && isOffered(tool.name));
      const named = query.trim().toLowerCase().startsWith(BY_NAME);
      return named ? selectTools(all, query.trim().slice(BY_NAME.length)) : searchTools(all, query, limit);
    },
  });
}

function selectTools(all: readonly ToolDefinition[], names: string): ToolOutput {
  const wanted = names
    .split(/[,\s]+/)
    .filter((name) => name !== '')
    .slice(0, MOST_SELECTED);
  const byName = new Map(all.map((tool) => [tool.name, tool]));
  const missing = wanted.filter((name) => !byName.has(name));
  const found = wanted.flatMap((name) => byName.get(name) ?? []);
  if (found.length === 0)
    throw new ToolFailure(`There is no such tool of an MCP server: search by words. ${countTools(all)}`);
  const note = missing.map((name) => `(there is no tool ${JSON.stringify(clip(name, 80))})`);
  return loadTools(found, note);
}

function searchTools(all: readonly ToolDefinition[], query: string, limit: number): ToolOutput {
  const ranked = rankTools(all, query);
  if (ranked.length === 0)
    return { content: `No tool of an MCP server has any of these words. ${countTools(all)} Try other words.` };
  const more = ranked.length - limit;
  return loadTools(ranked.slice(0, limit), more > 0 ? [`(${more} more have some of these words)`] : []);
}

function loadTools(tools: readonly ToolDefinition[], notes: readonly string[]): ToolOutput {
  let room = MOST_TOKENS;
  const loaded = tools.filter((tool, at) => {
    const tokens = estimateTokens(JSON.stringify(tool).length);
    const fits = at === 0 || tokens <= room;
    if (fits) room -= tokens;
    return fits;
  });
  const late = tools.filter((tool) => !loaded.includes(tool)).map(({ name }) => name);
  const cut = late.length === 0 ? [] : [`(too long to be loaded with them, ask for each by name: ${late.join(', ')})`];
  const lines = loaded.map(({ name, description }) => clip(onOneLine(`- ${name}: ${description}`), LONGEST_LINE));
  const content = ['Loaded; you can call them from your next reply on:', ...lines, ...cut, ...notes].join('\n');
  return { content, found: loaded.map(({ name }) => name) };
}

function countTools(all: readonly ToolDefinition[]): string {
  const servers = groupByServer(all.map(({ name }) => name));
  if (servers.size === 0) return 'No MCP server has tools now.';
  return `There are tools of: ${[...servers].map(([server, { length }]) => `${server} (${length})`).join(', ')}.`;
}

/** Characters of all names together that a request lists. */
const MOST_NAMES = 6_000;

/** Lists the tools by name for the model, which finds best what it knows of. */
export function describeDeferred(names: readonly string[]): string {
  const servers = groupByServer(names);
  const room = Math.floor(MOST_NAMES / servers.size);
  const lines = [...servers].map(([server, own]) => {
    const visible = fitNames(own, room);
    const more = own.length - visible.length;
    const end = more === 0 ? '' : `, and ${more} more`;
    return `- ${SERVER_PREFIX}${server}__: ${visible.join(', ')}${end}`;
  });
  return [
    `MCP servers have these tools, by the beginning of their names and the rest. Those that you do not have are loaded by \`${FIND_TOOLS}\`:`,
    ...lines,
  ].join('\n');
}

/** Tells people how many tools are deferred; returns nothing for none. */
export function describeDeferral(count: number, tokens: number): readonly string[] {
  if (count === 0) return [];
  const [tools, size] = [count, tokens].map((number) => number.toLocaleString('en'));
  return [
    `${tools} tools of MCP servers are left out of requests (about ${size} tokens in each) until the model finds them with ${FIND_TOOLS}; "deferTools" of the configuration decides`,
  ];
}

function fitNames(names: readonly string[], room: number): readonly string[] {
  let left = room;
  return names.filter((name) => {
    left -= name.length + 2;
    return left >= 0;
  });
}

/** Groups the names of tools by server, each without what it begins with. */
function groupByServer(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const server = findServerName(name) ?? '';
    const own = groups.get(server) ?? [];
    own.push(name.slice(SERVER_PREFIX.length + server.length + 2));
    groups.set(server, own);
  }
  return groups;
}

// Ranks tools by the words that they share with a query: in the name they count most, and words
// that few tools have count more than others.
type RankedTool = {
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
